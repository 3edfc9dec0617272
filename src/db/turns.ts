// The turn store. The holder is this process; the lease length is the store's.

import { noStoredAccess, type StoredAccess } from '../contract/access.ts'
import { isGatewayError } from '../contract/index.ts'
import type { PolicySender } from '../contract/sender.ts'
import type { EndedTurn } from '../tasks/task-log.ts'
import {
  claimControlLanes,
  claimLanes,
  claimOtherLanes,
  joinTurn,
  turnMessages,
  waitingMessages,
} from './claim-lanes.ts'
import { type Database, type Statement, storableJson } from './client.ts'
import {
  completeLiveTurn,
  completeTaskTurn,
  completeTurn,
  endAccessChallenge,
  endedUnder,
  pauseLiveTurn,
  pauseTurn,
} from './complete-turn.ts'
import {
  deferWaiting,
  lockLane,
  openRoomTurn,
  openTurn,
  recountLane,
  releaseLane,
  renewLanes,
  resumeTurn,
  splitLiveTurn,
  splitTurn,
} from './open-turn.ts'
import { readableRows } from './row-version.ts'
import type { TakeOver } from './take-over.ts'
import type {
  Disposition,
  FullSlots,
  HeldLane,
  NewTurn,
  StoredMessage,
  TurnEnd,
  TurnStore,
  WaitingMessage,
} from './turn-rows.ts'

/** Which worker claims, for how long, and in which tenant: a worker is never given another tenant's work. */
export type LeaseOptions = {
  readonly holder: string
  readonly leaseMs: number
  readonly tenant: string
  /** Absent: leases that have run out are always taken over. */
  readonly takeOver?: TakeOver
}

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

function isHeld(rows: readonly Held[]): boolean {
  return (rows[0]?.held ?? 0) > 0
}

export function createTurnStore(database: Database, options: LeaseOptions): TurnStore {
  const { holder, leaseMs, takeOver } = options
  return {
    ...createClaims(database, options),
    ...createJoins(database, holder),
    async open(lane, turn, dispositions) {
      const rows = await database.query<Held>(chooseOpenStatement(turn, dispositions), [
        lane.conversationId,
        holder,
        lane.epoch,
        storableJson(turn ?? {}),
        storableJson(dispositions),
        storableJson(turn?.members ?? []),
      ])
      return isHeld(rows)
    },
    async resume(hold, turnId) {
      return isHeld(await database.query<Held>(resumeTurn, [hold.conversationId, holder, hold.epoch, turnId]))
    },
    async split(hold, turnId, { delayMs, code, calls }) {
      const said = storableJson(calls ?? [])
      const params = [hold.conversationId, holder, hold.epoch, turnId, delayMs, code, said]
      return isHeld(await database.query<Held>(calls === undefined ? splitTurn : splitLiveTurn, params))
    },
    async release(hold, delayMs, cause, code, failedOn) {
      if (failedOn !== undefined) {
        const counted = [hold.conversationId, holder, hold.epoch, failedOn, delayMs]
        return isHeld(await database.query<Held>(deferWaiting, counted))
      }
      const params = [hold.conversationId, holder, hold.epoch, delayMs, cause, code ?? null]
      return isHeld(await database.query<Held>(releaseLane, params))
    },
    async complete(hold, end, isAwaited = false) {
      const params = [hold.conversationId, holder, hold.epoch, storableJson(end), database.isShared]
      const statement = chooseCompletionStatement(end, isAwaited)
      const runCompletion = () => database.query<EndedTurn & { ended: number }>(statement, params)
      const [row] = end.pairing === null ? await runCompletion() : await retryTakenSlot(runCompletion)
      if (row !== undefined && row.ended > 0) return { hasSends: row.hasSends, task: row.task ?? null }
      // Nothing to end: either the lease is lost, or an earlier try of ours was committed and its answer went missing.
      const [ours] = await database.query<{ ended: number }>(endedUnder, [end.turnId, hold.epoch])
      return (ours?.ended ?? 0) > 0 ? { hasSends: true, task: null } : undefined
    },
    async renew(holds) {
      if (holds.length === 0) return new Set()
      const params = [storableJson(holds), holder, leaseMs]
      const rows = await database.query<{ conversationId: string; databaseMs: number }>(renewLanes, params)
      if (rows[0] !== undefined) takeOver?.seen(rows[0].databaseMs)
      return new Set(rows.map((row) => row.conversationId))
    },
    repair: (hold) =>
      database.transaction(async (sql) => {
        const fence = [hold.conversationId, holder, hold.epoch]
        const [lane] = await sql.query<{ pending: number }>(lockLane, fence)
        if (lane === undefined) return false
        const [counted] = await sql.query<{ pending: number }>(recountLane, [hold.conversationId])
        return counted?.pending !== lane.pending
      }),
  }
}

/** Another replica took the pairing's slot in the same instant: nothing was stored, and there may be other slots. */
async function retryTakenSlot<T>(work: () => Promise<T>, tries = 8): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (tries <= 1 || !isGatewayError(error, 'storage_refused_row')) throw error
    return retryTakenSlot(work, tries - 1)
  }
}

/** Most turns are nowhere near a room. */
function chooseOpenStatement(turn: NewTurn | null, dispositions: readonly Disposition[]): Statement {
  const isInRoom = turn?.recall !== undefined || turn?.unheard !== undefined
  return isInRoom || dispositions.some(({ ambient }) => ambient !== undefined) ? openRoomTurn : openTurn
}

/** Most turns wait for nothing and admit every sender: they do not read the tables of those that do not. */
function chooseCompletionStatement(end: TurnEnd, isAwaited: boolean): Statement {
  if (end.ground !== null) return endAccessChallenge
  const isPause = end.actions.length > 0 || end.requests.length > 0 || end.resolved !== null
  if (end.hasLive) return isPause ? pauseLiveTurn : completeLiveTurn
  if (isPause) return pauseTurn
  return isAwaited && end.taskState !== null ? completeTaskTurn : completeTurn
}

function createClaims(
  database: Database,
  { holder, leaseMs, tenant, takeOver }: LeaseOptions,
): Pick<TurnStore, 'claim' | 'claimControl'> {
  const claimHeldLanes = async (
    statement: Statement,
    limit: number,
    crashes: string,
    ...full: readonly string[]
  ): Promise<readonly HeldLane[]> => {
    const gap = [takeOver?.lastSeen() ?? null, takeOver?.gapMs ?? 0]
    const params = [limit, holder, leaseMs, windowSize, tenant, ...gap, crashes, ...full]
    let rows = await database.query<ClaimRow>(statement, params)
    // Every lane that is due may have been put at the end; each is put there once.
    while (rows.length === 1 && isRequeue(rows[0])) rows = await database.query<ClaimRow>(statement, params)
    return rows.flatMap((row) => {
      if (row.conversationId === null) return []
      const { access, requeued: _, ...lane } = row
      return [{ ...lane, messages: withAccess(readableRows(lane.messages), access) }]
    })
  }
  return {
    claim: (limit, full, crashes = anyCrashes) =>
      full === undefined || hasNoFullSlots(full)
        ? claimHeldLanes(claimLanes, limit, crashes)
        : claimHeldLanes(claimOtherLanes, limit, crashes, storableJson(full)),
    // No agent runs in these.
    claimControl: (limit) => claimHeldLanes(claimControlLanes, limit, anyCrashes),
  }
}

function isRequeue(row: ClaimRow | undefined): boolean {
  return row?.conversationId === null && row.requeued > 0
}

function hasNoFullSlots({ agents, connections, pairs }: FullSlots): boolean {
  return agents.length + connections.length + pairs.length === 0
}

function createJoins(database: Database, holder: string): Pick<TurnStore, 'waiting' | 'taken' | 'join'> {
  return {
    async waiting(hold) {
      const [found] = await database.query<Rows>(waitingMessages, [hold.conversationId, windowSize])
      return found === undefined ? [] : withAccess(readableRows(found.messages), found.access)
    },
    async taken(hold, turnId) {
      const [found] = await database.query<Rows>(turnMessages, [hold.conversationId, turnId])
      return found === undefined ? [] : withAccess(readableRows(found.messages), found.access)
    },
    async join(hold, turnId, members, joinedAtPoll) {
      const params = [hold.conversationId, holder, hold.epoch, turnId, storableJson(members), joinedAtPoll]
      return isHeld(await database.query<Held>(joinTurn, params))
    },
  }
}

// What was read about all senders of a lane is given to each message as far as it is about its own sender.

/** As the statement answers: `told` names who was sent an access challenge within the hour. */
export type LaneAccess = Omit<StoredAccess, 'told' | 'toldAll'> & { readonly told: readonly (string | null)[] }

export function withAccess<Row extends { readonly message: StoredMessage | null }>(
  rows: readonly Row[],
  lane: LaneAccess,
): readonly (Row & { readonly access: StoredAccess })[] {
  return rows.map((row) => ({
    ...row,
    access: row.message === null ? noStoredAccess : aboutSender(row.message.sender, lane),
  }))
}

export function aboutSender(sender: PolicySender, { grants, links, pairings, told }: LaneAccess): StoredAccess {
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
