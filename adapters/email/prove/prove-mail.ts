// Hop 2, the question of mail: who wrote it. Asked of the raw bytes and the name system, never of what the mail says of itself.
// The table of mail 4.2: only a signature of the author's domain over the whole body makes an author; what the domain itself
// disowns is spoofed; all else is somebody's mail, and nobody's word.
import type { Resolver } from '../dns/resolver.ts'
import type { MailHead, MailProof, MailRefusal } from '../wire/judged.ts'
import type { ReceivedMail } from '../wire/mail.ts'
import { type Judging, judge } from './judge.ts'
import { loadLibrary } from './library.ts'
import { withLineEnds } from './line-ends.ts'
import { type ProofSettings, usualProof } from './settings.ts'

export type ProofDeps = { readonly resolver: Resolver; readonly settings?: Partial<ProofSettings> }

/** Each signature hashes the body once more, and each field of them is read by the library in more than one pass. */
const maxSignatures = 10
const maxSignatureLength = 8192
const signatureFields = /^(?:dkim-signature|arc-seal|arc-message-signature|arc-authentication-results)$/

export async function proveMail(mail: ReceivedMail, head: MailHead, deps: ProofDeps): Promise<MailProof | MailRefusal> {
  const settings = { ...usualProof, ...deps.settings }
  const { from } = head
  if (head.faults.length > 0 || from === undefined) return unproven(head.faults)
  const fields = head.fields.filter(({ name }) => signatureFields.test(name))
  if (fields.filter(({ name }) => name === 'dkim-signature').length > maxSignatures)
    return unproven(['too_many_signatures'])
  if (fields.some(({ value }) => value.length > maxSignatureLength)) return unproven(['signature_too_long'])
  const judging: Judging = { mail, head, from, settings, dns: deps.resolver.forMail() }
  const library = await loadLibrary()
  return inTime(settings.deadlineMs, () => judge(judging, withLineEnds(mail.raw), library))
}

function unproven(reasons: readonly string[]): MailProof {
  return {
    standing: 'none',
    method: 'none',
    author: undefined,
    keyId: undefined,
    signedHeaders: [],
    reasons,
    signatureHash: undefined,
  }
}

async function inTime(
  deadlineMs: number,
  work: () => Promise<MailProof | MailRefusal>,
): Promise<MailProof | MailRefusal> {
  const late = Promise.withResolvers<MailRefusal>()
  const timer = setTimeout(
    () => late.resolve({ kind: 'later', reason: 'authentication_timeout', remedy: 'Send it again later.' }),
    deadlineMs,
  )
  try {
    return await Promise.race([work(), late.promise])
  } catch {
    // What makes the library fail once makes it fail again; nothing is believed of such a mail.
    return unproven(['not_checkable'])
  } finally {
    clearTimeout(timer)
  }
}
