// HMAC-SHA256 of raw bytes against a header, and the port that computes it on WebCrypto.
import type { Hmac } from '../contract/index.ts'
import { equalInConstantTime } from './constant-time.ts'

export type HmacHeaderOptions = { readonly expectedPrefix?: string; readonly allowRawHex?: boolean }

const hexPairs = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
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

/** The port on WebCrypto; imported keys are kept, because importing costs as much as signing. */
export function webHmac(): Hmac {
  const keys = new Map<string, Promise<CryptoKey>>()
  const importHmacKey = (secret: string): Promise<CryptoKey> => {
    const known = keys.get(secret)
    if (known !== undefined) return known
    const bytes = new TextEncoder().encode(secret)
    const key = crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
    const oldest = keys.size >= maxCachedKeys ? keys.keys().next().value : undefined
    if (oldest !== undefined) keys.delete(oldest)
    keys.set(secret, key)
    return key
  }
  return {
    async sha256(secret, bytes) {
      return new Uint8Array(await crypto.subtle.sign('HMAC', await importHmacKey(secret), unsharedBytes(bytes)))
    },
  }
}

export function toHex(bytes: Uint8Array): string {
  let hex = ''
  for (const byte of bytes) hex += hexPairs[byte]
  return hex
}

/** WebCrypto's types want bytes that are not shared between threads; arrivals never are, so this copies almost never. */
export function unsharedBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
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
