// The DKIM signatures and ARC seals of a mail, each judged alone and more strictly than the protocol asks: what may stand for the
// author must cover the whole body, be of its time, and not be a trial.

import { sha256Hex } from '../../../src/lib/index.ts'
import type { Resolve } from '../dns.ts'
import { normalizeDomain } from '../wire/address.ts'
import type { ArcTag, CheckedArc, CheckedMail, CheckedSignature, MailChecks } from './mail-checks.ts'

export type Signature = {
  readonly domain: string
  readonly keyId: string
  readonly hash: string
  /** In small letters, as many times as they are covered. */
  readonly signedHeaders: readonly string[]
  readonly signedAt: number | undefined
  /** `l=`: what stands behind that length may be written by any server on the way. */
  readonly isCut: boolean
  /** Shares its registered domain with the author, by the public suffix list. */
  readonly isKin: boolean
  readonly result: 'pass' | 'fail' | 'unknown'
  readonly reason: string
}

/** Clocks of mail servers differ by minutes. */
const skewMs = 10 * 60_000
/** Below it a key is accepted, and said to be weak. */
const goodRsaBits = 2048

export function judgeCheckedSignature(checked: CheckedSignature, now: number): Signature {
  const { status, signingDomain = '', selector = '', signTime } = checked
  const signedAt = typeof signTime === 'string' ? Date.parse(signTime) : undefined
  const domain = normalizeDomain(signingDomain) ?? signingDomain.toLowerCase()
  const problem = signatureProblem(checked, signedAt, now)
  const result = problem === undefined ? 'pass' : status.result === 'temperror' ? 'unknown' : 'fail'
  const isWeak = (checked.modulusLength ?? goodRsaBits) < goodRsaBits
  const cut = checked.canonBodyLengthLimited === true
  const notes = [problem, isWeak ? `weak_key=${checked.modulusLength}` : undefined, cut ? 'l' : undefined]
  const told = notes.filter((note) => note !== undefined).join(' ')
  return {
    domain,
    keyId: `${selector}._domainkey.${domain}`.toLowerCase(),
    hash: checked.id ?? '',
    signedHeaders: signedHeaderNames(checked),
    signedAt,
    isCut: cut,
    isKin: typeof status.aligned === 'string',
    result,
    reason:
      status.result === 'none'
        ? 'dkim=none'
        : `dkim=${result} d=${cleanSignatureReason(domain)}${told === '' ? '' : ` ${told}`}`,
  }
}

function signatureProblem(
  { status, id }: CheckedSignature,
  signedAt: number | undefined,
  now: number,
): string | undefined {
  if (status.result !== 'pass')
    return Object.values(status.policy ?? {})[0] ?? cleanSignatureReason(status.comment ?? status.result)
  if (id === undefined) return 'unreadable'
  // RFC 6376 3.6.1: a mail under a key on trial is like one without a signature.
  if (status.testing === true) return 'testing_key'
  return signedAt !== undefined && signedAt > now + skewMs ? 'signed_in_the_future' : undefined
}

const signedHeaderNames = ({ signingHeaders }: CheckedSignature): readonly string[] =>
  (signingHeaders?.keys ?? '')
    .toLowerCase()
    .split(': ')
    .filter((name) => name !== '')

/** Signatures are written by senders; reasons are read by people. */
export const cleanSignatureReason = (text: string): string =>
  text
    .replace(/[^\w.@ -]+/g, '')
    .slice(0, 100)
    .replaceAll(' ', '_')

// ARC (RFC 8617): what relays that changed a mail say of how it reached them. Only relays that the operator named are heard, and
// only where every one of the chain is such a relay.

export type ArcChain =
  /** `signatures`: hashes of those of all its relays: without the last of them it is a chain, too. */
  | {
      readonly kind: 'vouched'
      readonly signature: Signature
      readonly signatures: readonly string[]
      readonly reason: string
    }
  | { readonly kind: 'silent'; readonly reason: string | undefined }

export async function judgeArcChain(
  library: MailChecks,
  checked: CheckedMail,
  {
    resolve,
    sealers,
    authorDomain,
    now,
  }: { resolve: Resolve; sealers: ReadonlySet<string>; authorDomain: string; now: number },
): Promise<ArcChain> {
  if (sealers.size === 0) return { kind: 'silent', reason: undefined }
  const chain = checked.arc?.chain || []
  const by = chain.map((set) => String(set['arc-seal']?.parsed?.['d']?.value ?? '').toLowerCase())
  // Without blanks, and as the seals cover them.
  const texts = chain.map((set) => String(set['arc-message-signature']?.parsed?.['b']?.value ?? ''))
  // The first relay saw the mail as its author sent it; all of them have sealed what it said. Read before the seals are checked:
  // the library rewrites it then.
  const isPassRecorded = isDmarcPassOfAuthorDomain(
    chain[0]?.['arc-authentication-results']?.parsed?.['dmarc'],
    authorDomain,
  )
  const arc = await library.checkArc(checked.arc, { resolver: resolve, strict: true })
  if (arc.status.result === 'none') return { kind: 'silent', reason: undefined }
  if (arc.status.result !== 'pass')
    return { kind: 'silent', reason: `arc=fail ${cleanSignatureReason(arc.status.comment ?? '')}`.trim() }
  if (by.length === 0 || !by.every((domain) => sealers.has(domain)))
    return { kind: 'silent', reason: 'arc=pass sealer_not_trusted' }
  if (!isPassRecorded) return { kind: 'silent', reason: 'arc=pass no_dmarc_pass_recorded' }
  const signature = readPassingArcSignature(arc, now)
  if (signature === undefined) return { kind: 'silent', reason: 'arc=pass signature_not_whole' }
  const signatures = await Promise.all(texts.map(async (text) => `arc ${await sha256Hex(text)}`))
  return { kind: 'vouched', signature, signatures, reason: `arc=pass sealer=${by.map(cleanSignatureReason).join(',')}` }
}

function readPassingArcSignature({ signature }: CheckedArc, now: number): Signature | undefined {
  if (signature === undefined || signature === false) return undefined
  const read = judgeCheckedSignature(signature, now)
  return read.result === 'pass' && !read.isCut ? read : undefined
}

/** `dmarc=pass header.from=` the author's domain, said once: where it is said twice there is no one tag. */
function isDmarcPassOfAuthorDomain(verdict: ArcTag | undefined, authorDomain: string): boolean {
  return verdict?.value === 'pass' && String(verdict.header?.from ?? '').toLowerCase() === authorDomain
}
