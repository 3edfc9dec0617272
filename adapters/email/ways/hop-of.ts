// Which way an arrival came, and whether that hop is genuine: from here on there is one pipeline for all of them (hop 2).
import type { ChannelDeps, RawArrival } from '../../../src/contract/index.ts'
import { type Hop, rejected } from './hooks/hop.ts'
import { mailgunHop } from './hooks/mailgun.ts'
import { sesHop } from './hooks/ses.ts'
import type { SnsDeps } from './hooks/sns.ts'
import { webhookHop } from './hooks/webhook.ts'
import type { OwnArrivals } from './own-arrivals.ts'
import type { WaysSettings } from './settings.ts'

export type HopDeps = Pick<ChannelDeps, 'hmac' | 'notes' | 'now' | 'fetch' | 'guardedFetch'> & {
  readonly own: OwnArrivals
}

/** Never throws: where a store cannot be asked the mail has to come again. */
export function createHopOf(settings: WaysSettings, deps: HopDeps): (arrival: RawArrival) => Promise<Hop> {
  const keys: SnsDeps['keys'] = new Map()
  const means = { ...deps, keys, maxBytes: settings.maxBytes }
  return async (arrival) => {
    const own = deps.own.find(arrival)
    if (own !== undefined) return own
    try {
      return await judge(settings, means, arrival)
    } catch {
      return { kind: 'later', reason: 'hop_not_judged' }
    }
  }
}

function judge(
  { webhook, ses, mailgun }: WaysSettings,
  deps: HopDeps & SnsDeps & { readonly maxBytes: number },
  arrival: RawArrival,
): Promise<Hop> {
  const type = arrival.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  const closed = Promise.resolve(rejected('not_allowed_here'))
  if (arrival.headers['x-amz-sns-message-type'] !== undefined)
    return ses === undefined ? closed : sesHop(ses, deps, arrival)
  if (type === 'multipart/form-data' || type === 'application/x-www-form-urlencoded')
    return mailgun === undefined ? closed : mailgunHop(mailgun.signingKeys, deps, arrival)
  if (webhook === undefined) return closed
  if (type !== 'message/rfc822') return Promise.resolve(rejected('malformed_request'))
  return webhookHop(webhook.secrets, deps, arrival)
}
