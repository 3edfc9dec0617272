// Suspect turns: which processes died on a turn, which only seemed to, and which turns run isolated from the others.

import type { Db } from './client.ts'
import { comeBack, expireDeadLanes, findSuspects, freeEndedLanes, leaveLanes } from './suspect-turns.ts'
import type { Hold } from './turn-rows.ts'

// The holder is this process.

/** This process is alive and has stopped with the turn: its absence counts as no crash. */
export async function reclaimTurn(db: Db, hold: Hold, turnId: string): Promise<void> {
  await db.query(comeBack, [hold.conversationId, db.holder, hold.epoch, turnId, db.tenant])
}

/** This process ends: what it still holds counts as no crash. */
export async function leaveHeldLanes(db: Db): Promise<void> {
  await db.query(leaveLanes, [db.holder, db.tenant])
}

/** A process that held leases is gone: `died` by itself, which counts, or `ended` by us. */
export async function freeLanesOfDeadHolder(db: Db, gone: string, how: 'crashed' | 'ended'): Promise<void> {
  await db.query(how === 'crashed' ? expireDeadLanes : freeEndedLanes, [gone, db.tenant])
}

/** How many turns are due on which a process died, by how often. */
export function findSuspectTurns(db: Db): Promise<readonly { readonly crashes: number; readonly turns: number }[]> {
  return db.query<{ crashes: number; turns: number }>(findSuspects, [db.tenant])
}
