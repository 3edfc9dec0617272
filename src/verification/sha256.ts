// SHA-256 of a text. The platform's own digest is a job for another thread, which costs a small text fifty times its hash;
// a turn with three tools makes two dozen of them. Short texts are therefore hashed here and now.
import { sha256 } from '@noble/hashes/sha2.js'
import { hexOf } from './hmac.ts'

/** From about here on the platform is faster, the way to its thread included. */
const longest = 2048

export async function sha256Hex(text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text)
  return hexOf(bytes.length <= longest ? sha256(bytes) : new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)))
}
