// Handles a report about one of our mails: the delivery is marked, and an address that can never be reached is closed. Only a
// report that came back to the token of its delivery counts, and only for the address that delivery went to. Pure.
import type { IgnoredEvent } from '../../../src/contract/index.ts'
import type { MailReport } from '../wire/judged.ts'
import type { SentMail } from '../wire/read.ts'

export type ReportFacts = Pick<IgnoredEvent, 'reason' | 'bounce' | 'reach'>

/** RFC 3463: no such mailbox, a domain that takes no mail, a mailbox that was switched off. */
const goneForGood: ReadonlySet<string> = new Set(['5.1.1', '5.1.2', '5.1.3', '5.1.6', '5.1.10', '5.2.1'])

/** `sent` is undefined where no token of ours says which mail it is about: then it says nothing. */
export function reportFacts(report: MailReport | undefined, sent: SentMail | undefined, at: string): ReportFacts {
  if (sent === undefined) return { reason: report === undefined ? 'bounce_unmatched' : `${report.kind}_unmatched` }
  if (report === undefined)
    // Old servers bounce in plain words: that it came back to this address is all there is to know.
    return { reason: 'bounced', bounce: { clientId: sent.clientId, kind: 'failed', reason: 'bounced', at } }
  switch (report.kind) {
    case 'receipt':
      return { reason: 'receipt' }
    case 'complaint':
      return { reason: 'complaint', reach: { place: closedAddressKey(sent.to), closed: 'complaint', at } }
    case 'delivery':
      return deliveryReportFacts(report, sent, at)
    default:
      return report.kind satisfies never
  }
}

function deliveryReportFacts({ recipients }: MailReport, sent: SentMail, at: string): ReportFacts {
  const own = recipients.find(({ address }) => closedAddressKey(address) === closedAddressKey(sent.to)) ?? recipients[0]
  const status = own?.status
  const isDelayed = own?.action === 'delayed' || (own?.action === undefined && status?.startsWith('4.') === true)
  if (isDelayed)
    return { reason: 'delayed', bounce: { clientId: sent.clientId, kind: 'delayed', reason: bounceCode(status), at } }
  if (own?.action !== undefined && own.action !== 'failed') return { reason: `report_${own.action}` }
  const bounce = { clientId: sent.clientId, kind: 'failed', reason: bounceCode(status), at } as const
  if (status === undefined || !goneForGood.has(status)) return { reason: 'bounced', bounce }
  return { reason: 'bounced', bounce, reach: { place: closedAddressKey(sent.to), closed: bounceCode(status), at } }
}

/** The name under which an address is closed; the domain has no case. */
function closedAddressKey(address: string): string {
  const at = address.lastIndexOf('@')
  return address.slice(0, at + 1) + address.slice(at + 1).toLowerCase()
}

/** Codes only: what else a report says is its sender's text. */
function bounceCode(status: string | undefined): string {
  return status !== undefined && /^[245]\.\d{1,3}\.\d{1,3}$/.test(status) ? `status_${status}` : 'bounced'
}
