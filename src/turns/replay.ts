// `parley replay`: a stored message once more through today's code and agent, its effects answered from the journal. Writes
// nothing, sends nothing, and says how what would be sent differs from what was.

import { createStepLog, type StepLog } from '../agents/steps.ts'
import { noMeter } from '../contract/metrics.ts'
import type { ValidationScope } from '../contract/validate-message.ts'
import { createDbWithoutChainVisits } from '../db/call-chains.ts'
import type { JournalStore, RecordedStep } from '../db/journal.ts'
import { createReplayDb, findStoredTurnForReplay, type Stored } from '../db/replay.ts'
import type { HeldLane, OpenTurn, TurnEnd, WaitingMessage } from '../db/turn-rows.ts'
import { GatewayError, isGatewayError } from '../lib/errors.ts'
import type { IdSource } from '../lib/ids.ts'
import { admitWaitingMessages } from './admit.ts'
import { buildAnsweredTurnEnd, buildDeadTurnEnd } from './end-turn.ts'
import type { GatewayConnection } from './gateway-connection.ts'
import type { Lease } from './leases.ts'
import { type Admission, planTurn, type TurnPlan } from './plan-turn.ts'
import { addressMessagesToAgent } from './prepare-turn.ts'
import {
  type Account,
  describeReplayOutcome,
  diffLines,
  formatSortedJson,
  normalizeStoredMessageAgain,
} from './replay-diff.ts'
import { createAnonymizedFixture, type Fixture, type FixtureRequest } from './replay-fixture.ts'
import { createTurnErrorReporter } from './run-log.ts'
import { runAgent } from './run-turn.ts'
import type { TurnServices } from './services.ts'
import type { TurnContext } from './turn-context.ts'

export type ReplayRequest = { readonly fixture: FixtureRequest }

export type ReplayReport = {
  readonly turnId: string | null
  readonly inboxIds: readonly string[]
  readonly connection: string
  readonly agent: string
  readonly isSame: boolean
  /** Lines with ' ', '-' (before) or '+' (today) before them. */
  readonly diff: readonly string[]
  readonly before: Account
  readonly today: Account
  readonly steps: StepReport
  /** How the message was read, and what of it could not be tried. */
  readonly notes: readonly string[]
  readonly fixture?: Fixture
}

export async function replay(deps: ReplayServices, id: string, { fixture }: ReplayRequest): Promise<ReplayReport> {
  const stored = await findStoredTurnForReplay(deps.db, id, deps.turnPolicy.historyHead, deps.turnPolicy.historyTail)
  if (stored === undefined)
    throw new GatewayError('not_found', '[replay] no stored message, turn or delivery has this id')
  const at = findReplayConnection(deps, stored)
  requireAgentTurn(stored)
  const before = recordedOutcomeOfTurn(stored)
  const { today, steps, notes } = await runTurnAgain(deps, at, stored)
  return {
    turnId: stored.turn?.id ?? null,
    inboxIds: stored.members.map((member) => member.id),
    connection: stored.connection,
    agent: stored.agent,
    isSame: formatSortedJson(before) === formatSortedJson(today),
    diff: diffLines(describeReplayOutcome(before), describeReplayOutcome(today)),
    before,
    today,
    steps,
    notes,
    ...(fixture === 'none' ? {} : { fixture: createAnonymizedFixture(stored, fixture) }),
  }
}

function findReplayConnection(
  deps: { readonly connections: readonly GatewayConnection[] },
  { tenant, connection }: Stored,
): GatewayConnection {
  const at = deps.connections.find((each) => each.key === connection && each.connection.tenant === tenant)
  if (at !== undefined) return at
  throw new GatewayError(
    'conflict',
    `[replay] connection ${connection} is not configured here; replay where parley.config.ts or the environment names it`,
  )
}

function requireAgentTurn({ turn }: Stored): void {
  if (turn?.kind === 'amendment')
    throw new GatewayError('conflict', '[replay] an edit of an earlier message: it was recorded, and no agent ran')
  if (turn?.kind === 'control')
    throw new GatewayError('conflict', '[replay] a command for the gateway itself: no agent ran')
  if (turn?.state === 'split')
    throw new GatewayError('conflict', '[replay] this turn failed and its messages ran one by one; replay each of them')
}

/** What came of it, in the words the replay uses: what the vendor did with the answer is not the agent's doing. */
function recordedOutcomeOfTurn({ turn, members, calls, timers }: Stored): Account {
  const sent = { calls, timers }
  // In an access challenge no agent ran, and what was said was the gateway's.
  if (turn === null || turn.kind === 'access_challenge') {
    const [first] = members
    return { ...sent, calls: [], outcome: first?.state ?? 'unknown', reason: first?.reason ?? null }
  }
  const isDelivery = turn.state === 'dead' && turn.reason?.startsWith('delivery_') === true
  if (isDelivery || turn.state === 'replied' || turn.state === 'answered')
    return { ...sent, outcome: 'replied', reason: null }
  return { ...sent, outcome: turn.state, reason: turn.state === 'dead' ? turn.reason : null }
}

// In a replay the journal answers again what was finished, and nothing is ever begun.

type StepReport = {
  /** Answered from the journal, in the order they were asked for. */
  readonly replayed: readonly string[]
  /** Not in the journal: today's agent would do this. The replay ends there. */
  readonly wouldRun: readonly string[]
  /** In the journal, and not asked for today. */
  readonly unused: readonly string[]
}

export type RecordedJournal = {
  readonly journal: JournalStore
  readonly log: StepLog
  readonly report: () => StepReport
}

/** `stop` is called with the reason before the step is refused, so that no agent can answer past it. */
function createRecordedJournal(steps: readonly RecordedStep[], stop: (reason: GatewayError) => void): RecordedJournal {
  const replayed: string[] = []
  const wouldRun: string[] = []
  const stopAtUnrecordedStep = (step: string): never => {
    wouldRun.push(step)
    const reason = notRecordedError(steps, step)
    stop(reason)
    throw reason
  }
  const log: StepLog = {
    ...createStepLog(steps),
    /** Asked for every step that is about to run: what is not there ends the replay, before anything begins. */
    reach(step) {
      const found = steps.find((each) => each.step === step)
      if (found === undefined || found.state === 'undone' || (!found.isEffect && found.state !== 'finished'))
        return stopAtUnrecordedStep(step)
      replayed.push(step)
      return found
    },
  }
  const journal: JournalStore = {
    async begin({ step }, { isIdempotent }) {
      replayed.splice(replayed.indexOf(step), 1)
      if (isIdempotent) return stopAtUnrecordedStep(step)
      replayed.push(step)
      return { kind: 'unknown', error: steps.find((each) => each.step === step)?.error ?? null }
    },
    finish: async () => true,
    record: async () => true,
    past: async (turnId) => ({ journalTurn: turnId, steps: [], view: null, isErased: false }),
    // A replay tells remote agents nothing.
    remoteSteps: async () => [],
  }
  const isStepUnused = ({ step }: RecordedStep): boolean => !replayed.includes(step) && !wouldRun.includes(step)
  return {
    journal,
    log,
    report: () => ({ replayed, wouldRun, unused: [...new Set(steps.filter(isStepUnused).map(({ step }) => step))] }),
  }
}

function notRecordedError(steps: readonly RecordedStep[], step: string): GatewayError {
  const name = step.split(':')[0]
  const isKnownByName = steps.some((each) => each.step.split(':')[0] === name)
  const why = isKnownByName ? 'the journal has it with other arguments only' : 'the journal does not have it'
  return new GatewayError('replay_stopped', `[replay] would run: ${step}; ${why}`, { details: { step } })
}

// Normalized, admitted, merged, run and rendered by today's code, up to the commit that never comes.

export type Replayed = { readonly today: Account; readonly steps: StepReport; readonly notes: readonly string[] }

/** What a replay works with: its own turn, and what its stored requests are read by. */
type ReplayServices = TurnServices & { readonly validation: Extract<ValidationScope, { from: 'adapter' }> }

type Ready = { readonly ready: TurnContext; readonly notes: readonly string[] }
type Ended = { readonly ended: Account; readonly notes: readonly string[] }

async function runTurnAgain(deps: ReplayServices, at: GatewayConnection, stored: Stored): Promise<Replayed> {
  const prepared = await prepareTurnAgain(deps, at, stored)
  const stop = new AbortController()
  const recorded = createRecordedJournal(stored.steps, (reason) => stop.abort(reason))
  if ('ended' in prepared) return { today: prepared.ended, steps: recorded.report(), notes: prepared.notes }
  const safeDeps: TurnServices = {
    ...deps,
    journal: recorded.journal,
    transcripts: {
      window: async (_, { around }) => omitEarlierAmbientMessages(stored.history, around),
      // What the session holds today is what came of the turn, and not what it began with.
      sharedState: async () => undefined,
    },
    fenceFetch: () => refuseToFetch,
    guardedFetch: { pins: true, fetch: refuseToFetch },
    db: createReplayDb(deps.db, refuseToDecide),
    watchRun: () => () => {},
    notify: () => {},
    meter: noMeter,
    // Files were kept by the run that is told again; what today's would keep, its journal does not have.
    attachments: { ...deps.attachments, store: refuseToStore, use: async () => {} },
  }
  // What finishes a growing reply may be written otherwise than what stands alone.
  const live = stored.hasLive ? { live: { clientId: '', text: '' } } : {}
  const ready = { ...prepared.ready, ...live, steps: () => recorded.log }
  const today = await runTurnForReplayOutcome(safeDeps, ready, stop.signal)
  return { today, steps: recorded.report(), notes: prepared.notes }
}

/** All ambient context is there; the run was shown the last of it. */
function omitEarlierAmbientMessages(history: Stored['history'], around: number): Stored['history'] {
  const isAmbientEnvelope = ({ metadata }: Stored['history'][number]): boolean => metadata['ambient'] === true
  const shown = new Set(history.filter(isAmbientEnvelope).slice(-around || history.length))
  return history.filter((line) => !isAmbientEnvelope(line) || shown.has(line))
}

/** Its steps are those that were recorded. */
function emptyStepsAndJoinedMessages(
  { monotonicMs }: ReplayServices,
  turnId: string,
): Pick<TurnContext, 'startedAt' | 'joined' | 'steps' | 'journalTurn'> {
  const steps = createStepLog()
  return { startedAt: monotonicMs(), joined: new Map(), steps: () => steps, journalTurn: turnId }
}

async function prepareTurnAgain(deps: ReplayServices, at: GatewayConnection, stored: Stored): Promise<Ready | Ended> {
  const notes: string[] = []
  const rows: WaitingMessage[] = []
  for (const member of stored.members) {
    const read = await normalizeStoredMessageAgain(deps, at, member)
    if (read.kind === 'rejected_event') return { ended: outcomeWithoutCalls(read.outcome, read.reason), notes }
    if (read.note !== undefined) notes.push(`message ${member.id}: ${read.note}`)
    rows.push(read.row)
  }
  const lane = createReplayLane(deps, stored, addressMessagesToAgent(at, rows.at(-1)?.agent ?? stored.agent, rows))
  if (stored.signal !== null) {
    const turn = createReplayTurn(deps, stored, lane, null)
    return {
      ready: {
        lane,
        at,
        turn,
        ...emptyStepsAndJoinedMessages(deps, turn.id),
        members: [],
        signal: stored.signal,
        edit: null,
      },
      notes,
    }
  }
  const decided = await admitWaitingMessages({ ...deps, db: createDbWithoutChainVisits(deps.db) }, at, lane)
  const plan = planTurn(lane, decided, deps.turnPolicy.merge)
  if (plan.kind !== 'run') return { ended: outcomeOfPlanWithoutRun(plan, decided), notes }
  const taken = plan.members.reduce((sum, member) => sum + 1 + member.edits.length, 0)
  if (taken < rows.length) notes.push(`today ${taken} of its ${rows.length} messages would share a turn`)
  const replyTo = plan.members.at(-1)?.row.replyTo ?? lane.replyTo
  const turn = createReplayTurn(deps, stored, lane, plan.principal)
  return {
    ready: {
      lane: { ...lane, replyTo },
      at,
      turn,
      ...emptyStepsAndJoinedMessages(deps, turn.id),
      members: [...plan.members],
      signal: null,
      edit: null,
    },
    notes,
  }
}

/** A plan that runs no agent: what would become of the message instead. */
function outcomeOfPlanWithoutRun(
  plan: Exclude<TurnPlan, { kind: 'run' }>,
  decided: Awaited<ReturnType<typeof admitWaitingMessages>>,
): Account {
  switch (plan.kind) {
    case 'settle':
      return outcomeWithoutCalls(plan.dispositions[0]?.state ?? 'refused', plan.dispositions[0]?.reason ?? null)
    case 'amend':
      return outcomeWithoutCalls('merged', 'amendment')
    case 'access_challenge':
      return outcomeOfAccessChallenge(decided.get(plan.entry.row.id))
    case 'empty':
      throw new GatewayError('conflict', '[replay] the messages of this turn are gone; there is nothing to run')
  }
}

/** What a sender without access is told is the gateway's word, not the agent's. */
function outcomeOfAccessChallenge(admission: Admission | undefined): Account {
  return admission?.kind === 'held'
    ? outcomeWithoutCalls('held', 'pairing_required')
    : outcomeWithoutCalls('refused', admission?.kind === 'refused' ? admission.reason : null)
}

async function runTurnForReplayOutcome(deps: TurnServices, ready: TurnContext, stop: AbortSignal): Promise<Account> {
  // No other process wants this turn: the lease only carries the stop.
  const lease: Lease = {
    signal: stop,
    isHeld: () => true,
    assertHeld: () => {},
    end: () => {},
    untilHeld: async () => {},
  }
  const errors = createTurnErrorReporter(deps, ready)
  try {
    const result = await runAgent(deps, ready, {
      lease,
      isStopping: () => false,
      show() {},
      errors: () => errors,
    })
    return outcomeOfTurnEnd(await buildAnsweredTurnEnd(deps, ready, result, 0))
  } catch (error) {
    if (isGatewayError(error, 'replay_stopped')) return outcomeWithoutCalls('stopped', error.message)
    if (isGatewayError(error, 'agent_unknown')) throw error
    return outcomeOfTurnEnd(await buildDeadTurnEnd(deps, ready, isGatewayError(error) ? error.code : 'agent_failed'))
  }
}

function outcomeOfTurnEnd({ state, reason, calls, timers }: TurnEnd): Account {
  return {
    outcome: state,
    reason,
    calls: calls.map(({ purpose, primary, call }) => ({ purpose, primary, call })),
    timers: timers.map((timer) => timer.name).toSorted(),
  }
}

function outcomeWithoutCalls(outcome: string, reason: string | null): Account {
  return { outcome, reason, calls: [], timers: [] }
}

function createReplayLane(
  deps: { readonly newId: IdSource },
  stored: Stored,
  messages: readonly WaitingMessage[],
): HeldLane {
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
  deps: { readonly newId: IdSource },
  { turn, members }: Stored,
  lane: HeldLane,
  principal: string | null,
): OpenTurn {
  if (turn !== null) return { ...turn, principal, crashes: 0, outageMs: null, taskId: null }
  const lead = members.at(-1)
  return {
    id: deps.newId(),
    kind: 'messages',
    attempt: 1,
    failures: 0,
    crashes: 0,
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
