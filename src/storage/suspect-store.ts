// Suspects on SQL. The holder is this process.
import type { SuspectStore } from '../sessions/suspect-store.ts'
import type { Database } from './database.ts'
import { comeBack, expireDeadLanes, findSuspects, freeEndedLanes, leaveLanes } from './statements/suspects.ts'
import type { LeaseOptions } from './turn-store.ts'

export function createSuspectStore(database: Database, { holder, tenant }: LeaseOptions): SuspectStore {
  return {
    async comeBack(hold, turnId) {
      await database.query(comeBack, [hold.conversationId, holder, hold.epoch, turnId, tenant])
    },
    async leave() {
      await database.query(leaveLanes, [holder, tenant])
    },
    async bury(gone, how) {
      await database.query(how === 'died' ? expireDeadLanes : freeEndedLanes, [gone, tenant])
    },
    find: () => database.query<{ deaths: number; turns: number }>(findSuspects, [tenant]),
  }
}
