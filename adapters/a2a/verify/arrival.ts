// Hop 2 for the gateway's own webhook route: verifies the caller as the other routes do, and the type of the body.
import type { CallerDesk, RawArrival, Verdict } from '../../../src/contract/index.ts'
import type { A2aPayload } from '../wire/caller.ts'
import { type Called, judgeCaller } from './caller.ts'
import { jsonTypeOf } from './media-type.ts'

export async function verifyA2a(callers: CallerDesk, arrival: RawArrival, to: Called): Promise<Verdict<A2aPayload>> {
  const verdict = await judgeCaller(callers, arrival, to)
  if (verdict.kind === 'rejected') return verdict
  if (jsonTypeOf(arrival.headers['content-type']) === undefined)
    return { kind: 'rejected', reason: 'malformed_request' }
  return { kind: 'genuine', payload: { bytes: arrival.bytes, caller: verdict.caller } }
}
