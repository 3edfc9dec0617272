// SPF: whether the server that handed the mail over may send for the domain of its envelope. Says nothing of who wrote it.
import type { Resolve } from '../dns/resolver.ts'
import { normalizeDomain } from '../scan/domain.ts'
import type { Mailbox } from '../wire/judged.ts'
import type { ReceivedMail } from '../wire/mail.ts'
import type { MailChecks } from './library.ts'

export type Origin = {
  /** Domains for which the server may send. */
  readonly domains: readonly string[]
  readonly reason: string
  /** Not known yet, and it could matter for this author. */
  readonly isOpen: boolean
}

const unknown: Origin = { domains: [], reason: 'spf=unknown', isOpen: false }

export async function checkSpfOrigin(
  library: MailChecks,
  { mail, from }: { readonly mail: ReceivedMail; readonly from: Mailbox },
  resolver: Resolve,
): Promise<Origin> {
  const { clientIp, mailFrom, helo } = mail.envelope
  // A mail out of a mailbox: who handed it over is only what others wrote into it.
  if (clientIp === undefined || mailFrom === undefined) return unknown
  const spf = await library.checkSpf({
    ip: clientIp,
    helo: helo ?? `[${clientIp}]`,
    sender: mailFrom,
    mta: 'parley',
    resolver,
    strict: true,
  })
  const { result } = spf.status
  const domain = normalizeDomain(spf.domain ?? '')
  if (domain === undefined) return { ...unknown, reason: `spf=${result}` }
  return {
    domains: result === 'pass' ? [domain] : [],
    reason: `spf=${result} d=${domain}`,
    isOpen: result === 'temperror' && mayShareOwner(domain, from.domain),
  }
}

/** Could be of one owner: they end in the same two labels. */
const mayShareOwner = (one: string, other: string): boolean => lastTwoLabels(one) === lastTwoLabels(other)
const lastTwoLabels = (domain: string): string => domain.split('.').slice(-2).join('.')
