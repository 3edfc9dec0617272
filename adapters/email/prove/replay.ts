// Whether a genuine mail may be a copy: a signature stays good wherever the mail is sent, so it must also be new and be written to
// the agent that gets it (mail 4.2 rule 7).
import type { MailHead } from '../wire/judged.ts'
import type { ReceivedMail } from '../wire/mail.ts'

const dayMs = 86_400_000
const oldMs = 7 * dayMs

export type Signed = { readonly signedHeaders: readonly string[]; readonly signedAt: number | undefined }

/** Why it may be a copy; undefined where nothing says so. `unnamed`: agents that may get mails which do not name them (Bcc, aliases). */
export function suspicionOf(
  mail: ReceivedMail,
  head: MailHead,
  { signedHeaders, signedAt }: Signed,
  unnamed: ReadonlySet<string>,
): string | undefined {
  const now = Date.parse(mail.receivedAt)
  const written = head.date === undefined ? undefined : Date.parse(head.date)
  if (written !== undefined && now - written > oldMs) return 'date_too_old'
  if (written !== undefined && written - now > dayMs) return 'date_ahead'
  if (signedAt !== undefined && now - signedAt > oldMs) return 'signature_too_old'
  if (signedAt === undefined && !(written !== undefined && signedHeaders.includes('date'))) return 'time_not_signed'
  // Names that are not signed are written by whoever sends the copy.
  const people = [...(signedHeaders.includes('to') ? head.to : []), ...(signedHeaders.includes('cc') ? head.cc : [])]
  // Whoever writes to a tag names the mailbox, too: a fetched one may not say under which tag it got a mail.
  const named = new Set(people.map(({ address }) => address.toLowerCase()).flatMap((each) => [each, untagged(each)]))
  const isNamed = (recipient: string): boolean =>
    named.has(recipient.toLowerCase()) || unnamed.has(recipient.toLowerCase())
  return mail.envelope.rcptTo.every(isNamed) ? undefined : 'recipient_not_named'
}

function untagged(address: string): string {
  const [tag, at] = [address.indexOf('+'), address.lastIndexOf('@')]
  return tag > 0 && tag < at ? address.slice(0, tag) + address.slice(at) : address
}
