// Public keys in the two spellings of the fediverse, converted to the one the platform reads (SPKI in base64), and the encodings
// they need.
import { encodeBase64 } from '../../../src/lib/index.ts'
import type { RemoteKey } from '../wire/activity.ts'

export type KeyMaterial = Pick<RemoteKey, 'algorithm' | 'spki'>

const maxText = 8192
const rsaBits = { least: 2048, most: 8192 }
const imports = {
  rsa: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
  ed25519: { name: 'Ed25519' },
  p256: { name: 'ECDSA', namedCurve: 'P-256' },
} as const satisfies Record<RemoteKey['algorithm'], object>

/** SubjectPublicKeyInfo with rsaEncryption, up to the length of what follows. */
const rsaIdentifier = [0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00]
const ed25519Prefix = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00]
/** Of any elliptic curve; the platform takes the one. */
const ellipticPrefix = [0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01]

/** `publicKeyPem`. Undefined: it is none that we could check a signature with. */
export async function pemToKeyMaterial(pem: unknown): Promise<KeyMaterial | undefined> {
  if (typeof pem !== 'string' || pem.length > maxText) return undefined
  const match = /-----BEGIN (RSA )?PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END/.exec(pem)
  const bytes = match === null ? undefined : decodeStrictBase64((match[2] ?? '').replace(/\s+/g, ''))
  if (match === null || bytes === undefined) return undefined
  return toKeyMaterial(match[1] === undefined ? bytes : wrapRsaKeyInSpki(bytes))
}

/** `publicKeyMultibase` of a Multikey (FEP-521a). */
export async function multikeyToKeyMaterial(multibase: unknown): Promise<KeyMaterial | undefined> {
  if (typeof multibase !== 'string' || multibase.length > 128) return undefined
  const bytes = multibase.startsWith('z') ? decodeBase58(multibase.slice(1), 34) : undefined
  // Multicodec ed25519-pub.
  if (bytes === undefined || bytes[0] !== 0xed || bytes[1] !== 0x01) return undefined
  return toKeyMaterial(Uint8Array.from([...ed25519Prefix, ...bytes.slice(2)]))
}

async function toKeyMaterial(spki: Uint8Array<ArrayBuffer>): Promise<KeyMaterial | undefined> {
  const algorithm = spkiAlgorithm(spki)
  try {
    const key = await crypto.subtle.importKey('spki', spki, imports[algorithm], true, ['verify'])
    if (algorithm === 'rsa' && !isRsaSizeAccepted(key)) return undefined
    return { algorithm, spki: encodeBase64(spki) }
  } catch {
    return undefined
  }
}

/** By how it begins; whether it is whole is for the platform to say. */
function spkiAlgorithm(spki: Uint8Array): RemoteKey['algorithm'] {
  const startsWithBytes = (prefix: readonly number[]): boolean => prefix.every((byte, at) => spki[at] === byte)
  if (startsWithBytes(ed25519Prefix)) return 'ed25519'
  return startsWithBytes(ellipticPrefix) ? 'p256' : 'rsa'
}

/** Too small proves nothing; too large makes every check expensive. */
function isRsaSizeAccepted({ algorithm }: CryptoKey): boolean {
  const bits = 'modulusLength' in algorithm ? Number(algorithm.modulusLength) : 0
  return bits >= rsaBits.least && bits <= rsaBits.most
}

/** PKCS #1 inside the frame that says what it is. */
function wrapRsaKeyInSpki(pkcs1: Uint8Array): Uint8Array<ArrayBuffer> {
  const bits = [0x03, ...encodeDerLength(pkcs1.length + 1), 0x00, ...pkcs1]
  const inner = [...rsaIdentifier, ...bits]
  return Uint8Array.from([0x30, ...encodeDerLength(inner.length), ...inner])
}

function encodeDerLength(length: number): readonly number[] {
  if (length < 0x80) return [length]
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
}

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

export function toBase58(bytes: Uint8Array): string {
  let value = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n)
  let text = ''
  for (; value > 0n; value /= 58n) text = `${alphabet[Number(value % 58n)]}${text}`
  const zeros = bytes.findIndex((byte) => byte !== 0)
  return `${'1'.repeat(zeros === -1 ? bytes.length : zeros)}${text}`
}

// Base64 and base58 are decoded in their one strict form each.

const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const base58Letters = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

export function decodeStrictBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!base64Pattern.test(text)) return undefined
  const binary = atob(text)
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < binary.length; index += 1) bytes[index] = binary.charCodeAt(index)
  return bytes
}

/** Of a known length only: the work grows with the square of it. */
export function decodeBase58(text: string, length: number): Uint8Array<ArrayBuffer> | undefined {
  if (text.length > length * 1.4 + 1) return undefined
  const bytes = new Uint8Array(length)
  for (const letter of text) {
    let carry = base58Letters.indexOf(letter)
    if (carry < 0) return undefined
    for (let index = length - 1; index >= 0; index -= 1) {
      carry += (bytes[index] ?? 0) * 58
      bytes[index] = carry & 0xff
      carry >>= 8
    }
    if (carry > 0) return undefined
  }
  return bytes
}

const base58Alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** Multibase: base58btc, with the letter that says so. For keys and signatures: its time grows with the square of their length. */
export function encodeMultibase(bytes: Uint8Array): string {
  const digits: number[] = []
  for (const byte of bytes) {
    let carry = byte
    for (const [at, digit] of digits.entries()) {
      carry += digit * 256
      digits[at] = carry % 58
      carry = Math.floor(carry / 58)
    }
    for (; carry > 0; carry = Math.floor(carry / 58)) digits.push(carry % 58)
  }
  const zeros = bytes.findIndex((byte) => byte !== 0)
  const leading = '1'.repeat(zeros === -1 ? bytes.length : zeros)
  return `z${leading}${digits
    .reverse()
    .map((digit) => base58Alphabet[digit])
    .join('')}`
}

/** A copy of our own: some runtimes do not say whose memory an encoder's bytes are in. */
export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(new TextEncoder().encode(text))
}
