// Notes of a connection on SQL. Secret ones are sealed before they come here.
import type { JsonObject, Notes } from '../contract/index.ts'
import type { Database } from './database.ts'
import type { Seal } from './installation-store.ts'
import { keepNote, readNote, takeNote } from './statements/notes.ts'
import { storableJson } from './storable-json.ts'

export type NoteOptions = {
  readonly tenant: string
  /** What rows call the connection, `channel/id`. */
  readonly connection: string
  readonly seal: Seal
}

type Value = { readonly plain: JsonObject } | { readonly sealed: string }

export function createNotes(database: Database, { tenant, connection, seal }: NoteOptions): Notes {
  const about = (family: string, key: string): string => JSON.stringify([tenant, connection, 'note', family, key])
  const opened = async (value: Value, family: string, key: string): Promise<JsonObject> =>
    'plain' in value ? value.plain : JSON.parse(await seal.open(value.sealed, about(family, key)))
  return {
    async keep({ family, key, value = {}, lifeMs, isSecret = false, subject, atMost, isOnce = false }) {
      const kept: Value = isSecret
        ? { sealed: await seal.close(JSON.stringify(value), about(family, key)) }
        : { plain: value }
      const facts = [storableJson(kept), lifeMs, subject ?? null, atMost ?? null, isOnce]
      return (await database.query(keepNote, [tenant, connection, family, key, ...facts])).length > 0
    },
    async read(family, key) {
      const [row] = await database.query<{ value: Value }>(readNote, [tenant, connection, family, key])
      return row === undefined ? undefined : opened(row.value, family, key)
    },
    async take(family, key) {
      const taken = await database.query<{ value: Value; isInTime: boolean }>(takeNote, [
        ...[tenant, connection, family, key],
      ])
      const [row] = taken
      return row === undefined || !row.isInTime ? undefined : opened(row.value, family, key)
    },
  }
}
