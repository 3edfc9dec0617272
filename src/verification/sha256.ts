// SHA-256 of a text or of bytes. The platform's own digest is a job for another thread, which costs a small text fifty times its hash;
// a turn with three tools makes two dozen of them. Short texts are therefore hashed here and now.
import { sha256 } from '@noble/hashes/sha2.js'
import { toHex, unsharedBytes } from './hmac.ts'

/** From about here on the platform is faster, the way to its thread included. */
const longest = 2048

export async function sha256Hex(text: string): Promise<string> {
  return toHex(await sha256Bytes(new TextEncoder().encode(text)))
}

export async function sha256Bytes(bytes: Uint8Array): Promise<Uint8Array> {
  return bytes.length <= longest
    ? sha256(bytes)
    : new Uint8Array(await crypto.subtle.digest('SHA-256', unsharedBytes(bytes)))
}
