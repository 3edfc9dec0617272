// Content-addressed bytes must be the bytes they are named after.
import { type BytesRef, GatewayError } from '../contract/index.ts'
import { toHex, unsharedBytes } from './hmac.ts'

export type ContentAddressed = Extract<BytesRef, { kind: 'content_addressed' }>

/** Throws when the bytes are not the ones the reference names; nothing may be done with them then. */
export async function assertDigest(reference: ContentAddressed, bytes: Uint8Array): Promise<void> {
  const actual = toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', unsharedBytes(bytes))))
  if (actual !== reference.digest) {
    throw new GatewayError('bad_request', 'content does not match its sha256 digest; discard it and fetch it again', {
      details: { expected: reference.digest, actual },
    })
  }
}
