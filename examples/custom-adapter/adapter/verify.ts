// Is it the platform that sends this? An Ed25519 signature over timestamp and body, and the ping that tests the endpoint.
import {
  checkClockSkew,
  fromHex,
  importEd25519Key,
  isPlainObject,
  type PublicKey,
  parseBoundedJson,
  type RawRequest,
  type VerifyResult,
  verifyWithKey,
} from 'parley-gateway'
import { answerTypes, interactionTypes } from './wire.ts'

const tolerance = { maxAgeMs: 300_000, maxAheadMs: 300_000 }

export function createVerifier(publicKey: string, now: () => number) {
  // Importing a key costs as much as checking a signature.
  let key: Promise<PublicKey | undefined> | undefined
  return async ({ headers, bytes }: RawRequest): Promise<VerifyResult<Uint8Array>> => {
    const [signature, timestamp] = [headers['x-signature-ed25519'], headers['x-signature-timestamp']]
    if (signature === undefined || timestamp === undefined) return { kind: 'rejected', reason: 'missing_credential' }
    key ??= importEd25519Key(publicKey)
    if (!(await isSigned(await key, signature, timestamp, bytes))) return { kind: 'rejected', reason: 'bad_signature' }
    const skew = checkClockSkew(Number(timestamp) * 1000, now(), tolerance)
    if (skew !== 'fresh') return { kind: 'rejected', reason: skew }
    return isPing(bytes)
      ? { kind: 'handshake', answer: jsonAnswer({ type: answerTypes.pong }) }
      : { kind: 'genuine', payload: bytes }
  }
}

async function isSigned(
  key: PublicKey | undefined,
  signature: string,
  timestamp: string,
  bytes: Uint8Array,
): Promise<boolean> {
  const signed = fromHex(signature)
  if (key === undefined || signed === undefined) return false
  const text = new TextEncoder().encode(timestamp)
  const whole = new Uint8Array(text.length + bytes.length)
  whole.set(text)
  whole.set(bytes, text.length)
  return verifyWithKey(key, signed, whole)
}

function isPing(bytes: Uint8Array): boolean {
  const json = parseBoundedJson(bytes)
  const value: unknown = json.ok ? json.value : undefined
  return isPlainObject(value) && value['type'] === interactionTypes.ping
}

export function jsonAnswer(body: object) {
  return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}
