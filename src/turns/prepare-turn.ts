// Prepares a turn of a held lane: senders identified and admitted, messages merged, the turn opened or resumed. Undefined: nothing
// to run.

import { createStepLog } from '../agents/steps.ts'
import type { Observer } from '../contract/gateway-events.ts'
import { formatAddress, type NormalizedMessage } from '../contract/index.ts'
import { createDbWithoutChainVisits } from '../db/call-chains.ts'
import type { Db } from '../db/client.ts'
import { readConsentByOperation } from '../db/consents.ts'
import type { TurnPast } from '../db/journal.ts'
import { loadPendingAction } from '../db/pending-actions.ts'
import { readRunUpdates } from '../db/runs.ts'
import { isApprovalEndSignal, isPauseEndSignal } from '../db/transcripts.ts'
import {
  type Disposition,
  type HeldLane,
  type NewMember,
  type NewTurn,
  noAccessBasis,
  type OpenTurn,
  type RetentionDecision,
  type WaitingMessage,
  type WaitingSignal,
} from '../db/turn-rows.ts'
import { listWaitingMessages, openTurn, recountLanePending, resumeTurn } from '../db/turns.ts'
import { type ConsentPolicy, createConsentContext } from '../identity/consent.ts'
import { readdressMessage } from '../identity/evidence.ts'
import { parseChatCommand } from '../inbound/chat-command.ts'
import { type IdSource, newTraceId } from '../lib/ids.ts'
import type { JsonObject, Log } from '../lib/index.ts'
import { countTurnReplyAgainstLimits, isDirectMessageFromPerson, replyLimit } from '../outbound/reply-limits.ts'
import {
  type AdmissionServices,
  admitWaitingMessages,
  chooseAmbientRecall,
  deletedAmbientMessageField,
} from './admit.ts'
import { controlNames } from './chat-commands.ts'
import type { GatewayConnection } from './gateway-connection.ts'
import { turnDeadlineMs } from './leases.ts'
import { readStoredRerun } from './pauses.ts'
import { type Absorbed, mergeEditsIntoWaitingMessages, planTurn, type TurnPlan } from './plan-turn.ts'
import type { TurnServices } from './services.ts'
import { createContextOfOpenedTurn, type TurnContext } from './turn-context.ts'
import type { TurnPolicy } from './turn-policy.ts'

export async function prepareTurn(
  deps: TurnServices,
  at: GatewayConnection,
  held: HeldLane,
): Promise<TurnContext | undefined> {
  const lane = { ...held, messages: addressMessagesToAgent(at, held.agent, held.messages) }
  if (lane.openTurn !== null) return resumeOpenTurn(deps, at, lane, lane.openTurn)
  if (lane.signal !== null) return openTurnForSignal(deps, at, lane, lane.signal)
  const decided = await admitWaitingMessages(deps, at, lane)
  const plan = planTurn(lane, decided, deps.turnPolicy.merge)
  switch (plan.kind) {
    case 'empty':
      if (await recountLanePending(deps.db, lane)) {
        const { connection, conversationId: conversation } = lane
        deps.log.error('lane_drift_repaired', { connection, conversation })
      }
      return undefined
    case 'settle':
      return endWithoutTurn(deps, lane, plan.dispositions)
    case 'run': {
      const isLimited = at.adapter.capabilities.replyLimits !== undefined
      const reached = isLimited ? await countTurnReplyAgainstLimits(deps, at, lane, plan.members, decided) : undefined
      if (reached === undefined) return openTurnForMessages(deps, at, lane, plan, decided)
      const entry = plan.members.at(-1)
      const ended = replyLimitDispositions(plan.members, decided, reached.rule)
      if (entry === undefined || !reached.isNews || !isDirectMessageFromPerson(entry.message))
        return endWithoutTurn(deps, lane, [...plan.dispositions, ...ended])
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
      return openTurnForMessages(deps, at, lane, plan, decided)
    case 'access_challenge':
      return openAccessChallenge(deps, at, lane, plan, decided)
  }
}

/** Messages end and no turn begins. */
async function endWithoutTurn(
  deps: { readonly db: Db; readonly log: Log; readonly notify: Observer },
  lane: HeldLane,
  dispositions: readonly Disposition[],
): Promise<undefined> {
  if (await openTurn(deps.db, lane, null, dispositions)) logRefusedMessages(deps, lane, dispositions)
}

/** Silence is all that ends an exchange of machines: only the operator is told, and a person in private, once. */
function replyLimitDispositions(members: readonly Absorbed[], decided: Decided, rule: string): readonly Disposition[] {
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
): Promise<TurnContext | undefined> {
  const past = await deps.journal.past(turn.id)
  const hasMembers = turn.kind !== 'signal' && turn.kind !== 'amendment'
  const edit = turn.kind === 'amendment' ? (lane.messages[0] ?? null) : null
  const steps = createStepLog(past.steps)
  const ready = {
    lane: useReplyToOfPause(lane, lane.signal),
    at,
    turn,
    startedAt: deps.monotonicMs(),
    signal: lane.signal,
    edit,
    ...(hasMembers ? splitMembersAndJoined(lane.messages) : { members: [], joined: new Map() }),
    steps: () => steps,
    journalTurn: past.journalTurn,
    view: past.view,
  }
  const change =
    turn.kind === 'messages' && !(await isRunStopped(deps, turn))
      ? await findChangeSinceStart(deps, ready, past)
      : undefined
  const hasEffect = steps.hasEffect()
  if (change !== undefined && !hasEffect) return { ...ready, splitBecause: change }
  if (!(await resumeTurn(deps.db, lane, turn.id))) return undefined
  const again = { ...ready, turn: { ...turn, attempt: turn.attempt + 1 } }
  return change === undefined || !fatalChanges.has(change) ? again : { ...again, deadBecause: change }
}

/** Those it began with, and those that joined it on the way. */
export function splitMembersAndJoined(rows: readonly WaitingMessage[]): Pick<TurnContext, 'members' | 'joined'> {
  const { entries } = mergeEditsIntoWaitingMessages(rows.filter((row) => row.joinedAtPoll === null))
  const joined = new Map<number, Absorbed[]>()
  for (const row of rows) {
    if (row.joinedAtPoll === null) continue
    joined.set(row.joinedAtPoll, [...(joined.get(row.joinedAtPoll) ?? []), { row, message: row.message, edits: [] }])
  }
  return { members: [...entries], joined }
}

/** Nothing more begins after these; the others are heard of by a turn without effect only. */
const fatalChanges: ReadonlySet<string> = new Set(['access_lost', 'erased'])

/** What happened to its members, its people or its history between two tries. */
async function findChangeSinceStart(
  deps: AdmissionServices,
  ready: TurnContext,
  past: TurnPast,
): Promise<string | undefined> {
  const { lane, at, turn, members, joined } = ready
  if (past.isErased) return 'erased'
  const messages = lane.messages.filter((row) => row.event === 'new')
  const decided = await admitWaitingMessages({ ...deps, db: createDbWithoutChainVisits(deps.db) }, at, {
    messages,
    agent: lane.agent,
    takesPart: true,
  })
  if (messages.some(({ id }) => decided.get(id)?.kind !== 'admitted')) return 'access_lost'
  if (ready.steps().hasEffect()) return undefined
  // A holder that shut down cleanly gave the attempt back: no member is under suspicion.
  if (members.length + joined.size > 1 && turn.attempt > 0) return 'interrupted'
  const taken = new Set(messages.map(({ messageId }) => messageId))
  const waiting = await listWaitingMessages(deps.db, lane)
  return waiting.some(({ editOf }) => editOf !== null && taken.has(editOf)) ? 'edited' : undefined
}

/** Of a stopped run nothing runs again, in company or alone. */
async function isRunStopped(deps: { readonly db: Db }, turn: OpenTurn): Promise<boolean> {
  const [news] = await readRunUpdates(deps.db, [turn.id])
  return news !== undefined && news.stoppedBy !== null
}

async function openTurnForMessages(
  deps: TurnServices,
  at: GatewayConnection,
  lane: HeldLane,
  plan: Extract<TurnPlan, { kind: 'run' | 'amend' }>,
  decided: Decided,
): Promise<TurnContext | undefined> {
  const rows = plan.kind === 'run' ? plan.members.flatMap((member) => [member.row, ...member.edits]) : [plan.edit]
  const planned = plan.kind === 'run' ? { members: [...plan.members], joined: new Map() } : undefined
  // Of a dead turn that is tried again some messages had joined it on the way: they are heard where they were heard then.
  const taken = planned?.members[0]?.row.continuesTurn === true ? splitMembersAndJoined(rows) : planned
  const lead = taken?.members.at(-1)?.row
  const isRotated = lead !== undefined && startsNewSession(deps, lead.message)
  const kind =
    plan.kind === 'amend'
      ? 'amendment'
      : lead !== undefined && parseChatCommand(lead.message, controlNames) !== undefined
        ? 'control'
        : 'messages'
  const turn = await draftNewTurn(deps, at, lane, {
    kind,
    isRotated,
    ...(lead !== undefined && kind === 'messages' ? chooseAmbientRecall(at, lead, isRotated) : {}),
    ...(plan.kind === 'amend' ? deletedAmbientMessageField(plan.edit) : {}),
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
  logRefusedMessages(deps, lane, plan.dispositions)
  const past = turn.continuesTurn ? await deps.journal.past(turn.id) : undefined
  const admission = lead === undefined ? undefined : decided.get(lead.id)
  return {
    ...createContextOfOpenedTurn(deps, at, lane, turn, past),
    ...taken,
    edit: plan.kind === 'amend' ? plan.edit : null,
    isFirst: turn.history === null,
    speaker: admission?.kind === 'admitted' ? admission.speaker : undefined,
  }
}

type Decided = Awaited<ReturnType<typeof admitWaitingMessages>>

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
): Promise<TurnContext | undefined> {
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
  logRefusedMessages(deps, lane, dispositions)
  return { ...createContextOfOpenedTurn(deps, at, lane, turn), members: [entry] }
}

async function openTurnForSignal(
  deps: TurnServices,
  at: GatewayConnection,
  lane: HeldLane,
  signal: WaitingSignal,
): Promise<TurnContext | undefined> {
  const again = await findRerunTurn(deps, lane, signal)
  const turn = await draftNewTurn(deps, at, lane, {
    kind: 'signal',
    isRotated: false,
    parentTurn: again,
    continuesTurn: again !== null,
    principal: readPausedRunField(signal, 'principal'),
    runId: null,
    traceId: newTraceId(deps),
    replyTo: null,
    members: [],
    signalId: signal.id,
    resumes: readPausedRunField(signal, 'turn'),
    // A timer may go off long after its task was over; what comes of it is told like anything else.
    taskId: isPauseEndSignal(signal) ? signal.taskId : null,
  })
  if (!(await openTurn(deps.db, lane, turn, []))) return undefined
  const past = again === null ? undefined : await deps.journal.past(turn.id)
  return { ...createContextOfOpenedTurn(deps, at, useReplyToOfPause(lane, signal), turn, past), signal }
}

/** The turn whose journal a decision goes on with; null: its agent has noted itself where it stood. */
async function findRerunTurn(deps: { readonly db: Db }, lane: HeldLane, signal: WaitingSignal): Promise<string | null> {
  if (!isApprovalEndSignal(signal)) return null
  const asked = await loadPendingAction(deps.db, lane.tenant, String(signal.payload['id'] ?? ''))
  return readStoredRerun(asked?.resume ?? null) === undefined ? null : readPausedRunField(signal, 'turn')
}

type TurnSeed = Omit<
  NewTurn,
  'id' | 'attempt' | 'sessionId' | 'isNewSession' | 'keeping' | 'deadlineMs' | 'history'
> & {
  readonly isRotated: boolean
}

type SessionDeps = {
  readonly db: Db
  readonly consent: ConsentPolicy
  readonly turnPolicy: TurnPolicy
  readonly newId: IdSource
}

/** The session map: one session per conversation, a new one after a long silence or on command. */
async function draftNewTurn(
  deps: SessionDeps,
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
    keeping:
      kept === null ? await decideSessionRetention(deps, at, { principal: seed.principal, agent: lane.agent }) : null,
    deadlineMs: turnDeadlineMs(deps.turnPolicy, seed),
  }
}

/** Whether a session that begins may be kept, decided once and stored with it. */
async function decideSessionRetention(
  deps: SessionDeps,
  at: GatewayConnection,
  { principal, agent }: { readonly principal: string | null; readonly agent: string },
): Promise<RetentionDecision> {
  const context = createConsentContext(at, agent)
  // What the operator grants needs no person's consent; where no person can be asked there is none.
  const isAsked = context.transcriptBasis === undefined && context.interactive && principal !== null
  const consent = isAsked ? await readConsentByOperation(deps.db, principal) : {}
  const { allowed, reason, audit_metadata } = deps.consent('store_transcript', { ...context, consent })
  return {
    id: deps.newId(),
    isAllowed: allowed,
    reason,
    audit: audit_metadata,
    expiresInMs: deps.turnPolicy.rotateAfterIdleMs,
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

/** Where a paused run was asked is where it answers; what was said in other places meanwhile does not move it. */
function useReplyToOfPause(lane: HeldLane, signal: WaitingSignal | null): HeldLane {
  const replyTo = signal !== null && isPauseEndSignal(signal) ? signal.payload['reply_to'] : undefined
  return typeof replyTo === 'object' && replyTo !== null && !Array.isArray(replyTo)
    ? { ...lane, replyTo: replyTo as JsonObject }
    : lane
}

/** Facts of the run that waited. A plain timer belongs to no person: what it carries is the agent's own. */
function readPausedRunField(signal: WaitingSignal, key: 'principal' | 'turn'): string | null {
  const value = isPauseEndSignal(signal) ? signal.payload[key] : undefined
  return typeof value === 'string' && value !== '' ? value : null
}

function logRefusedMessages(
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

export function startsNewSession(
  deps: { readonly turnPolicy: TurnPolicy },
  message: Pick<NormalizedMessage, 'channel'>,
): boolean {
  const name = message.channel?.command?.name
  return name !== undefined && deps.turnPolicy.rotateCommands.includes(name)
}

// What waits in a lane is addressed to its agent by name, whichever recipient the adapter chose.

/** Where one agent alone answers, its adapter has named it already. */
export function addressMessagesToAgent<Row extends Pick<WaitingMessage, 'message'>>(
  at: GatewayConnection,
  agent: string,
  rows: readonly Row[],
): readonly Row[] {
  if (!at.isShared) return rows
  const address = formatAddress({ local: agent, domain: at.connection.domain })
  return rows.map((row) => ({ ...row, message: readdressMessage(row.message, address) }))
}
