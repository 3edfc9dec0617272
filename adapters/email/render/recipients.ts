// Who a reply goes to: the authenticated sender, and beside them only those whom the reply names and may reach. Pure.
import { parseAddress } from '../../../src/contract/index.ts'
import { isPlainMailAddress } from '../wire/address.ts'
import type { MailPerson } from '../wire/call.ts'
import type { MailReplyTo } from '../wire/reply-to.ts'

const maxCc = 10

/** `mayNotify` is the policy's word; a name without a domain is an agent of ours. */
export function copyRecipients(to: MailReplyTo, mayNotify: ReadonlySet<string>): readonly MailPerson[] {
  const ours = to.agent.slice(to.agent.indexOf('@') + 1)
  const taken = new Set([to.address.toLowerCase(), to.agent.toLowerCase()])
  const copies: MailPerson[] = []
  for (const name of mayNotify) {
    const bare = name.replace(/^@/, '')
    const parsed = parseAddress(bare.includes('@') ? bare : `${bare}@${ours}`)
    if (parsed === undefined) continue
    const address = `${parsed.local}@${parsed.domain}`
    if (taken.has(address.toLowerCase()) || !isPlainMailAddress(address) || copies.length >= maxCc) continue
    taken.add(address.toLowerCase())
    // Names are compared in small letters; a mailbox is written to as its owner writes it.
    copies.push(to.cc.find((each) => each.address.toLowerCase() === address.toLowerCase()) ?? { name: '', address })
  }
  return copies
}
