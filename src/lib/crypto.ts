// Signatures (HMAC-SHA256, Ed25519, RSA, ECDSA), SHA-256, constant-time comparison and clock skew of signed requests.

import { sha256 } from '@noble/hashes/sha2.js'
import type { Hmac } from '../contract/channel.ts'
import type { BytesRef } from '../contract/parts.ts'
import { fromHex, toHex } from './bytes.ts'
import { LruMap } from './cache.ts'
import { GatewayError } from './errors.ts'
import { stableStringify } from './json.ts'

export type HmacHeaderOptions = { readonly expectedPrefix?: string; readonly allowRawHex?: boolean }

const hexPattern = /^[0-9a-f]{64}$/
// Secrets come from the configuration, so a handful; the bound only guards against a caller that invents them.
const maxCachedKeys = 64

/**
 * Checks the HMAC-SHA256 that a header carries over the raw body, in constant time.
 *
 * @example
 * ```ts
 * const isGenuine = await verifyHmacSha256(deps.hmac, request.bytes, request.headers['x-signature'], secret.reveal())
 * ```
 */
export async function verifyHmacSha256(
  hmac: Hmac,
  rawBody: Uint8Array,
  header: string | undefined,
  secret: string,
  { expectedPrefix = 'sha256=', allowRawHex = false }: HmacHeaderOptions = {},
): Promise<boolean> {
  if (secret === '' || header === undefined) return false
  const given = header.trim()
  const hasPrefix = expectedPrefix !== '' && given.startsWith(expectedPrefix)
  const claimed = (hasPrefix ? given.slice(expectedPrefix.length) : given).toLowerCase()
  if ((!hasPrefix && !allowRawHex) || !hexPattern.test(claimed)) return false
  return equalInConstantTime(claimed, toHex(await hmac.sha256(secret, rawBody)))
}

/** HMAC on WebCrypto; imported keys are kept, because importing costs as much as signing. */
export function createWebHmac(): Hmac {
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
      return new Uint8Array(await crypto.subtle.sign('HMAC', await importHmacKey(secret), toUnsharedBytes(bytes)))
    },
  }
}

/** WebCrypto's types want bytes that are not shared between threads; arrivals never are, so this copies almost never. */
function toUnsharedBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes)
}

// Signatures by a key pair: whoever has the public key can check them, and only its owner can make them.

/** Named as in HTTP message signatures (RFC 9421 §6.2). */
export type SignatureAlgorithm = 'rsa-v1_5-sha256' | 'rsa-pss-sha512' | 'ecdsa-p256-sha256' | 'ed25519'

type SignatureScheme = {
  readonly imported: Parameters<SubtleCrypto['importKey']>[2]
  readonly verified: Parameters<SubtleCrypto['verify']>[0]
}

const signatureSchemes: Readonly<Record<SignatureAlgorithm, SignatureScheme>> = {
  'rsa-v1_5-sha256': { imported: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }, verified: 'RSASSA-PKCS1-v1_5' },
  'rsa-pss-sha512': {
    imported: { name: 'RSA-PSS', hash: 'SHA-512' },
    verified: { name: 'RSA-PSS', saltLength: 64 },
  },
  'ecdsa-p256-sha256': {
    imported: { name: 'ECDSA', namedCurve: 'P-256' },
    verified: { name: 'ECDSA', hash: 'SHA-256' },
  },
  ed25519: { imported: 'Ed25519', verified: 'Ed25519' },
}

/** A shorter one can be broken; a longer one only costs time. */
const rsaBits = { min: 2048, max: 8192 }
const maxSpkiBytes = 1536
/** What stands before the 32 bytes of the key in its SubjectPublicKeyInfo (RFC 8410). */
const ed25519Prefix = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00]

/** A public key that signatures are checked with. */
export type PublicKey = { readonly algorithm: SignatureAlgorithm; readonly key: CryptoKey }

/**
 * Imports a public key (DER of its SubjectPublicKeyInfo). Importing costs as much as checking a signature: keep what it answers.
 * Undefined for what is no such key, and for RSA keys that are too short.
 */
export async function importPublicKey(algorithm: SignatureAlgorithm, spki: Uint8Array): Promise<PublicKey | undefined> {
  if (spki.length > maxSpkiBytes) return undefined
  try {
    const { imported } = signatureSchemes[algorithm]
    const key = await crypto.subtle.importKey('spki', toUnsharedBytes(spki), imported, false, ['verify'])
    // Only RSA keys have a length of modulus.
    const { modulusLength } = key.algorithm as { readonly modulusLength?: number }
    const isFit = modulusLength === undefined || (modulusLength >= rsaBits.min && modulusLength <= rsaBits.max)
    return isFit ? { algorithm, key } : undefined
  } catch {
    return undefined
  }
}

/**
 * Imports an Ed25519 key from its 32 bytes in hexadecimal, as platforms show it. Undefined for anything else.
 *
 * @example
 * ```ts
 * const key = await importEd25519Key(settings.publicKey)
 * const isGenuine = key !== undefined && (await verifyWithKey(key, signature, signedBytes))
 * ```
 */
export async function importEd25519Key(hex: string): Promise<PublicKey | undefined> {
  const bytes = fromHex(hex)
  return bytes?.length === 32 ? importPublicKey('ed25519', Uint8Array.from([...ed25519Prefix, ...bytes])) : undefined
}

/** Whether the owner of the key signed these very bytes. Never throws: what is no signature is a wrong one. */
export async function verifyWithKey(
  { algorithm, key }: PublicKey,
  signature: Uint8Array,
  signed: Uint8Array,
): Promise<boolean> {
  try {
    const { verified } = signatureSchemes[algorithm]
    return await crypto.subtle.verify(verified, key, toUnsharedBytes(signature), toUnsharedBytes(signed))
  } catch {
    return false
  }
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
    : new Uint8Array(await crypto.subtle.digest('SHA-256', toUnsharedBytes(bytes)))
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
