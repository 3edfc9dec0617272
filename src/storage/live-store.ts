// The port of live messages on SQL.
import type { LiveRow, LiveStore } from '../outbox/live-store.ts'
import type { Database } from './database.ts'
import { findLive, openLive, tellWaiting } from './statements/live.ts'
import { storableJson } from './storable-json.ts'

export function createLiveStore(database: Database, { holder }: { readonly holder: string }): LiveStore {
  return {
    async open(hold, { id, turnId, orderKey, call, clientId }) {
      const params = [hold.conversationId, holder, hold.epoch, turnId, id, orderKey, storableJson(call), clientId]
      const [row] = await database.query<{ held: number; opened: number }>(openLive, params)
      if ((row?.held ?? 0) === 0) return 'lease_lost'
      return (row?.opened ?? 0) > 0 ? 'opened' : 'known'
    },
    async find(turnId) {
      const [row] = await database.query<LiveRow>(findLive, [turnId])
      return row
    },
    async tellWaiting(hold, turnId, notices) {
      const params = [hold.conversationId, holder, hold.epoch, turnId, storableJson(notices)]
      const [row] = await database.query<{ sent: number }>(tellWaiting, params)
      return row?.sent ?? 0
    },
  }
}
