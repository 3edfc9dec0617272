// Hop 2: the local API trusts this machine and nobody else. The body is not read before that is settled.
import type { RawArrival, Verdict } from '../../src/contract/index.ts'

const jsonType = /^application\/json(?:\s*;|\s*$)/i
const localOrigin = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i

export function verifyAgui(arrival: RawArrival): Verdict<Uint8Array> {
  if (!arrival.isLoopback) return { kind: 'rejected', reason: 'not_allowed_here' }
  // A web page open on this machine also arrives by loopback; its browser says where the page came from.
  const origin = arrival.headers['origin']
  if (origin !== undefined && !localOrigin.test(origin)) return { kind: 'rejected', reason: 'not_allowed_here' }
  // A page can send any other type without asking, so this is a guard and not pedantry.
  if (!jsonType.test(arrival.headers['content-type'] ?? '')) return { kind: 'rejected', reason: 'malformed_request' }
  return { kind: 'genuine', payload: arrival.bytes }
}
