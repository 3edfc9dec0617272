// Prepares a turn of a held lane: senders identified and admitted, messages merged, the turn opened or resumed. Undefined: nothing
// to run.

import { createStepLog, type StepLog } from '../agents/steps.ts'
import {
  type Fields,
  formatAddress,
  type JsonObject,
  type Log,
  type NormalizedMessage,
  type Observer,
} from '../contract/index.ts'
import { withoutChainVisits } from '../db/call-chains.ts'
import type { Db } from '../db/client.ts'
import type { TurnPast } from '../db/journal.ts'
import { loadPendingAction } from '../db/pending-actions.ts'
import { readRunUpdates } from '../db/runs.ts'
import { endsApproval, endsPause } from '../db/transcripts.ts'
import {
  type Disposition,
  type HeldLane,
  type NewMember,
  type NewTurn,
  noAccessBasis,
  type OpenTurn,
  type WaitingMessage,
  type WaitingSignal,
} from '../db/turn-rows.ts'
import { listWaitingMessages, openTurn, repairLane, resumeTurn } from '../db/turns.ts'
import type { ConsentPolicy } from '../identity/consent.ts'
import { readdressMessage } from '../identity/evidence.ts'
import { type IdSource, newTraceId } from '../lib/ids.ts'
import type { LiveEnd } from '../outbound/render.ts'
import { isDirectMessage, reachedLimit, replyLimit } from '../outbound/reply-limits.ts'
import { type AdmissionServices, admissions, recallFor, unheardBy } from './admit.ts'
import { isControl } from './chat-commands.ts'
import type { GatewayConnection } from './gateway-connection.ts'
import { type Absorbed, absorbEdits, planTurn, type TurnPlan } from './plan-turn.ts'
import { readRerun } from './rerun.ts'
import { decideRetention } from './retention-decision.ts'
import type { TurnServices } from './services.ts'
import type { TurnPolicy } from './turn-policy.ts'
import { turnDeadlineMs } from './turn-signal.ts'

/** A turn that is ours to run. Its rows are frozen: a crash from here on resumes exactly this. */
export type ReadyTurn = {
  readonly lane: HeldLane
  readonly at: GatewayConnection
  readonly turn: OpenTurn
  /** Grows while the turn runs, if its agent lets messages join it. */
  readonly members: Absorbed[]
  /** What joined it in an earlier try, by the question for news that heard it; heard again there, and at its end at the latest. */
  readonly joined: Map<number, readonly Absorbed[]>
  /** What it has done so far, and in whose journal that stands. */
  readonly steps: StepLog
  readonly journalTurn: string
  /** Which lines of its session it was shown before; undefined: it is the first try. */
  readonly view?: TurnPast['view']
  readonly signal: WaitingSignal | null
  readonly edit: WaitingMessage | null
  /** Its session begins with it, and nothing was said there before. */
  readonly isFirst?: boolean
  /** Whose words it answers, as they were let in; unknown where it is taken up again. */
  readonly speaker?: Fields
  /** It goes through the steps of an earlier turn again, with that one's messages: nothing new joins it. */
  readonly isRerun?: true
  /** It does not run: its members do, one by one. */
  readonly splitBecause?: string
  /** It does not run: what it has done cannot be gone on with. */
  readonly deadBecause?: string
  /** Its live message, known when it ends. */
  readonly live?: LiveEnd | undefined
  /** Words that were shown while it ran. */
  readonly shown?: string
}

export async function prepareTurn(
  deps: TurnServices,
  at: GatewayConnection,
  held: HeldLane,
): Promise<ReadyTurn | undefined> {
  const lane = { ...held, messages: addressRows(at, held.agent, held.messages) }
  if (lane.openTurn !== null) return resumeOpenTurn(deps, at, lane, lane.openTurn)
  if (lane.signal !== null) return openForSignal(deps, at, lane, lane.signal)
  const decided = await admissions(deps, at, lane)
  const plan = planTurn(lane, decided, deps.turnPolicy.merge)
  switch (plan.kind) {
    case 'empty':
      if (await repairLane(deps.db, lane)) {
        const { connection, conversationId: conversation } = lane
        deps.log.error('lane_drift_repaired', { connection, conversation })
      }
      return undefined
    case 'settle':
      return settleDispositions(deps, lane, plan.dispositions)
    case 'run': {
      const reached = await reachedLimit(deps, at, lane, plan.members, decided)
      if (reached === undefined) return openForMessages(deps, at, lane, plan, decided)
      const entry = plan.members.at(-1)
      const ended = toUnansweredDispositions(plan.members, decided, reached.rule)
      if (entry === undefined || !reached.isNews || !isDirectMessage(entry.message))
        return settleDispositions(deps, lane, [...plan.dispositions, ...ended])
      // Of several messages the last one is told; access-challenge.ts finds the limit again.
      const others = ended.filter(({ id }) => id !== entry.row.id)
      return openAccessChallenge(
        deps,
        at,
        lane,
        { kind: 'access_challenge', entry, dispositions: [...plan.dispositions, ...others] },
        decided,
      )
    }
    case 'amend':
      return openForMessages(deps, at, lane, plan, decided)
    case 'access_challenge':
      return openAccessChallenge(deps, at, lane, plan, decided)
  }
}

/** Messages end and no turn begins. */
async function settleDispositions(
  deps: { readonly db: Db; readonly log: Log; readonly notify: Observer },
  lane: HeldLane,
  dispositions: readonly Disposition[],
): Promise<undefined> {
  if (await openTurn(deps.db, lane, null, dispositions)) notifySkipped(deps, lane, dispositions)
}

/** Silence is all that ends an exchange of machines: only the operator is told, and a person in private, once. */
function toUnansweredDispositions(
  members: readonly Absorbed[],
  decided: Decided,
  rule: string,
): readonly Disposition[] {
  return members.flatMap(({ row, edits }) =>
    [row, ...edits].map(({ id }): Disposition => {
      const { subject, evidence } = decided.get(id) ?? noAccessBasis
      const ground = { accessRule: `limit ${rule}`, subject, evidence }
      return { ...ground, id, state: 'refused', reason: replyLimit, tombstone: false, pairingId: null }
    }),
  )
}

/**
 * A turn that may have had an effect goes on as the same turn: the same journal, the members it began with, the same message.
 * Without one it may be split to find a poisoned member, and what changed meanwhile counts as if it had not been taken yet.
 */
async function resumeOpenTurn(
  deps: TurnServices,
  at: GatewayConnection,
  lane: HeldLane,
  turn: OpenTurn,
): Promise<ReadyTurn | undefined> {
  const past = await deps.journal.past(turn.id)
  const hasMembers = turn.kind !== 'signal' && turn.kind !== 'amendment'
  const edit = turn.kind === 'amendment' ? (lane.messages[0] ?? null) : null
  const ready = {
    lane: answering(lane, lane.signal),
    at,
    turn,
    signal: lane.signal,
    edit,
    ...(hasMembers ? takenRows(lane.messages) : { members: [], joined: new Map() }),
    ...takenUp(past),
    view: past.view,
  }
  const change =
    turn.kind === 'messages' && !(await isStopped(deps, turn))
      ? await findChangeSinceStart(deps, ready, past)
      : undefined
  const hasEffect = ready.steps.hasEffect()
  if (change !== undefined && !hasEffect) return { ...ready, splitBecause: change }
  if (!(await resumeTurn(deps.db, lane, turn.id))) return undefined
  const again = { ...ready, turn: { ...turn, attempt: turn.attempt + 1 } }
  return change === undefined || !fatalChanges.has(change) ? again : { ...again, deadBecause: change }
}

/** Those it began with, and those that joined it on the way. */
export function takenRows(rows: readonly WaitingMessage[]): Pick<ReadyTurn, 'members' | 'joined'> {
  const { entries } = absorbEdits(rows.filter((row) => row.joinedAtPoll === null))
  const joined = new Map<number, Absorbed[]>()
  for (const row of rows) {
    if (row.joinedAtPoll === null) continue
    joined.set(row.joinedAtPoll, [...(joined.get(row.joinedAtPoll) ?? []), { row, message: row.message, edits: [] }])
  }
  return { members: [...entries], joined }
}

function takenUp({ steps, journalTurn }: TurnPast): Pick<ReadyTurn, 'steps' | 'journalTurn'> {
  return { steps: createStepLog(steps), journalTurn }
}

/** Nothing more begins after these; the others are heard of by a turn without effect only. */
const fatalChanges: ReadonlySet<string> = new Set(['access_lost', 'erased'])

/** What happened to its members, its people or its history between two tries. */
async function findChangeSinceStart(
  deps: AdmissionServices,
  ready: ReadyTurn,
  past: TurnPast,
): Promise<string | undefined> {
  const { lane, at, turn, members, joined } = ready
  if (past.isErased) return 'erased'
  const messages = lane.messages.filter((row) => row.event === 'new')
  const decided = await admissions({ ...deps, db: withoutChainVisits(deps.db) }, at, {
    messages,
    agent: lane.agent,
    takesPart: true,
  })
  if (messages.some(({ id }) => decided.get(id)?.kind !== 'admitted')) return 'access_lost'
  if (ready.steps.hasEffect()) return undefined
  // A holder that shut down cleanly gave the attempt back: no member is under suspicion.
  if (members.length + joined.size > 1 && turn.attempt > 0) return 'interrupted'
  const taken = new Set(messages.map(({ messageId }) => messageId))
  const waiting = await listWaitingMessages(deps.db, lane)
  return waiting.some(({ editOf }) => editOf !== null && taken.has(editOf)) ? 'edited' : undefined
}

/** Of a stopped run nothing runs again, in company or alone. */
async function isStopped(deps: { readonly db: Db }, turn: OpenTurn): Promise<boolean> {
  const [news] = await readRunUpdates(deps.db, [turn.id])
  return news !== undefined && news.stoppedBy !== null
}

async function openForMessages(
  deps: TurnServices,
  at: GatewayConnection,
  lane: HeldLane,
  plan: Extract<TurnPlan, { kind: 'run' | 'amend' }>,
  decided: Decided,
): Promise<ReadyTurn | undefined> {
  const rows = plan.kind === 'run' ? plan.members.flatMap((member) => [member.row, ...member.edits]) : [plan.edit]
  const { members, joined } = plan.kind === 'run' ? takenRows(rows) : { members: [], joined: new Map() }
  const lead = members.at(-1)?.row
  const isRotated = lead !== undefined && isRotation(deps, lead.message)
  const kind = turnKindForPlan(plan)
  const turn = await newTurn(deps, at, lane, {
    kind,
    isRotated,
    ...(lead !== undefined && kind === 'messages' ? recallFor(at, lead, isRotated) : {}),
    ...(plan.kind === 'amend' ? unheardBy(plan.edit) : {}),
    parentTurn: lead?.parentTurn ?? null,
    continuesTurn: lead?.continuesTurn ?? false,
    isHung: lead?.isHung ?? false,
    principal: plan.principal,
    runId: lead?.message.channel?.run_id ?? null,
    traceId: (lead ?? rows[0])?.traceId ?? '',
    replyTo: lead?.replyTo ?? null,
    members: rows.map((row, ord) => toNewMember(row, ord, plan.principal, decided)),
    signalId: null,
    resumes: null,
    taskId: lead?.taskId ?? null,
  })
  if (!(await openTurn(deps.db, lane, turn, plan.dispositions))) return undefined
  notifySkipped(deps, lane, plan.dispositions)
  const edit = plan.kind === 'amend' ? plan.edit : null
  const isFirst = turn.history === null
  const past = turn.continuesTurn ? await deps.journal.past(turn.id) : undefined
  return {
    lane: withReplyTo(lane, turn),
    at,
    turn: toOpenTurn(turn),
    members,
    joined,
    ...(past === undefined ? begun(turn.id) : { ...takenUp(past), view: past.view }),
    signal: null,
    edit,
    isFirst,
    ...admittedSpeaker(decided, lead),
  }
}

/** A turn without a past. */
export function begun(turnId: string): Pick<ReadyTurn, 'joined' | 'steps' | 'journalTurn'> {
  return { joined: new Map(), steps: createStepLog(), journalTurn: turnId }
}

type Decided = Awaited<ReturnType<typeof admissions>>

function admittedSpeaker(decided: Decided, lead: WaitingMessage | undefined): Pick<ReadyTurn, 'speaker'> {
  const admission = lead === undefined ? undefined : decided.get(lead.id)
  return admission?.kind === 'admitted' ? { speaker: admission.speaker } : {}
}

/** What decided goes into the audit log with the member. */
export function toNewMember(row: WaitingMessage, ord: number, principal: string | null, decided: Decided): NewMember {
  const { accessRule, subject, evidence } = decided.get(row.id) ?? noAccessBasis
  return { id: row.id, ord, principal, accessRule, subject, evidence }
}

/** A sender without access takes a turn too, so that what they are told is sent once and their message ends with it. */
async function openAccessChallenge(
  deps: TurnServices,
  at: GatewayConnection,
  lane: HeldLane,
  { entry, dispositions }: Extract<TurnPlan, { kind: 'access_challenge' }>,
  decided: Decided,
): Promise<ReadyTurn | undefined> {
  const { row } = entry
  const turn: NewTurn = {
    id: deps.newId(),
    attempt: 1,
    kind: 'access_challenge',
    sessionId: null,
    isNewSession: false,
    keeping: null,
    parentTurn: null,
    continuesTurn: false,
    history: null,
    principal: decided.get(row.id)?.subject ?? null,
    runId: null,
    traceId: row.traceId,
    deadlineMs: deps.turnPolicy.deadlineMs,
    replyTo: row.replyTo,
    members: [toNewMember(row, 0, null, decided)],
    signalId: null,
    resumes: null,
    taskId: row.taskId,
  }
  if (!(await openTurn(deps.db, lane, turn, dispositions))) return undefined
  notifySkipped(deps, lane, dispositions)
  const own = { lane: withReplyTo(lane, turn), at, turn: toOpenTurn(turn), ...begun(turn.id) }
  return { ...own, members: [entry], signal: null, edit: null }
}

function turnKindForPlan(plan: Extract<TurnPlan, { kind: 'run' | 'amend' }>): NewTurn['kind'] {
  if (plan.kind === 'amend') return 'amendment'
  const lead = plan.members.at(-1)
  return lead !== undefined && isControl(lead.message) ? 'control' : 'messages'
}

async function openForSignal(
  deps: TurnServices,
  at: GatewayConnection,
  lane: HeldLane,
  signal: WaitingSignal,
): Promise<ReadyTurn | undefined> {
  const again = await rerunTurn(deps, lane, signal)
  const turn = await newTurn(deps, at, lane, {
    kind: 'signal',
    isRotated: false,
    parentTurn: again,
    continuesTurn: again !== null,
    principal: signalText(signal, 'principal'),
    runId: null,
    traceId: newTraceId(deps),
    replyTo: null,
    members: [],
    signalId: signal.id,
    resumes: signalText(signal, 'turn'),
    // A timer may go off long after its task was over; what comes of it is told like anything else.
    taskId: endsPause(signal) ? signal.taskId : null,
  })
  if (!(await openTurn(deps.db, lane, turn, []))) return undefined
  const own = { lane: answering(lane, signal), at, turn: toOpenTurn(turn), members: [], signal, edit: null }
  if (again === null) return { ...own, ...begun(turn.id) }
  const past = await deps.journal.past(turn.id)
  return { ...own, joined: new Map(), ...takenUp(past), view: past.view }
}

/** The turn whose journal a decision goes on with; null: its agent has noted itself where it stood. */
async function rerunTurn(deps: { readonly db: Db }, lane: HeldLane, signal: WaitingSignal): Promise<string | null> {
  if (!endsApproval(signal)) return null
  const asked = await loadPendingAction(deps.db, lane.tenant, String(signal.payload['id'] ?? ''))
  return readRerun(asked?.resume ?? null) === undefined ? null : signalText(signal, 'turn')
}

type TurnSeed = Omit<
  NewTurn,
  'id' | 'attempt' | 'sessionId' | 'isNewSession' | 'keeping' | 'deadlineMs' | 'history'
> & {
  readonly isRotated: boolean
}

/** The session map: one session per conversation, a new one after a long silence or on command. */
async function newTurn(
  deps: { readonly db: Db; readonly consent: ConsentPolicy; readonly turnPolicy: TurnPolicy; readonly newId: IdSource },
  at: GatewayConnection,
  lane: HeldLane,
  { isRotated, ...seed }: TurnSeed,
): Promise<NewTurn> {
  const isIdle = lane.idleMs > deps.turnPolicy.rotateAfterIdleMs && seed.kind === 'messages'
  const kept = isRotated || isIdle ? null : lane.sessionId
  return {
    ...seed,
    id: deps.newId(),
    attempt: 1,
    sessionId: kept ?? deps.newId(),
    isNewSession: kept === null,
    history: chooseHistoryView(deps, at, seed, kept === null),
    keeping: kept === null ? await decideRetention(deps, at, { principal: seed.principal, agent: lane.agent }) : null,
    deadlineMs: turnDeadlineMs(deps.turnPolicy, seed),
  }
}

/** Where nothing was said before there is nothing to show. */
function chooseHistoryView(
  { turnPolicy }: { readonly turnPolicy: TurnPolicy },
  { replyPolicy }: GatewayConnection,
  { kind, recall, continuesTurn }: Pick<NewTurn, 'kind' | 'recall' | 'continuesTurn'>,
  isNewSession: boolean,
): NewTurn['history'] {
  // It is shown what the turn was shown whose steps it goes through again, and not what was said there.
  if (kind === 'signal' && continuesTurn) return null
  if (kind === 'amendment' || kind === 'control' || (isNewSession && recall === undefined)) return null
  const { historyHead: head, historyTail: tail } = turnPolicy
  return { head, tail, around: replyPolicy.ambientContext?.messages ?? 0 }
}

function toOpenTurn(turn: NewTurn): OpenTurn {
  // Only an access challenge has no session, and it looks for none.
  return { ...turn, sessionId: turn.sessionId ?? '', failures: 0, crashes: 0, outageMs: null }
}

function withReplyTo(lane: HeldLane, turn: NewTurn): HeldLane {
  return { ...lane, replyTo: turn.replyTo ?? lane.replyTo }
}

/** Where a paused run was asked is where it answers; what was said in other places meanwhile does not move it. */
function answering(lane: HeldLane, signal: WaitingSignal | null): HeldLane {
  const replyTo = signal !== null && endsPause(signal) ? signal.payload['reply_to'] : undefined
  return typeof replyTo === 'object' && replyTo !== null && !Array.isArray(replyTo)
    ? { ...lane, replyTo: replyTo as JsonObject }
    : lane
}

/** Facts of the run that waited. A plain timer belongs to no person: what it carries is the agent's own. */
function signalText(signal: WaitingSignal, key: 'principal' | 'turn'): string | null {
  const value = endsPause(signal) ? signal.payload[key] : undefined
  return typeof value === 'string' && value !== '' ? value : null
}

function notifySkipped(
  deps: { readonly log: Log; readonly notify: Observer },
  lane: HeldLane,
  dispositions: readonly Disposition[],
): void {
  const { connection, conversationId, agent } = lane
  for (const { id, reason } of dispositions) {
    const rows = lane.messages.filter((row) => row.id === id)
    deps.log.info('message_refused', { connection, trace: rows[0]?.traceId ?? null, inbox: id, reason })
    const messageIds = rows.map((row) => row.messageId)
    deps.notify({ type: 'channel.skipped', connection, conversationId, agent, messageIds, reason })
  }
}

export function isRotation(
  deps: { readonly turnPolicy: TurnPolicy },
  message: Pick<NormalizedMessage, 'channel'>,
): boolean {
  const name = message.channel?.command?.name
  return name !== undefined && deps.turnPolicy.rotateCommands.includes(name)
}

// What waits in a lane is addressed to its agent by name, whichever recipient the adapter chose.

/** Where one agent alone answers, its adapter has named it already. */
export function addressRows<Row extends Pick<WaitingMessage, 'message'>>(
  at: GatewayConnection,
  agent: string,
  rows: readonly Row[],
): readonly Row[] {
  if (!at.isShared) return rows
  const address = formatAddress({ local: agent, domain: at.connection.domain })
  return rows.map((row) => ({ ...row, message: readdressMessage(row.message, address) }))
}
