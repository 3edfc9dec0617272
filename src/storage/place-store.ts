// Rooms and addresses of one connection that cannot be written to, on SQL.
import type { PlaceChange, Places } from '../contract/index.ts'
import type { Database } from './database.ts'
import { closedPlace, notePlace } from './statements/places.ts'

/** The gateway notes, adapters ask. */
export type PlaceStore = Places & { readonly note: (change: PlaceChange, subject: string | null) => Promise<void> }

export function createPlaceStore(
  database: Database,
  { tenant, connection }: { readonly tenant: string; readonly connection: string },
): PlaceStore {
  return {
    async note({ place, closed, at }, subject) {
      await database.query(notePlace, [tenant, connection, place, closed, subject, at])
    },
    async closed(place, runId) {
      const [row] = await database.query<{ reason: string }>(closedPlace, [tenant, connection, place, runId ?? null])
      return row?.reason
    },
  }
}
