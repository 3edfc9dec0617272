// The turn store. The holder is this process; the lease length is the store's.

import { noStoredAccess, type StoredAccess } from '../contract/access.ts'
import type { PolicySender } from '../contract/sender.ts'
import { isGatewayError } from '../lib/errors.ts'
import {
  claimControlLanes,
  claimLanes,
  claimOtherLanes,
  joinTurnSql,
  turnMessages,
  waitingMessages,
} from './claim-lanes.ts'
import { type Db, nameStatement, type Statement, storableJson, takeReadableRows } from './client.ts'
import {
  completeLiveTurn,
  completeTaskTurn,
  completeTurnSql,
  endAccessChallenge,
  endedUnder,
  pauseLiveTurn,
  pauseTurn,
} from './complete-turn.ts'
import {
  deferWaiting,
  lockLane,
  openRoomTurn,
  openTurnSql,
  recountLane,
  releaseLaneSql,
  renewLanesSql,
  resumeTurnSql,
  splitLiveTurn,
  splitTurnSql,
} from './open-turn.ts'
import type { TaskRecord } from './tasks.ts'
import type {
  Disposition,
  FullSlots,
  HeldLane,
  Hold,
  NewMember,
  NewTurn,
  ReleaseCause,
  StoredMessage,
  TurnEnd,
  TurnSplit,
  WaitingMessage,
} from './turn-rows.ts'

/** Messages read per claimed lane: enough for the largest merge, so that a long queue costs no more than a short one. */
const windowSize = 32

const anyCrashes = '{[0,)}'

type Rows = {
  readonly messages: readonly (Omit<WaitingMessage, 'access'> & { readonly v: number })[]
  readonly access: LaneAccess
}
type ClaimedLane = Omit<HeldLane, 'messages'> & Rows
/** One row without a lane where lanes were only put at the end, and none could be held. */
type ClaimRow = { readonly requeued: number } & (ClaimedLane | { readonly conversationId: null })
type Held = { readonly held: number }

function isLeaseHeld(rows: readonly Held[]): boolean {
  return (rows[0]?.held ?? 0) > 0
}

/**
 * Free lanes, the longest due first, apart from those whose next work only a newer release can read. A turn
 * that its holder left behind queues up again, so that it is not the first of all after every restart. `crashes`: only those
 * on whose turn a process died so often, as a multirange; a lane whose holder vanished may come with one more than that.
 */
export function claimTurns(
  db: Db,
  limit: number,
  full?: FullSlots,
  crashes: string = anyCrashes,
): Promise<readonly HeldLane[]> {
  return full === undefined || hasNoFullSlots(full)
    ? claimTurnLanes(db, claimLanes, limit, crashes)
    : claimTurnLanes(db, claimOtherLanes, limit, crashes, storableJson(full))
}

/** The same among conversations that hold commands for the gateway itself. */
export function claimControlTurns(db: Db, limit: number): Promise<readonly HeldLane[]> {
  return claimTurnLanes(db, claimControlLanes, limit, anyCrashes)
}

/** What waits behind the turn that runs in this lane. */
export async function listWaitingMessages(db: Db, hold: Hold): Promise<readonly WaitingMessage[]> {
  const [found] = await db.query<Rows>(waitingMessages, [hold.conversationId, windowSize])
  return found === undefined ? [] : attachAccessToMessages(takeReadableRows(found.messages), found.access)
}

/** What a turn of this lane was about, also when it has ended. The message of what was erased meanwhile is null. */
export async function listTurnMessages(db: Db, hold: Hold, turnId: string): Promise<readonly WaitingMessage[]> {
  const [found] = await db.query<Rows>(turnMessages, [hold.conversationId, turnId])
  return found === undefined ? [] : attachAccessToMessages(takeReadableRows(found.messages), found.access)
}

/** Takes waiting messages into the running turn, all or none. */
export async function joinMessagesIntoTurn(
  db: Db,
  hold: Hold,
  turnId: string,
  members: readonly NewMember[],
  joinedAtPoll: number,
): Promise<boolean> {
  const params = [hold.conversationId, db.holder, hold.epoch, turnId, storableJson(members), joinedAtPoll]
  return isLeaseHeld(await db.query<Held>(joinTurnSql, params))
}

/** Opens a turn (or none, when nothing is left to do) and settles what does not belong to it. False: lease lost. */
export async function openTurn(
  db: Db,
  lane: HeldLane,
  turn: NewTurn | null,
  dispositions: readonly Disposition[],
): Promise<boolean> {
  const rows = await db.query<Held>(chooseOpenTurnStatement(turn, dispositions), [
    lane.conversationId,
    db.holder,
    lane.epoch,
    storableJson(turn ?? {}),
    storableJson(dispositions),
    storableJson(turn?.members ?? []),
  ])
  return isLeaseHeld(rows)
}

export async function resumeTurn(db: Db, hold: Hold, turnId: string): Promise<boolean> {
  return isLeaseHeld(await db.query<Held>(resumeTurnSql, [hold.conversationId, db.holder, hold.epoch, turnId]))
}

export async function splitTurn(
  db: Db,
  hold: Hold,
  turnId: string,
  { delayMs, code, calls }: TurnSplit,
): Promise<boolean> {
  const said = storableJson(calls ?? [])
  const params = [hold.conversationId, db.holder, hold.epoch, turnId, delayMs, code, said]
  return isLeaseHeld(await db.query<Held>(calls === undefined ? splitTurnSql : splitLiveTurn, params))
}

/** Gives the lane back with its turn still open. `failedOn`: a message or signal in no turn, against which it counts. */
export async function releaseLane(
  db: Db,
  hold: Hold,
  delayMs: number,
  cause: ReleaseCause,
  code?: string,
  failedOn?: string,
): Promise<boolean> {
  if (failedOn !== undefined) {
    const counted = [hold.conversationId, db.holder, hold.epoch, failedOn, delayMs]
    return isLeaseHeld(await db.query<Held>(deferWaiting, counted))
  }
  const params = [hold.conversationId, db.holder, hold.epoch, delayMs, cause, code ?? null]
  return isLeaseHeld(await db.query<Held>(releaseLaneSql, params))
}

export type EndedTurn = {
  /** There is something to send. */
  readonly hasSends: boolean
  /** The task as of that commit, where it was asked for and can be told. */
  readonly task: TaskRecord | null
}

/** Undefined: another process has the lane. `isAwaited`: its task is wanted along with it. */
export async function completeTurn(
  db: Db,
  hold: Hold,
  end: TurnEnd,
  isAwaited: boolean = false,
): Promise<EndedTurn | undefined> {
  const params = [hold.conversationId, db.holder, hold.epoch, storableJson(end), db.isShared]
  const statement = chooseCompletionStatement(end, isAwaited)
  type Completed = EndedTurn & { readonly ended: number }
  const [row] =
    end.pairing === null
      ? await db.query<Completed>(statement, params)
      : await retryWhenPairingSlotTaken(() => db.query<Completed>(statement, params))
  if (row !== undefined && row.ended > 0) return { hasSends: row.hasSends, task: row.task ?? null }
  // Nothing to end: either the lease is lost, or an earlier try of ours was committed and its answer went missing.
  const [ours] = await db.query<{ ended: number }>(endedUnder, [end.turnId, hold.epoch])
  return (ours?.ended ?? 0) > 0 ? { hasSends: true, task: null } : undefined
}

/** Which of these are still held, after their lease was made longer. */
export async function renewLanes(db: Db, holds: readonly Hold[]): Promise<ReadonlySet<string>> {
  if (holds.length === 0) return new Set()
  const params = [storableJson(holds), db.holder, db.leaseMs]
  const rows = await db.query<{ conversationId: string; databaseMs: number }>(renewLanesSql, params)
  if (rows[0] !== undefined) db.takeOver?.seen(rows[0].databaseMs)
  return new Set(rows.map((row) => row.conversationId))
}

/** Counts a lane's rows anew after a claim found nothing in it; true when the count was wrong. */
export function recountLanePending(db: Db, hold: Hold): Promise<boolean> {
  return db.transaction(async (sql) => {
    const fence = [hold.conversationId, db.holder, hold.epoch]
    const [lane] = await sql.query<{ pending: number }>(lockLane, fence)
    if (lane === undefined) return false
    const [counted] = await sql.query<{ pending: number }>(recountLane, [hold.conversationId])
    return counted?.pending !== lane.pending
  })
}

async function claimTurnLanes(
  db: Db,
  statement: Statement,
  limit: number,
  crashes: string,
  ...full: readonly string[]
): Promise<readonly HeldLane[]> {
  const gap = [db.takeOver?.lastSeen() ?? null, db.takeOver?.gapMs ?? 0]
  const params = [limit, db.holder, db.leaseMs, windowSize, db.tenant, ...gap, crashes, ...full]
  let rows = await db.query<ClaimRow>(statement, params)
  // Every lane that is due may have been put at the end; each is put there once.
  while (rows.length === 1 && isRequeueOnly(rows[0])) rows = await db.query<ClaimRow>(statement, params)
  return rows.flatMap((row) => {
    if (row.conversationId === null) return []
    const { access, requeued: _, ...lane } = row
    return [{ ...lane, messages: attachAccessToMessages(takeReadableRows(lane.messages), access) }]
  })
}

/** Another replica took the pairing's slot in the same instant: nothing was stored, and there may be other slots. */
async function retryWhenPairingSlotTaken<T>(work: () => Promise<T>, tries = 8): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (tries <= 1 || !isGatewayError(error, 'storage_refused_row')) throw error
    return retryWhenPairingSlotTaken(work, tries - 1)
  }
}

/** Most turns are nowhere near a room. */
function chooseOpenTurnStatement(turn: NewTurn | null, dispositions: readonly Disposition[]): Statement {
  const isInRoom = turn?.recall !== undefined || turn?.unheard !== undefined
  return isInRoom || dispositions.some(({ ambient }) => ambient !== undefined) ? openRoomTurn : openTurnSql
}

/** Most turns wait for nothing and admit every sender: they do not read the tables of those that do not. */
function chooseCompletionStatement(end: TurnEnd, isAwaited: boolean): Statement {
  if (end.ground !== null) return endAccessChallenge
  const isPause = end.actions.length > 0 || end.requests.length > 0 || end.resolved !== null
  if (end.hasLive) return isPause ? pauseLiveTurn : completeLiveTurn
  if (isPause) return pauseTurn
  return isAwaited && end.taskState !== null ? completeTaskTurn : completeTurnSql
}

function isRequeueOnly(row: ClaimRow | undefined): boolean {
  return row?.conversationId === null && row.requeued > 0
}

function hasNoFullSlots({ agents, connections, pairs }: FullSlots): boolean {
  return agents.length + connections.length + pairs.length === 0
}

// What was read about all senders of a lane is given to each message as far as it is about its own sender.

/** As the statement answers: `told` names who was sent an access challenge within the hour. */
export type LaneAccess = Omit<StoredAccess, 'told' | 'toldAll'> & { readonly told: readonly (string | null)[] }

export function attachAccessToMessages<Row extends { readonly message: StoredMessage | null }>(
  rows: readonly Row[],
  lane: LaneAccess,
): readonly (Row & { readonly access: StoredAccess })[] {
  const { grants, links, pairings, told } = lane
  // Of most lanes nothing is stored about any sender.
  const isEmpty = grants.length + links.length + pairings.length + told.length === 0
  return rows.map((row) => ({
    ...row,
    access: isEmpty || row.message === null ? noStoredAccess : filterAccessBySender(row.message.sender, lane),
  }))
}

export function filterAccessBySender(
  sender: PolicySender,
  { grants, links, pairings, told }: LaneAccess,
): StoredAccess {
  const shown = new Set((sender.identities ?? []).map(({ subject }) => subject))
  const own = links.filter((link) => shown.has(link.subject))
  const names = new Set([...shown, ...own.map((link) => link.principal)])
  return {
    grants: grants.filter((grant) => names.has(grant.subject)),
    links: own,
    pairings: pairings.filter((pairing) => names.has(pairing.subject)),
    told: told.filter((subject) => subject !== null && names.has(subject)).length,
    toldAll: told.length,
  }
}

// When the next turn, delivery or timer is due, for runtimes that sleep between invocations.

/**
 * Held lanes are left out: their holder goes on with them, and if it died the regular round finds them. What stands at
 * the head of each index is enough: later rows are not due sooner.
 */
const nextDue = nameStatement(
  'next_due',
  `
with heads(due_at) as (
  (select next_at from lanes where tenant = $1 and pending > 0 and mode = 'active' and (lease_until is null or lease_until < now())
    order by next_at limit 1)
  union all
  (select next_at from send_lanes where tenant = $1 and pending > 0 and (lease_until is null or lease_until < now())
    order by next_at limit 1)
  union all
  (select due_at from timers where tenant = $1 and fired_at is null order by due_at limit 1)
)
select (extract(epoch from min(due_at) - now()) * 1000)::float8 as "dueInMs" from heads`,
)

/** Over turns, sends and timers: milliseconds until something is due that no process holds. Undefined: nothing waits. */
export async function readMsUntilNextDue(db: Db): Promise<number | undefined> {
  const [row] = await db.query<{ dueInMs: number | null }>(nextDue, [db.tenant])
  const dueInMs = row?.dueInMs ?? null
  return dueInMs === null ? undefined : Math.max(0, Math.ceil(dueInMs))
}
