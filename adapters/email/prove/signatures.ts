// The DKIM signatures of a mail, each judged alone and more strictly than the protocol asks: what may stand for the author must
// cover the whole body, be of its time, and not be a trial.
import { normalizeDomain } from '../scan/domain.ts'
import type { CheckedSignature } from './library.ts'

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

export function readDkimSignature(checked: CheckedSignature, now: number): Signature {
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
        : `dkim=${result} d=${plainReason(domain)}${told === '' ? '' : ` ${told}`}`,
  }
}

function signatureProblem(
  { status, id }: CheckedSignature,
  signedAt: number | undefined,
  now: number,
): string | undefined {
  if (status.result !== 'pass')
    return Object.values(status.policy ?? {})[0] ?? plainReason(status.comment ?? status.result)
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
export const plainReason = (text: string): string =>
  text
    .replace(/[^\w.@ -]+/g, '')
    .slice(0, 100)
    .replaceAll(' ', '_')
