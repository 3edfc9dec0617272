// Run control's port on SQL.
import { controlPrefix } from '../inbound/thread-names.ts'
import type {
  CancelOutcome,
  Run,
  RunEvent,
  RunLine,
  RunNews,
  RunStore,
  RunsAtAGlance,
  WaitingRun,
} from '../sessions/run-store.ts'
import type { Database } from './database.ts'
import {
  appendRunEvents,
  cancelRun,
  findBusyThread,
  findRuns,
  findWaitingRun,
  listRunEvents,
  listRuns,
  readRunsAtAGlance,
  runNews,
} from './statements/runs.ts'
import { storableJson } from './storable-json.ts'

type Cancelled = CancelOutcome & { readonly resumedAs: string | null }
type Appended = { readonly held: number; readonly stoppedBy: string | null }

export type RunStoreOptions = { readonly holder: string; readonly tenant: string }

export function createRunStore(database: Database, { holder, tenant }: RunStoreOptions): RunStore {
  const cancelRunById = async (id: string, by: string): Promise<CancelOutcome | undefined> => {
    const [row] = await database.query<Cancelled>(cancelRun, [id, by, tenant])
    if (row === undefined) return undefined
    const { kind, status, resumedAs } = row
    // A paused run that was decided about goes on under another id; the caller who stops it means that one.
    return kind === 'over' && resumedAs !== null ? cancelRunById(resumedAs, by) : { kind, status }
  }
  return {
    find: (id, owner) => database.query<Run>(findRuns, [id, tenant, owner ?? null]),
    async waiting(id, owner) {
      const [row] = await database.query<WaitingRun>(findWaitingRun, [id, tenant, owner ?? null])
      return row
    },
    list: ({ limit, before, status }) => database.query<RunLine>(listRuns, [tenant, status, before, limit]),
    events: (id, after, limit) => database.query<RunEvent>(listRunEvents, [id, after, limit, tenant]),
    cancel: cancelRunById,
    async glance(conversationId, subject) {
      const [row] = await database.query<RunsAtAGlance>(readRunsAtAGlance, [conversationId, subject, controlPrefix])
      return row
    },
    async busyThread({ conversationId, subject, room, code }) {
      const params = [conversationId, subject, `${room}:`, code, tenant]
      return (await database.query<{ id: string }>(findBusyThread, params))[0]?.id
    },
    async news(ids) {
      return ids.length === 0 ? [] : database.query<RunNews>(runNews, [storableJson(ids)])
    },
    async append(hold, turnId, attempt, events) {
      const params = [hold.conversationId, holder, hold.epoch, turnId, attempt, storableJson(events)]
      const [row] = await database.query<Appended>(appendRunEvents, params)
      return { isHeld: (row?.held ?? 0) > 0, stoppedBy: row?.stoppedBy ?? null }
    },
  }
}
