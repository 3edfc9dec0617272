// HMAC-SHA256, SHA-256, constant-time comparison and clock skew of signed requests.

import { sha256 } from '@noble/hashes/sha2.js'
import { type BytesRef, GatewayError, type Hmac } from '../contract/index.ts'
import { toHex } from './bytes.ts'
import { LruMap } from './cache.ts'
import { stableStringify } from './json.ts'

export type HmacHeaderOptions = { readonly expectedPrefix?: string; readonly allowRawHex?: boolean }

const hexPattern = /^[0-9a-f]{64}$/
// Secrets come from the configuration, so a handful; the bound only guards against a caller that invents them.
const maxCachedKeys = 64

export async function verifyHmacSha256(
  hmac: Hmac,
  rawBody: Uint8Array,
  header: string | undefined,
  secret: string,
  { expectedPrefix = 'sha256=', allowRawHex = false }: HmacHeaderOptions = {},
): Promise<boolean> {
  if (secret === '' || header === undefined) return false
  const claimed = claimedHex(header.trim(), expectedPrefix, allowRawHex)
  if (claimed === undefined) return false
  return equalInConstantTime(claimed, toHex(await hmac.sha256(secret, rawBody)))
}

/** HMAC on WebCrypto; imported keys are kept, because importing costs as much as signing. */
export function webHmac(): Hmac {
  const keys = new LruMap<string, Promise<CryptoKey>>(maxCachedKeys)
  const importHmacKey = (secret: string): Promise<CryptoKey> => {
    const known = keys.get(secret)
    if (known !== undefined) return known
    const bytes = new TextEncoder().encode(secret)
    const key = crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
    keys.set(secret, key)
    return key
  }
  return {
    async sha256(secret, bytes) {
      return new Uint8Array(await crypto.subtle.sign('HMAC', await importHmacKey(secret), unsharedBytes(bytes)))
    },
  }
}

/** WebCrypto's types want bytes that are not shared between threads; arrivals never are, so this copies almost never. */
function unsharedBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes)
}

function claimedHex(header: string, prefix: string, allowRawHex: boolean): string | undefined {
  const hasPrefix = prefix !== '' && header.startsWith(prefix)
  if (!hasPrefix && !allowRawHex) return undefined
  const hex = (hasPrefix ? header.slice(prefix.length) : header).toLowerCase()
  return hexPattern.test(hex) ? hex : undefined
}

// Secrets are compared without telling by the time taken how much of a guess was right.

/** The running time depends on the lengths only, and a wrong length costs as much as a wrong value. */
export function equalInConstantTime(given: string, expected: string): boolean {
  const length = Math.max(given.length, expected.length)
  let difference = given.length ^ expected.length
  for (let index = 0; index < length; index += 1) {
    // charCodeAt past the end is NaN, which the bit operators read as 0; the length difference already decided.
    difference |= given.charCodeAt(index) ^ expected.charCodeAt(index)
  }
  return difference === 0
}

// SHA-256 of a text or of bytes. The platform's own digest is a job for another thread, which costs a small text fifty times its hash;
// a turn with three tools makes two dozen of them. Short texts are therefore hashed here and now.

/** From about here on the platform is faster, the way to its thread included. */
const longest = 2048

export async function sha256Hex(text: string): Promise<string> {
  return toHex(await sha256Bytes(new TextEncoder().encode(text)))
}

export async function sha256Bytes(bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  return bytes.length <= longest
    ? sha256(bytes)
    : new Uint8Array(await crypto.subtle.digest('SHA-256', unsharedBytes(bytes)))
}

// Content-addressed bytes must be the bytes they are named after.

export type ContentAddressed = Extract<BytesRef, { kind: 'content_addressed' }>

/** Throws when the bytes are not the ones the reference names; nothing may be done with them then. */
export async function assertDigest(reference: ContentAddressed, bytes: Uint8Array): Promise<void> {
  const actual = toHex(await sha256Bytes(bytes))
  if (actual !== reference.digest) {
    throw new GatewayError('bad_request', 'content does not match its sha256 digest; discard it and fetch it again', {
      details: { expected: reference.digest, actual },
    })
  }
}

// A signed timestamp is compared with our clock, both ways: old ones may be replays, future ones would stay valid too long.

export type ClockSkewResult = 'fresh' | 'stale_timestamp' | 'future_timestamp' | 'malformed_request'

export type ClockTolerance = { readonly maxAgeMs: number; readonly maxAheadMs: number }

/** The refusals carry the names of a verdict's reasons. */
export function checkClockSkew(timestampMs: number, nowMs: number, tolerance: ClockTolerance): ClockSkewResult {
  if (!Number.isFinite(timestampMs)) return 'malformed_request'
  if (nowMs - timestampMs > tolerance.maxAgeMs) return 'stale_timestamp'
  if (timestampMs - nowMs > tolerance.maxAheadMs) return 'future_timestamp'
  return 'fresh'
}

/** Of a value as JSON makes it. The text says how it was made: `sha256:` and hex. */
export async function sha256OfJson(value: unknown): Promise<string> {
  return `sha256:${await sha256Hex(stableStringify(value))}`
}
