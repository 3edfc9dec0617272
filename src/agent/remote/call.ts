// One message on its way to a remote agent: what may be read for it, until when, and how it is cancelled.
import type { AgentContext } from '../context.ts'
import type { NextHop } from '../elsewhere.ts'
import { createRemoteClient, type RemoteClient } from './client.ts'
import { createEgress, type Egress } from './egress.ts'
import type { RemotePeer } from './options.ts'
import { createGraceSignal, type GraceSignal } from './patient-signal.ts'
import type { Allowance } from './read-body.ts'
import type { RemoteInterface } from './wire.ts'

export type RemoteCall = {
  readonly peer: RemotePeer
  readonly context: AgentContext
  readonly next: Extract<NextHop, { ok: true }>
  readonly egress: Egress
  /** Aborts with the turn, with a stop of the run, and when the time for this answer is over. */
  readonly signal: AbortSignal
  /** Its time is over, or what its asker may use is used up. */
  readonly isLate: () => boolean
  readonly allowance: Allowance
  readonly clientOf: (at: RemoteInterface) => RemoteClient
  /** For sending. A peer that lists no tasks is read a moment longer: what it does not name cannot be cancelled. */
  readonly sendingClientOf: (at: RemoteInterface) => RemoteClient
  readonly naming: Pick<GraceSignal, 'hurry'>
  /** How it is cancelled from here on, as far as is known by now. */
  readonly onStop: (cancel: (client: (at: RemoteInterface) => RemoteClient) => Promise<unknown>) => void
  /** Cancels it at the peer where the run was stopped, it is late, or the reader has left; that it cannot be told changes nothing. */
  readonly stopRemote: (isUnread?: boolean) => Promise<void>
  readonly close: () => void
}

const cancelMs = 5_000
const budgetEveryMs = 1_000
const namingMs = 2_000

export function openCall(peer: RemotePeer, context: AgentContext, next: Extract<NextHop, { ok: true }>): RemoteCall {
  const { limits } = peer
  const egress = createEgress(peer.egress, context.elsewhere)
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), limits.timeoutMs)
  const watch = setInterval(() => {
    if (context.budgets?.spent() !== undefined) late.abort()
  }, budgetEveryMs)
  const over = new AbortController()
  const signal = AbortSignal.any([context.signal, context.stop, late.signal, over.signal])
  const naming = createGraceSignal(signal, context.stop, namingMs)
  const allowance = { bytes: limits.maxBytes, events: limits.maxEvents }
  const client = (at: RemoteInterface, means: { signal: AbortSignal; allowance: Allowance }) =>
    createRemoteClient({ egress, limits, headers: next.headers, ...means }, at)
  let cancel: Parameters<RemoteCall['onStop']>[0] | undefined
  return {
    peer,
    context,
    next,
    egress,
    signal,
    allowance,
    isLate: () => late.signal.aborted && !context.stop.aborted && !context.signal.aborted,
    clientOf: (at) => client(at, { signal, allowance }),
    sendingClientOf: (at) => client(at, { signal: at.dialect === '0.3' ? naming.signal : signal, allowance }),
    naming,
    onStop(how) {
      cancel = how
    },
    async stopRemote(isUnread = false) {
      const isWanted = isUnread || context.stop.aborted || late.signal.aborted
      if (cancel === undefined || !isWanted || context.signal.aborted) return
      const brief = AbortSignal.any([context.signal, AbortSignal.timeout(cancelMs)])
      const briefClient = (at: RemoteInterface) =>
        client(at, { signal: brief, allowance: { bytes: 4 * 1024 * 1024, events: 1 } })
      const how = cancel
      cancel = undefined
      const isDone = await how(briefClient).then(
        () => true,
        () => false,
      )
      context.emit('remote_cancelled', { told: isDone })
    },
    close() {
      over.abort()
      naming.close()
      clearTimeout(timer)
      clearInterval(watch)
    },
  }
}
