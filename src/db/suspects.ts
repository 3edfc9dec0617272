// Suspect turns: which processes died on a turn, which only seemed to, and which turns run isolated from the others.

import type { Database } from './client.ts'
import { comeBack, expireDeadLanes, findSuspects, freeEndedLanes, leaveLanes } from './suspect-turns.ts'
import type { Hold } from './turn-rows.ts'
import type { LeaseOptions } from './turns.ts'

export interface SuspectStore {
  /** This process is alive and has stopped with the turn: its absence counts as no crash. */
  comeBack(hold: Hold, turnId: string): Promise<void>
  /** This process ends: what it still holds counts as no crash. */
  leave(): Promise<void>
  /** A process that held leases is gone: `died` by itself, which counts, or `ended` by us. */
  bury(holder: string, how: 'crashed' | 'ended'): Promise<void>
  /** How many turns are due on which a process died, by how often. */
  find(): Promise<readonly { readonly crashes: number; readonly turns: number }[]>
}

// The holder is this process.

export function createSuspectStore(database: Database, { holder, tenant }: LeaseOptions): SuspectStore {
  return {
    async comeBack(hold, turnId) {
      await database.query(comeBack, [hold.conversationId, holder, hold.epoch, turnId, tenant])
    },
    async leave() {
      await database.query(leaveLanes, [holder, tenant])
    },
    async bury(gone, how) {
      await database.query(how === 'crashed' ? expireDeadLanes : freeEndedLanes, [gone, tenant])
    },
    find: () => database.query<{ crashes: number; turns: number }>(findSuspects, [tenant]),
  }
}
