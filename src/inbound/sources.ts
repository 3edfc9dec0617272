// Pull sources (polling, sockets, mailboxes): for each connection that pulls, one process holds the lease, hands over what came,
// and moves the cursor only when all of it is committed.

import type { RawRequest, ReceiveResult, TransportAnswer } from '../contract/index.ts'
import type { Db } from '../db/client.ts'
import { claimSource, releaseSource, renewSource, type SourceHold, storeSourceCursor } from '../db/sources.ts'
import { GatewayError, isGatewayError } from '../lib/errors.ts'
import { errorLogFields, type Log } from '../lib/log.ts'
import { sleep } from '../lib/time.ts'
import { backoffMs } from '../outbound/settle.ts'
import type { GatewayConnection } from '../turns/gateway-connection.ts'
import type { TurnPolicy } from '../turns/turn-policy.ts'

/** `standby`: another process pulls. `failing`: it is tried again; nothing of it was acknowledged. */
export type SourceState = {
  readonly connection: string
  readonly state: 'standby' | 'pulling' | 'failing'
  readonly code?: string
  /** What the source says of it, where the settings are wrong. */
  readonly problem?: string
  /** In a row, since something was pulled or a pull went on for a while. */
  readonly failures: number
}

export type RunningSources = {
  readonly states: () => readonly SourceState[]
  /** Ends the pulling and gives the holds back; what is under way is committed or comes again. */
  readonly stop: () => Promise<void>
}

export type SourcesDeps = {
  readonly connections: readonly GatewayConnection[]
  readonly turnPolicy: TurnPolicy
  readonly monotonicMs: () => number
  readonly random: () => number
  readonly log: Log
} & SourceHands & { readonly db: Db }

const backoff = { firstMs: 500, maxMs: 30_000 } as const
/** Longer than a connection takes to fail: a pull that goes on for so long has reached its platform, though nothing came. */
const steadyMs = 15_000

export function runPolledSources(deps: SourcesDeps): RunningSources {
  const stopping = new AbortController()
  const states = new Map<string, SourceState>()
  const running = deps.connections
    .filter((at) => at.adapter.ingress?.poll !== undefined)
    .map((at) =>
      pollSourceUntilStopped(deps, at, { stop: stopping.signal, report: (state) => void states.set(at.key, state) }),
    )
  return {
    states: () => [...states.values()],
    async stop() {
      stopping.abort()
      await Promise.all(running)
    },
  }
}

type Watch = { readonly stop: AbortSignal; readonly report: (state: SourceState) => void }

async function pollSourceUntilStopped(
  deps: SourcesDeps,
  at: GatewayConnection,
  { stop, report }: Watch,
): Promise<void> {
  const connection = at.key
  let failures = 0
  let why: Pick<SourceState, 'code' | 'problem'> = {}
  // Tried for hours, a platform that is down would fill the log with one line.
  let logged: string | undefined
  while (!stop.aborted) {
    const claimedAt = deps.monotonicMs()
    try {
      const held = await claimSource(deps.db, connection)
      if (held === undefined) {
        failures = 0
        logged = undefined
        report({ connection, state: 'standby', failures })
        await sleep(deps.turnPolicy.pollMs, stop)
        continue
      }
      // What failed before is not cleared because it is tried again.
      report({ connection, state: 'pulling', failures, ...(failures === 0 ? {} : why) })
      const reportRecovered = (): void => {
        if (logged !== undefined) deps.log.info('source_recovered', { connection, attempt: failures })
        logged = undefined
        failures = 0
        report({ connection, state: 'pulling', failures })
      }
      const hold = { connection, epoch: held.epoch }
      const steady = setTimeout(reportRecovered, steadyMs)
      await storePolledBatches(deps, at, {
        hold,
        cursor: held.cursor ?? undefined,
        claimedAt,
        stop,
        onBatch: reportRecovered,
      }).finally(() => clearTimeout(steady))
      if (!stop.aborted) await sleep(deps.turnPolicy.pollMs, stop)
    } catch (error) {
      if (stop.aborted) return
      failures += 1
      const facts = errorLogFields(error, 'internal')
      const delayMs = backoffMs(failures, backoff, deps.random)
      const reason = JSON.stringify({ ...facts, length: undefined })
      if (reason !== logged) deps.log.warn('source_failed', { connection, ...facts, attempt: failures, delayMs })
      logged = reason
      why = {
        code: facts.code ?? 'internal',
        // Our own words, without anything that was sent.
        ...(isGatewayError(error, 'config_invalid') ? { problem: error.message } : {}),
      }
      report({ connection, state: 'failing', failures, ...why })
      await sleep(delayMs, stop)
    }
  }
}

// Batches are received in order, committed, and only then is the cursor moved and the platform told.

/** What the edge brings: the way in, and what a transport is answered. */
type SourceHands = {
  readonly receive: (at: GatewayConnection, request: RawRequest) => Promise<ReceiveResult>
  readonly answerOf: (at: GatewayConnection, received: ReceiveResult) => TransportAnswer
  /** For what can never be stored: it would come again for ever and keep out all that follows. */
  readonly refusal: (error: GatewayError) => TransportAnswer
}

type PullDeps = {
  readonly turnPolicy: TurnPolicy
  readonly monotonicMs: () => number
  readonly log: Log
} & SourceHands & { readonly db: Db }

export type Pull = {
  readonly hold: SourceHold
  readonly cursor: string | undefined
  readonly claimedAt: number
  readonly stop: AbortSignal
  readonly onBatch: () => void
}

async function storePolledBatches(deps: PullDeps, at: GatewayConnection, pull: Pull): Promise<void> {
  const { hold, cursor, stop, onBatch } = pull
  const kept = startSourceLeaseRenewal(deps, pull)
  const signal = AbortSignal.any([stop, kept.lost])
  try {
    for await (const batch of at.adapter.ingress?.poll?.(cursor, signal) ?? []) {
      const answers: TransportAnswer[] = []
      // One after the other: what was said first is stored first.
      for (const request of batch.requests) {
        kept.lost.throwIfAborted()
        answers.push(await receivePolledRequest(deps, at, request))
      }
      if (!(await storeSourceCursor(deps.db, hold, batch.cursor))) throw pullLeaseLostError()
      await batch.acknowledge?.(answers)
      onBatch()
      if (signal.aborted) break
    }
    kept.lost.throwIfAborted()
  } finally {
    kept.end()
    // The next process need not wait; if it was lost or cannot be given back, its time runs out.
    await releaseSource(deps.db, hold).catch(() => false)
  }
}

async function receivePolledRequest(
  deps: PullDeps,
  at: GatewayConnection,
  request: RawRequest,
): Promise<TransportAnswer> {
  try {
    const received = await deps.receive(at, request)
    // It comes again with all that follows it; what was stored before it is a duplicate then.
    if (received.kind === 'later') throw pulledRequestPostponedError(received.reason)
    // What is beyond the share of people who are not admitted stays where it was fetched from, and keeps out nothing that follows.
    return deps.answerOf(at, received)
  } catch (error) {
    if (!isGatewayError(error, 'storage_refused_row')) throw error
    deps.log.error('source_skipped', { connection: at.key, ...errorLogFields(error, 'internal') })
    return deps.refusal(error)
  }
}

/** Renewed in time, and known by our own clock to be over before another process may pull. */
function startSourceLeaseRenewal(
  { db, turnPolicy: { leaseMs }, monotonicMs }: PullDeps,
  { hold, claimedAt }: Pull,
): { readonly lost: AbortSignal; readonly end: () => void } {
  const lost = new AbortController()
  let renewedAt = claimedAt
  const renewSourceLease = async (): Promise<void> => {
    const askedAt = monotonicMs()
    if (await renewSource(db, hold)) renewedAt = askedAt
    else lost.abort(pullLeaseLostError())
  }
  const timer = setInterval(() => {
    if (monotonicMs() - renewedAt >= leaseMs * 0.6) lost.abort(pullLeaseLostError())
    else renewSourceLease().catch(() => {})
  }, leaseMs / 5)
  return { lost: lost.signal, end: () => clearInterval(timer) }
}

function pulledRequestPostponedError(reason: string): GatewayError {
  const message = `[sources] what came cannot be judged now (${reason}); it is fetched again`
  return new GatewayError('request_postponed', message, { retryable: true })
}

function pullLeaseLostError(): GatewayError {
  return new GatewayError('lease_lost', '[sources] another process pulls from here now; this one waits')
}
