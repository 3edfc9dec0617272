// What a replay reads, on SQL.

import { GatewayError } from '../contract/index.ts'
import type { ReplayStore, Stored } from '../gateway/replay/replay-store.ts'
import type { Database } from './database.ts'
import { rowVersion } from './row-version.ts'
import { findReplay } from './statements/replay.ts'

export function createReplayStore(database: Database): ReplayStore {
  return {
    async find(id, head, tail) {
      const [found] = await database.query<Stored & { newest: number }>(findReplay, [id, head, tail])
      if ((found?.newest ?? 0) <= rowVersion) return found
      throw new GatewayError('conflict', '[replay] a newer release stored this message; replay it with that release')
    },
  }
}
