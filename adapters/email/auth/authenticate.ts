// Authenticates the author of a mail, by the raw bytes and the name system, never by what the mail says of itself. Only a
// signature of the author's domain over the whole body makes an author; what the domain itself disowns is spoofed; the author of
// any other mail is unverified.

import { OffloadError } from '../../../src/contract/index.ts'
import { GatewayError } from '../../../src/lib/index.ts'
import type { Resolver } from '../dns.ts'
import { offloadErrorToRefusal } from '../offload/load-shedding.ts'
import type { HeaderField, MailHead, MailProof, MailRefusal, ReceivedMail } from '../wire/mail.ts'
import { type AuthSettings, authenticateAuthor, defaultAuthSettings, type Judging } from './judge-author.ts'
import { loadMailChecks, type MailChecks } from './mail-checks.ts'

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
  if (head.faults.length > 0 || from === undefined) return unprovenMailResult(head.faults)
  const excess = findCostlyHeaderReason(head.fields)
  if (excess !== undefined) return unprovenMailResult([excess])
  const judging: Judging = { mail, head, from, settings, dns: deps.resolver.forMail() }
  return authenticateWithDeadline(settings.deadlineMs, async () =>
    authenticateAuthor(judging, mail.raw, deps.library ?? (await loadMailChecks())),
  )
}

/** What no server writes, and what would only cost time to check. */
function findCostlyHeaderReason(all: readonly HeaderField[]): string | undefined {
  const fields = all.filter(({ name }) => signatureFields.test(name))
  const countFieldsNamed = (wanted: string): number => fields.filter(({ name }) => name === wanted).length
  if (countFieldsNamed('dkim-signature') > maxSignatures) return 'too_many_signatures'
  if (countFieldsNamed('arc-seal') > maxSeals || countFieldsNamed('arc-message-signature') > maxSeals)
    return 'too_many_seals'
  if (fields.some(({ value }) => value.length > maxSignatureLength || manyBlanks.test(value)))
    return 'signature_too_long'
  if (all.some(({ name, value }) => name === 'content-type' && value.length > maxContentType))
    return 'content_type_too_long'
  const signsTooManyFields = ({ value }: HeaderField): boolean => value.split(':').length > maxSignedNames
  return fields.some(signsTooManyFields) ? 'too_many_signed_fields' : undefined
}

function unprovenMailResult(reasons: readonly string[]): MailProof {
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

async function authenticateWithDeadline(
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
    if (error instanceof OffloadError) return offloadErrorToRefusal(error)
    // What makes the library fail once makes it fail again; nothing is believed of such a mail.
    return unprovenMailResult(['not_checkable'])
  } finally {
    clearTimeout(timer)
  }
}

// The self-test: whether signatures can be checked in this runtime at all, tried on the sample of RFC 8463 appendix A, which
// carries an RSA and an Ed25519 signature. A runtime that fails it would take every mail for unsigned, or worse; so the channel
// does not start there.

const sampleKeys: Readonly<Record<string, string>> = {
  'brisbane._domainkey.football.example.com': 'v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
  'test._domainkey.football.example.com':
    'v=DKIM1; k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDkHlOQoBTzWRiGs5V6NpP3idY6Wk08a5qhdR6wy5bdOKb2jLQiY/J16JYi0Qvx/by' +
    'YzCNb3W91y3FutACDfzwQ/BC/e/8uBsCR+yz1Lxj+PL6lHvqMKrM3rG4hstT5QjvHO9PzoxZyVYLzBfO2EeC3Ip3G+2kryOTIKT+l/K4w3QIDAQAB',
}

const sample = [
  'DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/relaxed;',
  ' d=football.example.com; i=@football.example.com;',
  ' q=dns/txt; s=brisbane; t=1528637909; h=from : to :',
  ' subject : date : message-id : from : subject : date;',
  ' bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=;',
  ' b=/gCrinpcQOoIfuHNQIbq4pgh9kyIK3AQUdt9OdqQehSwhEIug4D11Bus',
  ' Fa3bT3FY5OsU7ZbnKELq+eXdp1Q1Dw==',
  'DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed;',
  ' d=football.example.com; i=@football.example.com;',
  ' q=dns/txt; s=test; t=1528637909; h=from : to : subject :',
  ' date : message-id : from : subject : date;',
  ' bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=;',
  ' b=F45dVWDfMbQDGHJFlXUNB2HKfbCeLRyhDXgFpEL8GwpsRe0IeIixNTe3',
  ' DhCVlUrSjV4BwcVcOF6+FF3Zo9Rpo1tFOeS9mPYQTnGdaSGsgeefOsk2Jz',
  ' dA+L10TeYt9BgDfQNZtKdN1WO//KgIqXP7OdEFE4LjFYNcUxZQ4FADY+8=',
  'From: Joe SixPack <joe@football.example.com>',
  'To: Suzie Q <suzie@shopping.example.net>',
  'Subject: Is dinner ready?',
  'Date: Fri, 11 Jul 2003 21:00:37 -0700 (PDT)',
  'Message-ID: <20030712040037.46341.5F8J@football.example.com>',
  '',
  'Hi.',
  '',
  'We lost the game.  Are you hungry yet?',
  '',
  'Joe.',
  '',
].join('\r\n')

/** Throws where a true signature does not pass, or a broken one does. */
export async function selfTestSignatureChecks(
  library: Pick<MailChecks, 'checkSignatures'> | undefined = undefined,
): Promise<void> {
  const { checkSignatures } = library ?? (await loadMailChecks())
  const checkSampleMail = async (mail: string): Promise<string> => {
    const options = { resolver: resolveSampleKey, strict: true, minBitLength: 1024, curTime: new Date('2018-06-11') }
    const { results } = await checkSignatures(new TextEncoder().encode(mail), options)
    return results.map(({ status }) => status.result).join(' ')
  }
  const [whole, broken] = [await checkSampleMail(sample), await checkSampleMail(sample.replace('dinner', 'supper'))]
  if (whole === 'pass pass' && broken === 'fail fail') return
  throw new GatewayError(
    'config_invalid',
    `[email] this runtime cannot check signatures (${whole}, ${broken}); run it where node:crypto knows RSA and Ed25519, or leave email out`,
  )
}

const resolveSampleKey = async (name: string): Promise<readonly (readonly string[])[]> => {
  const record = sampleKeys[name]
  if (record === undefined) throw Object.assign(new Error('no record'), { code: 'ENOTFOUND' })
  return [[record]]
}
