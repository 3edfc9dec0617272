// A mail as hop 2 judges it: scanned and proven with the real parts, the name system being a zone of ours.

import { type AuthDeps, authenticateMail } from '../../adapters/email/auth/authenticate.ts'
import { createResolver } from '../../adapters/email/dns.ts'
import { scanHead } from '../../adapters/email/headers/scan-head.ts'
import type { Envelope, MailProof, MailRefusal } from '../../adapters/email/wire/mail.ts'
import { type MailZone, receivedMail, senderZone } from './signed-mails.ts'

export type Proving = {
  readonly zone?: MailZone
  readonly envelope?: Partial<Envelope>
  readonly settings?: AuthDeps['settings']
  readonly receivedAt?: string
}

export async function provenMail(mail: string, proving: Proving = {}): Promise<MailProof | MailRefusal> {
  const { zone = senderZone(), envelope, settings, receivedAt } = proving
  const received = receivedMail(mail, envelope)
  const resolver = createResolver({ lookup: zone.lookup, now: () => 0 })
  const deps = settings === undefined ? { resolver } : { resolver, settings }
  return authenticateMail(
    receivedAt === undefined ? received : { ...received, receivedAt },
    scanHead(received.raw),
    deps,
  )
}
