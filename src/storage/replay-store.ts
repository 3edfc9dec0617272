// What a replay reads, on SQL.
import type { ReplayStore, Stored } from '../gateway/replay/replay-store.ts'
import type { Database } from './database.ts'
import { findReplay } from './statements/replay.ts'

export function createReplayStore(database: Database): ReplayStore {
  return {
    async find(id, head, tail) {
      return (await database.query<Stored>(findReplay, [id, head, tail]))[0]
    },
  }
}
