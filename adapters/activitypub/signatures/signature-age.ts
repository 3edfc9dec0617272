// The age of a signature. Clocks of servers differ by up to an hour; an end that its signer set is kept to the second.
import { checkClockSkew } from '../../../src/lib/index.ts'
import type { SignatureRejectReason } from './rejection.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const skewMs = hour
/** How long a signature lives that says no end (RFC 9421), and the longest life of one that does. */
const defaultLifeMs = 5 * minute
const longestLifeMs = 12 * hour
const proofAgeMs = 7 * 24 * hour
/** From when the first copy comes, for how long another could still count: its signer's clock may be ahead by as much as it may be late. */
export const signatureLifeMs = longestLifeMs + 2 * skewMs
export const proofLifeMs = proofAgeMs + skewMs
const datePattern =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} GMT$/

/** Undefined: it counts now. */
export function checkDateHeader(date: string, nowMs: number): SignatureRejectReason | undefined {
  return datePattern.test(date) ? checkSignatureAge(Date.parse(date), nowMs, skewMs) : 'missing_time'
}

/** `(created)` and `(expires)` of the older drafts, in seconds. */
export function checkCavageTimes(
  { created, expires }: { readonly created: number | undefined; readonly expires: number | undefined },
  nowMs: number,
): SignatureRejectReason | undefined {
  if (expires !== undefined && !(expires * second > nowMs)) return 'expired'
  return created === undefined ? undefined : checkSignatureAge(created * second, nowMs, skewMs)
}

/** RFC 9421: `created` is required here, whatever else is signed. */
export function checkSignatureTimes(
  { created, expires }: { readonly created: number | undefined; readonly expires: number | undefined },
  nowMs: number,
): SignatureRejectReason | undefined {
  if (created === undefined || created <= 0) return 'missing_time'
  if (expires !== undefined && expires * second <= nowMs) return 'expired'
  const lifeMs = expires === undefined ? defaultLifeMs : longestLifeMs
  return checkSignatureAge(created * second, nowMs, lifeMs + skewMs)
}

/** The time of a proof, which may come by others and late, but within the time that we know a repetition by. */
export function checkProofTimes(
  { created, expires }: { readonly created: string; readonly expires: string | undefined },
  nowMs: number,
): SignatureRejectReason | undefined {
  if (expires !== undefined && !(Date.parse(expires) > nowMs)) return 'expired'
  return checkSignatureAge(Date.parse(created), nowMs, proofAgeMs)
}

function checkSignatureAge(atMs: number, nowMs: number, maxAgeMs: number): SignatureRejectReason | undefined {
  switch (checkClockSkew(atMs, nowMs, { maxAgeMs, maxAheadMs: skewMs })) {
    case 'fresh':
      return undefined
    case 'stale_timestamp':
      return 'stale'
    case 'future_timestamp':
      return 'from_the_future'
    case 'malformed_request':
      return 'missing_time'
  }
}
