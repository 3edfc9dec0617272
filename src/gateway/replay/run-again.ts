// Hops 3 to 8 of a replay: read, admitted, merged, run and rendered by today's code, up to the commit that never comes.
import { GatewayError, isGatewayError, noMeter } from '../../contract/index.ts'
import type { Stored } from '../../db/replay.ts'
import type { HeldLane, OpenTurn, TurnEnd, WaitingMessage } from '../../db/turn-rows.ts'
import type { Lease } from '../../sessions/lease-keeper.ts'
import { type Admission, planTurn, type TurnPlan } from '../../sessions/plan-turn.ts'
import { addressRows } from '../address-lane.ts'
import { admissions } from '../admissions.ts'
import type { GatewayConnection, GatewayDeps } from '../deps.ts'
import { answeredEnd, deadEnd } from '../end-turn.ts'
import { begun, type ReadyTurn } from '../prepare-turn.ts'
import { runAgent } from '../run-turn.ts'
import { createTurnErrors } from '../turn-errors.ts'
import type { Account } from './line-diff.ts'
import { readAgain } from './read-again.ts'
import { createRecordedJournal, type StepReport } from './recorded-journal.ts'

export type Replayed = { readonly today: Account; readonly steps: StepReport; readonly notes: readonly string[] }

type Ready = { readonly ready: ReadyTurn; readonly notes: readonly string[] }
type Ended = { readonly ended: Account; readonly notes: readonly string[] }

export async function runAgain(deps: GatewayDeps, at: GatewayConnection, stored: Stored): Promise<Replayed> {
  const prepared = await prepareAgain(deps, at, stored)
  const stop = new AbortController()
  const recorded = createRecordedJournal(stored.steps, (reason) => stop.abort(reason))
  if ('ended' in prepared) return { today: prepared.ended, steps: recorded.report(), notes: prepared.notes }
  const safeDeps: GatewayDeps = {
    ...deps,
    journal: recorded.journal,
    transcripts: {
      window: async (_, { around }) => listLastAmbient(stored.history, around),
      // What the session holds today is what came of the turn, and not what it began with.
      sharedState: async () => undefined,
    },
    fenceFetch: () => refuseToFetch,
    guardedFetch: { pins: true, fetch: refuseToFetch },
    runs: { ...deps.runs, append: async () => ({ isHeld: false, stoppedBy: null }) },
    runWatch: { watch: () => () => {}, stop: () => {} },
    notify: () => {},
    // What it denies again was written down, and counted, by the run that is told again.
    audit: { ...deps.audit, record: async () => {} },
    meter: noMeter,
    // Files were kept by the run that is told again; what today's would keep, its journal does not have.
    attachments: { ...deps.attachments, store: refuseToStore, use: async () => {} },
    // A replay looks at what waits and decides nothing.
    pendingActions: { ...deps.pendingActions, resolve: refuseToDecide },
    toolRequests: { ...deps.toolRequests, answer: refuseToDecide },
  }
  // What finishes a growing reply may be written otherwise than what stands alone.
  const live = stored.hasLive ? { live: { clientId: '', text: '' } } : {}
  const ready = { ...prepared.ready, ...live, steps: recorded.log }
  const today = await runToItsEnd(safeDeps, ready, stop.signal)
  return { today, steps: recorded.report(), notes: prepared.notes }
}

/** All ambient context is there; the run was shown the last of it. */
function listLastAmbient(history: Stored['history'], around: number): Stored['history'] {
  const isAmbientEnvelope = ({ metadata }: Stored['history'][number]): boolean => metadata['overheard'] === true
  const shown = new Set(history.filter(isAmbientEnvelope).slice(-around || history.length))
  return history.filter((line) => !isAmbientEnvelope(line) || shown.has(line))
}

async function prepareAgain(deps: GatewayDeps, at: GatewayConnection, stored: Stored): Promise<Ready | Ended> {
  const notes: string[] = []
  const rows: WaitingMessage[] = []
  for (const member of stored.members) {
    const read = await readAgain(deps, at, member)
    if (read.kind === 'remains') return { ended: accountWithoutCalls(read.outcome, read.reason), notes }
    if (read.note !== undefined) notes.push(`message ${member.id}: ${read.note}`)
    rows.push(read.row)
  }
  const lane = createReplayLane(deps, stored, addressRows(at, rows.at(-1)?.agent ?? stored.agent, rows))
  if (stored.signal !== null) {
    const turn = createReplayTurn(deps, stored, lane, null)
    return { ready: { lane, at, turn, ...begun(turn.id), members: [], signal: stored.signal, edit: null }, notes }
  }
  // A replay is no visit of its chain.
  const chains = { visit: async () => false, turnsWith: async () => 0 }
  const decided = await admissions({ ...deps, chains }, at, lane)
  const plan = planTurn(lane, decided, deps.turnPolicy.merge)
  if (plan.kind !== 'run') return { ended: withoutTurn(plan, decided), notes }
  const taken = plan.members.reduce((sum, member) => sum + 1 + member.edits.length, 0)
  if (taken < rows.length) notes.push(`today ${taken} of its ${rows.length} messages would share a turn`)
  const replyTo = plan.members.at(-1)?.row.replyTo ?? lane.replyTo
  const turn = createReplayTurn(deps, stored, lane, plan.principal)
  return {
    ready: {
      lane: { ...lane, replyTo },
      at,
      turn,
      ...begun(turn.id),
      members: [...plan.members],
      signal: null,
      edit: null,
    },
    notes,
  }
}

/** A plan that runs no agent: what would become of the message instead. */
function withoutTurn(
  plan: Exclude<TurnPlan, { kind: 'run' }>,
  decided: Awaited<ReturnType<typeof admissions>>,
): Account {
  switch (plan.kind) {
    case 'settle':
      return accountWithoutCalls(plan.dispositions[0]?.state ?? 'refused', plan.dispositions[0]?.reason ?? null)
    case 'amend':
      return accountWithoutCalls('merged', 'amendment')
    case 'door':
      return replayAccessChallenge(decided.get(plan.entry.row.id))
    case 'empty':
      throw new GatewayError('conflict', '[replay] the messages of this turn are gone; there is nothing to run')
  }
}

/** What a sender without access is told is the gateway's word, not the agent's. */
function replayAccessChallenge(admission: Admission | undefined): Account {
  return admission?.kind === 'held'
    ? accountWithoutCalls('held', 'pairing_required')
    : accountWithoutCalls('refused', admission?.kind === 'refused' ? admission.reason : null)
}

async function runToItsEnd(deps: GatewayDeps, ready: ReadyTurn, stop: AbortSignal): Promise<Account> {
  // No other process wants this turn: the lease only carries the stop.
  const lease: Lease = {
    signal: stop,
    isHeld: () => true,
    assertHeld: () => {},
    end: () => {},
    untilHeld: async () => {},
  }
  try {
    const result = await runAgent(deps, ready, {
      lease,
      isStopping: () => false,
      show() {},
      errors: createTurnErrors(deps, ready),
    })
    return turnEndAccount(await answeredEnd(deps, ready, result, 0))
  } catch (error) {
    if (isGatewayError(error, 'replay_stopped')) return accountWithoutCalls('stopped', error.message)
    if (isGatewayError(error, 'agent_unknown')) throw error
    return turnEndAccount(await deadEnd(deps, ready, isGatewayError(error) ? error.code : 'agent_failed'))
  }
}

function turnEndAccount({ state, reason, calls, timers }: TurnEnd): Account {
  return {
    outcome: state,
    reason,
    calls: calls.map(({ purpose, primary, call }) => ({ purpose, primary, call })),
    timers: timers.map((timer) => timer.name).toSorted(),
  }
}

function accountWithoutCalls(outcome: string, reason: string | null): Account {
  return { outcome, reason, calls: [], timers: [] }
}

function createReplayLane(deps: GatewayDeps, stored: Stored, messages: readonly WaitingMessage[]): HeldLane {
  const { tenant, connection, replyTo, sessionId, signal } = stored
  return {
    conversationId: stored.conversationId ?? deps.newId(),
    epoch: 0,
    tenant,
    connection,
    agent: messages.at(-1)?.agent ?? stored.agent,
    sessionId,
    idleMs: 0,
    // It was answered here, or would have been.
    takesPart: true,
    replyTo,
    openTurn: null,
    messages,
    signal,
  }
}

/** The turn it had, or the one it would have had. */
function createReplayTurn(
  deps: GatewayDeps,
  { turn, members }: Stored,
  lane: HeldLane,
  principal: string | null,
): OpenTurn {
  if (turn !== null) return { ...turn, principal, deaths: 0, outageMs: null, taskId: null }
  const lead = members.at(-1)
  return {
    id: deps.newId(),
    kind: 'messages',
    attempt: 1,
    failures: 0,
    deaths: 0,
    sessionId: lane.sessionId ?? deps.newId(),
    parentTurn: lead?.parentTurn ?? null,
    principal,
    runId: lead?.message?.channel?.run_id ?? null,
    traceId: lead?.traceId ?? '',
    outageMs: null,
    taskId: null,
  }
}

function refuseToDecide(): Promise<never> {
  return Promise.reject(new GatewayError('replay_stopped', '[replay] nothing is decided during a replay'))
}

function refuseToStore(): Promise<never> {
  return Promise.reject(new GatewayError('replay_stopped', '[replay] no file is stored during a replay'))
}

function refuseToFetch(): Promise<never> {
  return Promise.reject(new GatewayError('replay_stopped', '[replay] nothing leaves the gateway during a replay'))
}
