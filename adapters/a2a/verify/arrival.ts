// Hop 2 for the gateway's own webhook route: verifies the caller as the other routes do, and the type of the body.
import type { CallerVerifier, RawRequest, VerifyResult } from '../../../src/contract/index.ts'
import type { A2aPayload } from '../wire/caller.ts'
import { type Called, verifyCaller } from './caller.ts'
import { parseJsonType } from './media-type.ts'

export async function verifyA2a(
  callers: CallerVerifier,
  arrival: RawRequest,
  to: Called,
): Promise<VerifyResult<A2aPayload>> {
  const verdict = await verifyCaller(callers, arrival, to)
  if (verdict.kind === 'rejected') return verdict
  if (parseJsonType(arrival.headers['content-type']) === undefined)
    return { kind: 'rejected', reason: 'malformed_request' }
  return { kind: 'genuine', payload: { bytes: arrival.bytes, caller: verdict.caller } }
}
