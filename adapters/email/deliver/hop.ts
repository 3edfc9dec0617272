// Decides which mails carry the signed count of agents.
import type { MailCall } from '../wire/call.ts'
import type { DeliverySettings } from './settings.ts'

/** Whether an agent may read it: one of ours, one of a gateway we know, or one that counts already. */
export function mayReachAgents({ to, cc, hop }: MailCall, { domain, siblings = [] }: DeliverySettings): boolean {
  const known = new Set([domain, ...siblings].map((each) => each.toLowerCase()))
  const domains = [...to, ...cc].map(({ address }) => address.slice(address.lastIndexOf('@') + 1).toLowerCase())
  return hop > 1 || domains.some((each) => known.has(each))
}
