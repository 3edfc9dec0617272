// Hop 2: a token is believed from anywhere, its absence on this machine only. The body is not read before that is settled.
import {
  type CallerDesk,
  type CallerVerdict,
  type RawArrival,
  runScope,
  type TaskDesk,
  type Verdict,
} from '../../src/contract/index.ts'
import { passageOf } from './live/interrupts.ts'
import { type AguiPayload, localSubject } from './wire.ts'

const jsonType = /^application\/json(?:\s*;|\s*$)/i
const localOrigin = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i

export type VerifyDeps = {
  readonly callers: CallerDesk
  readonly tasks: TaskDesk
  /** Whom a request is for, and where the outside calls it. */
  readonly agent: string
  readonly url: string | undefined
}

export async function verifyAgui(
  { callers, tasks, agent, url }: VerifyDeps,
  arrival: RawArrival,
): Promise<Verdict<AguiPayload>> {
  const audiences = url === undefined ? [] : [url]
  const from = await callers.identify(arrival.headers, agent, { scope: runScope, audiences })
  if (from.kind === 'rejected') return from
  if (from.bearer === undefined && !isLocal(arrival)) return stranger(callers, arrival, url)
  // A page can send any other type without asking, so this is a guard and not pedantry.
  if (!jsonType.test(arrival.headers['content-type'] ?? '')) return { kind: 'rejected', reason: 'malformed_request' }
  const payload = payloadFrom(arrival, from)
  const { bytes, headers } = arrival
  const subject = from.bearer?.subject ?? localSubject
  const asked = { agent: from.bearer?.agent ?? agent, subject, bytes, accept: headers['accept'] ?? '' }
  const passage = await passageOf(tasks, asked)
  if (passage.kind === 'blocked') return { kind: 'handshake', answer: passage.answer }
  return { kind: 'genuine', payload: passage.kind === 'free' ? payload : { ...payload, goesOnWith: passage.taskId } }
}

/** Whoever comes from elsewhere is told what to bring; a page that borrows this machine's place is told nothing. */
function stranger(callers: CallerDesk, { isLoopback }: RawArrival, resource: string | undefined): Verdict<never> {
  if (isLoopback) return { kind: 'rejected', reason: 'not_allowed_here' }
  const reason = 'missing_credential'
  const challenge = callers.challenge(reason, resource === undefined ? {} : { resource })
  return { kind: 'rejected', reason, challenge }
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
