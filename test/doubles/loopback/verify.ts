// Hop 2: an HMAC over the body, or over time and body where the sender states a time.

import type { Hmac } from '../../../src/contract/channel.ts'
import type { RawRequest, VerifyResult } from '../../../src/contract/index.ts'
import { checkClockSkew, createWebHmac, toHex, verifyHmacSha256 } from '../../../src/lib/index.ts'
import type { Secret } from '../../../src/lib/secret.ts'

const signatureHeader = 'x-loopback-signature'
const timestampHeader = 'x-loopback-timestamp'

const tolerance = { maxAgeMs: 300_000, maxAheadMs: 300_000 }

export async function verifyLoopback(
  hmac: Hmac,
  secret: Secret,
  now: () => number,
  rawRequest: RawRequest,
): Promise<VerifyResult<Uint8Array>> {
  const signature = rawRequest.headers[signatureHeader]
  if (signature === undefined) return { kind: 'rejected', reason: 'missing_credential' }
  const timestamp = rawRequest.headers[timestampHeader]
  const isGenuine = await verifyHmacSha256(hmac, signedBytes(rawRequest.bytes, timestamp), signature, secret.reveal())
  if (!isGenuine) return { kind: 'rejected', reason: 'bad_signature' }
  if (timestamp === undefined) return { kind: 'genuine', payload: rawRequest.bytes }
  const judgement = checkClockSkew(Number(timestamp), now(), tolerance)
  return judgement === 'fresh'
    ? { kind: 'genuine', payload: rawRequest.bytes }
    : { kind: 'rejected', reason: judgement }
}

/** The headers a sender puts on a body. */
export async function signLoopback(
  bytes: Uint8Array,
  secret: string,
  timestampMs?: number,
): Promise<Record<string, string>> {
  const timestamp = timestampMs === undefined ? undefined : String(timestampMs)
  const signature = toHex(await createWebHmac().sha256(secret, signedBytes(bytes, timestamp)))
  return {
    'content-type': 'application/json',
    [signatureHeader]: `sha256=${signature}`,
    ...(timestamp === undefined ? {} : { [timestampHeader]: timestamp }),
  }
}

function signedBytes(bytes: Uint8Array, timestamp: string | undefined): Uint8Array {
  if (timestamp === undefined) return bytes
  const head = new TextEncoder().encode(`${timestamp}.`)
  const whole = new Uint8Array(head.length + bytes.length)
  whole.set(head)
  whole.set(bytes, head.length)
  return whole
}
