// One hold of one source: batches are received in order, committed, and only then is the place moved and the platform told.
import {
  errorLogFields,
  GatewayError,
  isGatewayError,
  type RawRequest,
  type TransportAnswer,
} from '../../contract/index.ts'
import type { SourceHold, SourceStore } from '../../db/sources.ts'
import type { GatewayConnection, GatewayDeps } from '../deps.ts'
import type { Received } from '../receive.ts'

/** What the edge brings: the way in, and what a transport is answered. */
export type SourceHands = {
  readonly receive: (at: GatewayConnection, arrival: RawRequest) => Promise<Received>
  readonly answerOf: (at: GatewayConnection, received: Received) => TransportAnswer
  /** For what can never be stored: it would come again for ever and keep out all that follows. */
  readonly refusal: (error: GatewayError) => TransportAnswer
}

type PullDeps = Pick<GatewayDeps, 'turnPolicy' | 'monotonicMs' | 'log'> &
  SourceHands & { readonly sources: SourceStore }

export type Pull = {
  readonly hold: SourceHold
  readonly cursor: string | undefined
  readonly claimedAt: number
  readonly stop: AbortSignal
  readonly onBatch: () => void
}

export async function pullSource(deps: PullDeps, at: GatewayConnection, pull: Pull): Promise<void> {
  const { hold, cursor, stop, onBatch } = pull
  const kept = keepHold(deps, pull)
  const signal = AbortSignal.any([stop, kept.lost])
  try {
    for await (const batch of at.adapter.source?.(cursor, signal) ?? []) {
      const answers: TransportAnswer[] = []
      // One after the other: what was said first is stored first.
      for (const arrival of batch.arrivals) {
        kept.lost.throwIfAborted()
        answers.push(await acceptPulled(deps, at, arrival))
      }
      if (!(await deps.sources.advance(hold, batch.cursor))) throw holdLost()
      await batch.acknowledge?.(answers)
      onBatch()
      if (signal.aborted) break
    }
    kept.lost.throwIfAborted()
  } finally {
    kept.end()
    // The next process need not wait; if it was lost or cannot be given back, its time runs out.
    await deps.sources.release(hold).catch(() => false)
  }
}

async function acceptPulled(deps: PullDeps, at: GatewayConnection, arrival: RawRequest): Promise<TransportAnswer> {
  try {
    const received = await deps.receive(at, arrival)
    // It comes again with all that follows it; what was stored before it is a duplicate then.
    if (received.kind === 'later') throw postponed(received.reason)
    // What is beyond the share of people who are not admitted stays where it was fetched from, and keeps out nothing that follows.
    return deps.answerOf(at, received)
  } catch (error) {
    if (!isGatewayError(error, 'storage_refused_row')) throw error
    deps.log.error('source_skipped', { connection: at.key, ...errorLogFields(error, 'internal') })
    return deps.refusal(error)
  }
}

/** Renewed in time, and known by our own clock to be over before another process may pull. */
function keepHold(
  { sources, turnPolicy: { leaseMs }, monotonicMs }: PullDeps,
  { hold, claimedAt }: Pull,
): { readonly lost: AbortSignal; readonly end: () => void } {
  const lost = new AbortController()
  let renewedAt = claimedAt
  const renewSourceLease = async (): Promise<void> => {
    const askedAt = monotonicMs()
    if (await sources.renew(hold)) renewedAt = askedAt
    else lost.abort(holdLost())
  }
  const timer = setInterval(() => {
    if (monotonicMs() - renewedAt >= leaseMs * 0.6) lost.abort(holdLost())
    else renewSourceLease().catch(() => {})
  }, leaseMs / 5)
  return { lost: lost.signal, end: () => clearInterval(timer) }
}

function postponed(reason: string): GatewayError {
  const message = `[sources] what came cannot be judged now (${reason}); it is fetched again`
  return new GatewayError('arrival_postponed', message, { retryable: true })
}

function holdLost(): GatewayError {
  return new GatewayError('lease_lost', '[sources] another process pulls from here now; this one waits')
}
