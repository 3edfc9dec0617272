// The journey. receive() is hops 2-4 and ends with a stored row; drain() is hops 5-8 and starts from any stored row,
// so a crash resumes instead of forgetting.
//
//   bytes -> verify -> normalize -> accept --commit--> 2xx
//   lane  -> take turn -> identify, admit, merge -> run -> render --commit--> outbox -> deliver -> settle
import type { RawArrival, WatchResult } from './contract/index.ts'
import type { GatewayConnection, GatewayDeps } from './gateway/deps.ts'
import { type Received, receive } from './gateway/receive.ts'
import { resubmit } from './gateway/resubmit.ts'
import { takeTurn } from './gateway/take-turn.ts'
import { watch } from './gateway/watch.ts'
import { dispatchLane } from './outbox/dispatch.ts'
import { type Pump, runPump } from './pump.ts'

export type Gateway = {
  readonly connections: readonly GatewayConnection[]
  readonly receive: (at: GatewayConnection, arrival: RawArrival) => Promise<Received>
  /** Waits for what becomes of a stored message. A caller that goes away loses nothing. */
  readonly watch: (inboxId: string, timeoutMs: number) => Promise<WatchResult>
  /** A dead message is queued again; remains that could not be read are read again. False: nothing to do. */
  readonly resubmit: (inboxId: string) => Promise<boolean>
  /** Works until told to stop (or until idle). Stopping ends turns at their next journal step. */
  readonly drain: (options: DrainOptions) => Promise<void>
}

export type DrainOptions = { readonly isStopping: () => boolean; readonly untilIdle?: boolean }

export function createGateway(deps: GatewayDeps): Gateway {
  return {
    connections: deps.connections,
    receive: (at, arrival) => receive(deps, at, arrival),
    watch: (inboxId, timeoutMs) => watch(deps, inboxId, timeoutMs),
    resubmit: (inboxId) => resubmit(deps, inboxId),
    async drain({ isStopping, untilIdle = false }) {
      const shared = { isStopping, untilIdle, pollMs: deps.turnPolicy.pollMs, batch: 32, onError: logError(deps) }
      const timers = () => runPump(timerPump(deps, shared))
      const turns = () => runPump(turnPump(deps, shared))
      const sends = () => runPump(sendPump(deps, shared))
      // Until idle they take turns, since each leaves work for the next; otherwise they run side by side.
      if (untilIdle) for (const pump of [timers, turns, sends]) await pump()
      else await Promise.all([timers(), turns(), sends()])
    },
  }
}

type Shared = Pick<Pump<unknown>, 'isStopping' | 'untilIdle' | 'pollMs' | 'batch' | 'onError'>

function turnPump(deps: GatewayDeps, shared: Shared): Pump<Parameters<typeof takeTurn>[1]> {
  return {
    ...shared,
    slots: deps.turnPolicy.slots,
    bell: deps.bells.turns,
    claim: timed(deps, deps.turns.claim),
    run: (claimed) => takeTurn(deps, claimed, shared.isStopping),
  }
}

function sendPump(
  deps: GatewayDeps,
  shared: Shared,
): Pump<{ lane: Parameters<typeof dispatchLane>[1]; claimedAt: number }> {
  const dispatch = {
    ...deps,
    policy: deps.settlePolicy,
    leaseMs: deps.turnPolicy.leaseMs,
    adapterFor: adapterFor(deps),
  }
  return {
    ...shared,
    slots: deps.turnPolicy.sendSlots,
    bell: deps.bells.sends,
    claim: timed(deps, deps.outbox.claim),
    async run({ lane, claimedAt }) {
      await dispatchLane(dispatch, lane, claimedAt)
      deps.bells.ends.ring()
    },
  }
}

/** Timers become signals in their lanes; the rest is an ordinary turn. */
function timerPump(deps: GatewayDeps, shared: Shared): Pump<never> {
  return {
    ...shared,
    slots: shared.batch,
    bell: deps.bells.timers,
    async claim(limit) {
      for (let fired = limit; fired === limit && !shared.isStopping(); ) {
        fired = await deps.signals.fireDue(limit)
        if (fired > 0) deps.bells.turns.ring()
      }
      return []
    },
    run: async () => {},
  }
}

/** A lease counts from before it was asked for: what the claim itself took is already spent. */
function timed<Lane>(deps: GatewayDeps, claim: (limit: number) => Promise<readonly Lane[]>) {
  return async (limit: number) => {
    const claimedAt = deps.monotonicMs()
    return (await claim(limit)).map((lane) => ({ lane, claimedAt }))
  }
}

function adapterFor(deps: GatewayDeps) {
  return (tenant: string, connection: string) =>
    deps.connections.find((each) => each.key === connection && each.connection.tenant === tenant)?.adapter
}

function logError(deps: GatewayDeps): (error: unknown) => void {
  return (error) => deps.log.error('drain_failed', { error: error instanceof Error ? error.message : 'unknown' })
}
