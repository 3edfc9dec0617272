// Hop 8's port on SQL.
import type { RateLimit } from '../contract/index.ts'
import type { HeldSendLane, OpenCall, OutboxStore, SendHold } from '../outbox/outbox-store.ts'
import type { Database, Param } from './database.ts'
import { readableRows } from './row-version.ts'
import {
  callUnder,
  claimOtherSends,
  claimSends,
  lockSendLane,
  recountSendLane,
  releaseSend,
  settleSend,
  startSend,
} from './statements/outbox.ts'
import { storableJson } from './storable-json.ts'
import type { LeaseOptions } from './turn-store.ts'

/** Calls read per claimed lane: a long reply goes out in one hold, a longer one in several. */
const callsPerHold = 8

type StartRow = {
  readonly held: number
  readonly begun: number
  readonly waitMs: number
  readonly isOpen: boolean
}

type ClaimedLane = HeldSendLane & { readonly calls: readonly (OpenCall & { readonly v: number })[] }

type StandingRow = { readonly state: string; readonly reason: string | null; readonly isSettled: boolean }

export function createOutboxStore(
  database: Database,
  { holder, leaseMs, tenant, takeOver }: LeaseOptions,
): OutboxStore {
  /** Undefined: this hold has not begun it. */
  const findUncertainCall = async (hold: SendHold, { id }: OpenCall): Promise<StandingRow | undefined> => {
    const [row] = await database.query<StandingRow>(callUnder, [hold.tenant, id, hold.epoch])
    return row
  }
  const fence = (hold: SendHold): Param[] => [hold.tenant, hold.connection, hold.orderKey, holder, hold.epoch]
  return {
    async claim(limit, full = []) {
      const gap = [takeOver?.lastSeen() ?? null, takeOver?.gapMs ?? 0]
      const params = [limit, holder, leaseMs, callsPerHold, tenant, ...gap]
      const lanes = await (full.length === 0
        ? database.query<ClaimedLane>(claimSends, params)
        : database.query<ClaimedLane>(claimOtherSends, [...params, storableJson(full)]))
      return lanes.map((lane) => ({ ...lane, calls: readableRows(lane.calls) }))
    },
    async start(hold, call, limits, { place, mustBeAsked = false, isRepeat = false } = {}) {
      // A second start would be turned away by the limit that the first one used up.
      if (isRepeat && (await findUncertainCall(hold, call))?.state === 'sending') return { kind: 'started' }
      const buckets = [...bucket(limits.connection), ...bucket(limits.conversation)]
      const params = [...fence(hold), call.id, ...buckets, place ?? hold.orderKey, mustBeAsked]
      const [row] = await database.query<StartRow>(startSend, params)
      if (row === undefined || row.held === 0) return { kind: 'lease_lost' }
      if (row.begun > 0) return { kind: 'started' }
      if (!row.isOpen) return { kind: 'settled' }
      if (row.waitMs <= 0 && mustBeAsked) return { kind: 'decided' }
      return { kind: 'wait', waitMs: Math.max(1, Math.ceil(row.waitMs)) }
    },
    async settle(hold, call, settlement, isRepeat = false) {
      const stored = isRepeat ? await findUncertainCall(hold, call) : undefined
      if (stored !== undefined && stored.state !== 'sending')
        return !stored.isSettled && stored.reason === 'decided_meanwhile' ? 'late' : 'settled'
      const params = [...fence(hold), call.id, storableJson(settlement)]
      const [row] = await database.query<{ settled: number; isLate: boolean }>(settleSend, params)
      if (row === undefined || row.settled === 0) return 'lease_lost'
      return row.isLate ? 'late' : 'settled'
    },
    async release(hold, delayMs) {
      return (await database.query(releaseSend, [...fence(hold), delayMs])).length > 0
    },
    repair: (hold) =>
      database.transaction(async (sql) => {
        const [lane] = await sql.query<{ pending: number }>(lockSendLane, fence(hold))
        if (lane === undefined) return false
        const key = [hold.tenant, hold.connection, hold.orderKey]
        const [counted] = await sql.query<{ pending: number }>(recountSendLane, key)
        return counted?.pending !== lane.pending
      }),
  }
}

/** Interval between two calls, and how far ahead a burst may run, in milliseconds. */
function bucket(limit: RateLimit | undefined): [number | null, number | null] {
  if (limit === undefined) return [null, null]
  const interval = limit.perMs / limit.count
  return [interval, limit.perMs - interval]
}
