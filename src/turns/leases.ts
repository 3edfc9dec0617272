// Leases of the lanes this process holds: renewed together, and known by our own clock to be valid. A turn runs under the lease of
// its lane until its deadline: the signal that ends it, and the fetch that ends with it, stand here too.
//
//   held      renewed a short while ago: effects may begin
//   expired   not renewed in time, because the database was away or this process was frozen; the lane may still be ours, nothing begins
//             until it is renewed under the same epoch, and what is in hand is kept
//   lost      the database says that another epoch has the lane: what runs under it stops

import type { Hold, OpenTurn } from '../db/turn-rows.ts'
import { GatewayError, isGatewayError } from '../lib/errors.ts'
import { errorLogFields, type Log } from '../lib/log.ts'
import type { TurnPolicy } from './turn-policy.ts'

export type Lease = {
  /** Aborts when the lease is lost; effects in flight must stop then. */
  readonly signal: AbortSignal
  /** Whether the lease is safely ours, by our own clock. */
  readonly isHeld: () => boolean
  /** Throws unless it is. Called right before every effect. */
  readonly assertHeld: () => void
  /** Resolves when it is, at once or after a renewal; rejects when it is lost or ended. Waited for before an effect begins. */
  readonly untilHeld: () => Promise<void>
  readonly end: () => void
}

export type LeaseKeeper = {
  readonly keep: (hold: Hold, claimedAt: number) => Lease
  /** Milliseconds since leases were last renewed, or since it was seen that there are none. */
  readonly ageMs: () => number
  readonly stop: () => void
}

export type LeaseKeeperDeps = {
  /** Renews these holds together; answers whose are still ours. */
  readonly renew: (holds: readonly Hold[]) => Promise<ReadonlySet<string>>
  readonly leaseMs: number
  /** Milliseconds that never run backwards and go on while the process is stopped. */
  readonly monotonicMs: () => number
  readonly log: Log
}

type HeldLease = {
  readonly hold: Hold
  readonly abort: AbortController
  renewedAt: number
  /** Those who wait for a renewal. */
  waiting: PromiseWithResolvers<void>[]
}

type HeldLeases = {
  readonly all: Map<string, HeldLease>
  readonly isSafe: (entry: HeldLease) => boolean
}

export function createLeaseKeeper(deps: LeaseKeeperDeps): LeaseKeeper {
  const { leaseMs, monotonicMs } = deps
  // Stop early: what we start now must be over before another process may take the lane over.
  const safeMs = leaseMs * 0.6
  const isLeaseSurelyHeld = (entry: HeldLease): boolean =>
    !entry.abort.signal.aborted && monotonicMs() - entry.renewedAt < safeMs
  const all = new Map<string, HeldLease>()
  const renewals = startRenewals(deps, { all, isSafe: isLeaseSurelyHeld })
  return {
    keep(hold, claimedAt) {
      const entry: HeldLease = { hold, abort: new AbortController(), renewedAt: claimedAt, waiting: [] }
      // Claimed anew by this very process: the hold before it is over.
      const before = all.get(hold.conversationId)
      if (before !== undefined) markLeaseLost(all, before)
      all.set(hold.conversationId, entry)
      return {
        signal: entry.abort.signal,
        isHeld: () => isLeaseSurelyHeld(entry),
        assertHeld() {
          if (!isLeaseSurelyHeld(entry)) throw leaseLostError()
        },
        async untilHeld() {
          if (isLeaseSurelyHeld(entry)) return
          if (all.get(hold.conversationId) !== entry) throw leaseLostError()
          const waiting = Promise.withResolvers<void>()
          entry.waiting.push(waiting)
          renewals.soon()
          await waiting.promise
        },
        end() {
          if (all.get(hold.conversationId) === entry) all.delete(hold.conversationId)
          rejectLeaseWaiters(entry)
        },
      }
    },
    ageMs: renewals.ageMs,
    stop() {
      renewals.stop()
      const left = [...all.values()]
      all.clear()
      for (const entry of left) rejectLeaseWaiters(entry)
    },
  }
}

type Renewals = Pick<LeaseKeeper, 'ageMs' | 'stop'> & {
  /** A step waits: asks before the next quarter of a lease is over. */
  readonly soon: () => void
}

/** A connection that hangs must not keep the others from renewing; more than this would only pile up. */
const maxRounds = 4

function startRenewals({ renew, leaseMs, monotonicMs, log }: LeaseKeeperDeps, { all, isSafe }: HeldLeases): Renewals {
  let lastRound = monotonicMs()
  let rounds = 0
  let retry: ReturnType<typeof setTimeout> | undefined
  const renewLeases = async (): Promise<void> => {
    const asked = [...all.values()]
    const askedAt = monotonicMs()
    const held = await renew(asked.map((entry) => entry.hold))
    lastRound = monotonicMs()
    for (const entry of asked) {
      if (all.get(entry.hold.conversationId) !== entry) continue
      if (!held.has(entry.hold.conversationId)) markLeaseLost(all, entry)
      else {
        entry.renewedAt = Math.max(entry.renewedAt, askedAt)
        if (isSafe(entry)) resolveLeaseWaiters(entry)
      }
    }
  }
  const runRenewalRound = async (isRetry: boolean): Promise<void> => {
    if (all.size === 0) lastRound = monotonicMs()
    if (all.size === 0 || rounds >= maxRounds) return
    rounds += 1
    try {
      await renewLeases()
    } catch (error) {
      if (!isRetry) log.warn('lease_renewal_failed', { ...errorLogFields(error, 'internal'), held: all.size })
    } finally {
      rounds -= 1
    }
    if ([...all.values()].some((entry) => !isSafe(entry))) retryRenewalSoon()
  }
  const retryRenewalSoon = (): void => {
    retry ??= setTimeout(
      () => {
        retry = undefined
        void runRenewalRound(true)
      },
      Math.min(1_000, leaseMs / 16),
    )
  }
  const timer = setInterval(() => void runRenewalRound(false), leaseMs / 4)
  return {
    soon: retryRenewalSoon,
    ageMs: () => monotonicMs() - lastRound,
    stop() {
      clearInterval(timer)
      clearTimeout(retry)
    },
  }
}

function markLeaseLost(all: Map<string, HeldLease>, entry: HeldLease): void {
  if (all.get(entry.hold.conversationId) === entry) all.delete(entry.hold.conversationId)
  entry.abort.abort(leaseLostError())
  rejectLeaseWaiters(entry)
}

function resolveLeaseWaiters(entry: HeldLease): void {
  const waiting = entry.waiting
  entry.waiting = []
  for (const each of waiting) each.resolve()
}

function rejectLeaseWaiters(entry: HeldLease): void {
  const waiting = entry.waiting
  entry.waiting = []
  for (const each of waiting) each.reject(leaseLostError())
}

function leaseLostError(): GatewayError {
  return new GatewayError('lease_lost', '[sessions] the lane has moved on to another holder; this turn stops here')
}

// The abort signal of a turn: it ends with its lease, or at its deadline, whatever its agent does.

/** A turn that hung once gets less time for its next try. */
export function turnDeadlineMs(policy: Pick<TurnPolicy, 'deadlineMs'>, turn: Pick<OpenTurn, 'isHung'>): number {
  return turn.isHung === true ? policy.deadlineMs / 4 : policy.deadlineMs
}

type TurnSignal = {
  readonly signal: AbortSignal
  /** Lets go of both: a deadline that is no longer needed would stay in memory until it passes. */
  readonly end: () => void
}

export function openTurnSignal(lease: AbortSignal, deadlineMs: number): TurnSignal {
  const controller = new AbortController()
  const abortOnLeaseEnd = (): void => controller.abort(lease.reason)
  const abortOnDeadline = (): void => controller.abort(new DOMException('the turn took too long', 'TimeoutError'))
  const timer = setTimeout(abortOnDeadline, deadlineMs)
  if (lease.aborted) abortOnLeaseEnd()
  else lease.addEventListener('abort', abortOnLeaseEnd, { once: true })
  return {
    signal: controller.signal,
    end() {
      clearTimeout(timer)
      lease.removeEventListener('abort', abortOnLeaseEnd)
    },
  }
}

// Work is abandoned when the signal aborts, since an agent may ignore it.

/** An agent that ignores its signal must not keep its lane: the turn ends without it. */
export async function runUntilAborted<T>(signal: AbortSignal, work: () => Promise<T> | T): Promise<T> {
  if (signal.aborted) throw abortReason(signal)
  const aborted = Promise.withResolvers<never>()
  const rejectOnAbort = (): void => aborted.reject(abortReason(signal))
  signal.addEventListener('abort', rejectOnAbort, { once: true })
  try {
    return await Promise.race([Promise.resolve().then(work), aborted.promise])
  } finally {
    signal.removeEventListener('abort', rejectOnAbort)
  }
}

function abortReason(signal: AbortSignal): unknown {
  const { reason } = signal
  return isGatewayError(reason)
    ? reason
    : new GatewayError('turn_deadline', '[agent] the turn took longer than its deadline')
}

// fetch with a timeout for steps: a server that stays silent ends the request with an error, instead of holding its turn until the
// deadline.

/**
 * `silenceMs`: the longest wait for the head of the response, and then for each piece of its body that is asked for. Not
 * finite: as patient as `send` itself.
 */
export function createTimedFetch(send: typeof fetch, silenceMs: number): typeof fetch {
  if (!Number.isFinite(silenceMs)) return send
  return async (input, init) => {
    const silence = new AbortController()
    const rejectAfterSilence = <T>(answer: Promise<T>): Promise<T> => {
      const timer = setTimeout(() => silence.abort(fetchSilenceError(silenceMs)), silenceMs)
      return answer
        .catch((error: unknown) => {
          throw silence.signal.aborted ? silence.signal.reason : error
        })
        .finally(() => clearTimeout(timer))
    }
    const given = init?.signal ?? (input instanceof Request ? input.signal : undefined)
    const signal = given == null ? silence.signal : AbortSignal.any([given, silence.signal])
    const response = await rejectAfterSilence(send(input, { ...init, signal }))
    return response.body === null ? response : withSilenceLimitedBody(response, response.body, rejectAfterSilence)
  }
}

/** Counts only while a piece is waited for: an agent that takes its time between two pieces is not the server's silence. */
function withSilenceLimitedBody(
  response: Response,
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  listen: <T>(answer: Promise<T>) => Promise<T>,
): Response {
  const reader = body.getReader()
  const memberLines = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const piece = await listen(reader.read())
        if (piece.done) controller.close()
        else controller.enqueue(piece.value)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  const { status, statusText, headers, url, redirected } = response
  const copy = new Response(memberLines, { status, statusText, headers })
  return Object.defineProperties(copy, { url: { value: url }, redirected: { value: redirected } })
}

function fetchSilenceError(ms: number): GatewayError {
  return new GatewayError(
    'fetch_timeout',
    `[agent] a server was silent for ${ms} ms in the middle of a step; raise turns.fetchTimeoutMs if it needs longer`,
    { retryable: true },
  )
}
