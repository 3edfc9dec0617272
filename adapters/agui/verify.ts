// Hop 2: a token is believed from anywhere, its absence on this machine only. The body is not read before that is settled.
import type { CallerDesk, CallerVerdict, RawArrival, Verdict } from '../../src/contract/index.ts'
import type { AguiPayload } from './wire.ts'

const jsonType = /^application\/json(?:\s*;|\s*$)/i
const localOrigin = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i

export async function verifyAgui(
  callers: CallerDesk,
  arrival: RawArrival,
  agent: string,
): Promise<Verdict<AguiPayload>> {
  const from = await callers.identify(arrival.headers, agent)
  if (from.kind === 'rejected') return from
  if (from.bearer === undefined && !isLocal(arrival)) return { kind: 'rejected', reason: 'not_allowed_here' }
  // A page can send any other type without asking, so this is a guard and not pedantry.
  if (!jsonType.test(arrival.headers['content-type'] ?? '')) return { kind: 'rejected', reason: 'malformed_request' }
  return { kind: 'genuine', payload: payloadFrom(arrival, from) }
}

/** A web page open on this machine also arrives by loopback; its browser says where the page came from. */
function isLocal({ isLoopback, headers }: RawArrival): boolean {
  const origin = headers['origin']
  return isLoopback && (origin === undefined || localOrigin.test(origin))
}

function payloadFrom({ bytes }: RawArrival, from: Exclude<CallerVerdict, { kind: 'rejected' }>): AguiPayload {
  const { bearer } = from
  if (from.kind === 'unreadable') return { bytes, bearer, chain: { kind: 'unreadable', remedy: from.remedy } }
  const { caller, agentChain } = from
  return { bytes, bearer, chain: { kind: 'read', caller, agentChain } }
}
