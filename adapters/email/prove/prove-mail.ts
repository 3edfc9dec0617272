// Hop 2: authenticates the author of a mail, by the raw bytes and the name system, never by what the mail says of itself.
// Only a signature of the author's domain over the whole body makes an author; what the domain itself
// disowns is spoofed; the author of any other mail is unverified.
import { OffloadError } from '../../../src/contract/index.ts'
import type { Resolver } from '../dns/resolver.ts'
import { offloadRefusal } from '../offload/refusal.ts'
import type { HeaderField, MailHead, MailProof, MailRefusal } from '../wire/judged.ts'
import type { ReceivedMail } from '../wire/mail.ts'
import { type Judging, judgeAuthor } from './judge.ts'
import { loadMailChecks, type MailChecks } from './library.ts'
import { type AuthSettings, defaultAuthSettings } from './settings.ts'

export type AuthDeps = {
  readonly resolver: Resolver
  readonly settings?: Partial<AuthSettings>
  /** Without it: checks are computed in this thread. */
  readonly library?: MailChecks
}

/** Each signature is canonicalized with the fields it names, and each field of them is read by the library in more than one pass. */
const maxSignatures = 10
const maxSignatureLength = 8192
/** Names of fields that one signature covers, by the colons between them: each of them is looked for among all fields. */
const maxSignedNames = 300
/** Whatever looks for the end of a value tries again at each of them. */
const manyBlanks = /[ \t]{64}/
/** Read by the library once for each signature. */
const maxContentType = 8192
/** Each seal is over all that stand before it. */
const maxSeals = 20
const signatureFields = /^(?:dkim-signature|arc-seal|arc-message-signature|arc-authentication-results)$/

export async function authenticateMail(
  mail: ReceivedMail,
  head: MailHead,
  deps: AuthDeps,
): Promise<MailProof | MailRefusal> {
  const settings = { ...defaultAuthSettings, ...deps.settings }
  const { from } = head
  if (head.faults.length > 0 || from === undefined) return unprovenMail(head.faults)
  const excess = findCostlyField(head.fields)
  if (excess !== undefined) return unprovenMail([excess])
  const judging: Judging = { mail, head, from, settings, dns: deps.resolver.forMail() }
  return authenticateInTime(settings.deadlineMs, async () =>
    judgeAuthor(judging, mail.raw, deps.library ?? (await loadMailChecks())),
  )
}

/** What no server writes, and what would only cost time to check. */
function findCostlyField(all: readonly HeaderField[]): string | undefined {
  const fields = all.filter(({ name }) => signatureFields.test(name))
  const countFields = (wanted: string): number => fields.filter(({ name }) => name === wanted).length
  if (countFields('dkim-signature') > maxSignatures) return 'too_many_signatures'
  if (countFields('arc-seal') > maxSeals || countFields('arc-message-signature') > maxSeals) return 'too_many_seals'
  if (fields.some(({ value }) => value.length > maxSignatureLength || manyBlanks.test(value)))
    return 'signature_too_long'
  if (all.some(({ name, value }) => name === 'content-type' && value.length > maxContentType))
    return 'content_type_too_long'
  const namesTooManyFields = ({ value }: HeaderField): boolean => value.split(':').length > maxSignedNames
  return fields.some(namesTooManyFields) ? 'too_many_signed_fields' : undefined
}

function unprovenMail(reasons: readonly string[]): MailProof {
  return {
    standing: 'none',
    method: 'none',
    author: undefined,
    keyId: undefined,
    signedHeaders: [],
    reasons,
    signatures: [],
  }
}

async function authenticateInTime(
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
  } catch (error) {
    if (error instanceof OffloadError) return offloadRefusal(error)
    // What makes the library fail once makes it fail again; nothing is believed of such a mail.
    return unprovenMail(['not_checkable'])
  } finally {
    clearTimeout(timer)
  }
}
