// What a replay reads, on SQL.

import { GatewayError } from '../contract/index.ts'
import type { ReplayStore, Stored } from '../gateway/replay/replay-store.ts'
import type { Database } from './database.ts'
import { rowVersion } from './row-version.ts'
import { type LaneAccess, withAccess } from './spread-access.ts'
import { findReplay } from './statements/replay.ts'

type Found = Stored & { readonly newest: number; readonly access: LaneAccess }

export function createReplayStore(database: Database, tenant: string): ReplayStore {
  return {
    async find(id, head, tail) {
      const [found] = await database.query<Found>(findReplay, [id, head, tail, tenant])
      if (found === undefined) return undefined
      const { newest, access, ...stored } = found
      if (newest <= rowVersion) return { ...stored, members: withAccess(stored.members, access) }
      throw new GatewayError('conflict', '[replay] a newer release stored this message; replay it with that release')
    },
  }
}
