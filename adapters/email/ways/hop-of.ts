// Which ingress a request came by, and whether it is genuine: from here on there is one pipeline for all of them (hop 2).
import type { ArrivalHead, ChannelDeps, RawArrival, Verdict } from '../../../src/contract/index.ts'
import { type Hop, rejected } from './hooks/hop.ts'
import { mailgunHop } from './hooks/mailgun.ts'
import { sesHop } from './hooks/ses.ts'
import type { SnsDeps } from './hooks/sns.ts'
import { webhookHeaders, webhookHop } from './hooks/webhook.ts'
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

type Rejected = Extract<Verdict<never>, { kind: 'rejected' }>

/** What the headers of a request alone rule out: a way that is closed, a mail without the webhook's signature. */
export function screenHop({ webhook, ses, mailgun }: WaysSettings, { headers }: ArrivalHead): Rejected | undefined {
  const rejectedFor = (reason: Rejected['reason']): Rejected => ({ kind: 'rejected', reason })
  const type = mediaType(headers)
  if (headers['x-amz-sns-message-type'] !== undefined)
    return ses === undefined ? rejectedFor('not_allowed_here') : undefined
  if (isForm(type)) return mailgun === undefined ? rejectedFor('not_allowed_here') : undefined
  if (webhook === undefined) return rejectedFor('not_allowed_here')
  if (type !== 'message/rfc822') return rejectedFor('malformed_request')
  const { signature, nonce } = webhookHeaders
  return headers[signature] === undefined || headers[nonce] === undefined
    ? rejectedFor('missing_credential')
    : undefined
}

function mediaType(headers: RawArrival['headers']): string | undefined {
  return headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
}

function isForm(type: string | undefined): boolean {
  return type === 'multipart/form-data' || type === 'application/x-www-form-urlencoded'
}

function judge(
  { webhook, ses, mailgun }: WaysSettings,
  deps: HopDeps & SnsDeps & { readonly maxBytes: number },
  arrival: RawArrival,
): Promise<Hop> {
  const type = mediaType(arrival.headers)
  const closed = Promise.resolve(rejected('not_allowed_here'))
  if (arrival.headers['x-amz-sns-message-type'] !== undefined)
    return ses === undefined ? closed : sesHop(ses, deps, arrival)
  if (isForm(type)) return mailgun === undefined ? closed : mailgunHop(mailgun.signingKeys, deps, arrival)
  if (webhook === undefined) return closed
  if (type !== 'message/rfc822') return Promise.resolve(rejected('malformed_request'))
  return webhookHop(webhook.secrets, deps, arrival)
}
