// A signed request: its components as a signature sees them, what the signature claims, and the digest of its body.

import type { RawRequest } from '../../../src/contract/index.ts'
import { checkClockSkew, sha256Bytes } from '../../../src/lib/index.ts'
import { decodeStrictBase64 } from './key-material.ts'
import { type RejectedSignature, rejectSignature, type SignatureRejectReason } from './rejection.ts'
import { parseDictionary } from './structured-fields.ts'

export type SignedRequest = {
  readonly method: string
  /** Our public scheme and authority: a signature for another server's address is none for ours. */
  readonly scheme: string
  readonly authority: string
  readonly path: string
  /** With its question mark; empty where there is none. */
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
}

export type Algorithm = 'rsa-v1_5-sha256' | 'rsa-pss-sha512' | 'ecdsa-p256-sha256' | 'ed25519'

export type SignatureClaim = {
  readonly keyId: string
  /** Undefined: whichever the key is made for. */
  readonly algorithm: Algorithm | undefined
  readonly signature: Uint8Array<ArrayBuffer>
  /** What may have been signed; more than one where servers differ about it. */
  readonly texts: readonly string[]
}

export const longestKeyId = 2048
const fieldName = /^[a-z0-9!#$%&'*+.^_`|~-]+$/

export function readSignedRequest({ headers }: RawRequest, origin: string, method = 'POST'): SignedRequest {
  const { protocol, host } = new URL(origin)
  const target = headers[':path'] ?? '/'
  const at = target.indexOf('?')
  return {
    method,
    scheme: protocol.slice(0, -1),
    authority: host,
    path: at < 0 ? target : target.slice(0, at),
    query: at < 0 ? '' : target.slice(at),
    headers,
  }
}

/** Whether it asks for something and brings no body that could be signed. */
export function isBodylessMethod({ method }: SignedRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Undefined: there is no such header. What stands for the request itself (`:path`) is no header. */
export function signedRequestHeader({ headers, authority }: SignedRequest, name: string): string | undefined {
  if (!fieldName.test(name) || !Object.hasOwn(headers, name)) return name === 'host' ? authority : undefined
  const value = headers[name]?.trim()
  return name === 'host' ? normalizeHost(value, authority) : value
}

/** As it was written, if it is ours. Behind a proxy it may be another: then our public one counts. */
function normalizeHost(given: string | undefined, authority: string): string {
  const isOurs = given?.toLowerCase().replace(/:(?:443|80)$/, '') === authority
  return isOurs && given !== undefined ? given : authority
}

// Every digest that came with the body must match. One whose algorithm we cannot compute may be the wrong one of two, so it is
// not passed over.

type Headers = Readonly<Record<string, string>>
type Claimed = { readonly algorithm: string; readonly bytes: Uint8Array }

const maxLength = 1024

export async function checkDigests(headers: Headers, body: Uint8Array): Promise<RejectedSignature | undefined> {
  const [legacy, current] = [headers['digest'], headers['content-digest']]
  if (legacy === undefined && current === undefined) return rejectSignature('missing_digest')
  const claims = [...readDigestHeader(legacy, legacyDigests), ...readDigestHeader(current, contentDigests)]
  // Several may be of one kind; the body is gone through once for each kind.
  const known = new Map<string, Uint8Array | undefined>()
  for (const claim of claims) {
    if (claim === undefined) return rejectSignature('malformed_digest')
    const { algorithm } = claim
    if (!known.has(algorithm)) known.set(algorithm, await computeDigest(algorithm, body))
    const fault = compareDigest(claim, known.get(algorithm))
    if (fault !== undefined) return rejectSignature(fault)
  }
  return undefined
}

function readDigestHeader(
  header: string | undefined,
  reader: (header: string) => readonly (Claimed | undefined)[],
): readonly (Claimed | undefined)[] {
  if (header === undefined) return []
  const claims = header.length > maxLength ? [] : reader(header)
  return claims.length === 0 ? [undefined] : claims
}

/** `SHA-256=…,SHA-512=…` (RFC 3230); servers differ in how they write the name. */
function legacyDigests(header: string): readonly (Claimed | undefined)[] {
  return header.split(',').map((part) => {
    const at = part.indexOf('=')
    const bytes = decodeStrictBase64(part.slice(at + 1).trim())
    return at < 0 || bytes === undefined ? undefined : { algorithm: part.slice(0, at).trim().toLowerCase(), bytes }
  })
}

/** RFC 9530. */
function contentDigests(header: string): readonly (Claimed | undefined)[] {
  const members = parseDictionary(header)
  if (members === undefined) return [undefined]
  return [...members].map(([algorithm, member]) =>
    member.kind === 'item' && member.bare.type === 'bytes' ? { algorithm, bytes: member.bare.value } : undefined,
  )
}

function compareDigest({ bytes }: Claimed, actual: Uint8Array | undefined): SignatureRejectReason | undefined {
  if (actual === undefined) return 'malformed_digest'
  // Nothing here is secret: the sender of the digest has sent the body, too.
  const isSame = actual.length === bytes.length && actual.every((byte, index) => byte === bytes[index])
  return isSame ? undefined : 'digest_mismatch'
}

async function computeDigest(algorithm: string, body: Uint8Array): Promise<Uint8Array | undefined> {
  if (algorithm === 'sha-256') return sha256Bytes(body)
  if (algorithm !== 'sha-512') return undefined
  return new Uint8Array(await crypto.subtle.digest('SHA-512', new Uint8Array(body)))
}

// The age of a signature. Clocks of servers differ by up to an hour; an end that its signer set is kept to the second.

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
