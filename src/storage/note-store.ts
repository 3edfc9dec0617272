// Notes of a connection on SQL. Secret ones are sealed before they come here.
import type { JsonObject, TtlStore } from '../contract/index.ts'
import type { Database } from './database.ts'
import type { Seal } from './installation-store.ts'
import { putTtlValue, readTtlValue, takeTtlValue } from './statements/notes.ts'
import { storableJson } from './storable-json.ts'

export type TtlStoreOptions = {
  readonly tenant: string
  /** What rows call the connection, `channel/id`. */
  readonly connection: string
  readonly seal: Seal
}

type Value = { readonly plain: JsonObject } | { readonly sealed: string }

export function createTtlStore(database: Database, { tenant, connection, seal }: TtlStoreOptions): TtlStore {
  const sealContextForNote = (family: string, key: string): string =>
    JSON.stringify([tenant, connection, 'note', family, key])
  const openNote = async (value: Value, family: string, key: string): Promise<JsonObject> =>
    'plain' in value ? value.plain : JSON.parse(await seal.open(value.sealed, sealContextForNote(family, key)))
  return {
    async keep({ family, key, value = {}, lifeMs, isSecret = false, subject, atMost, isOnce = false }) {
      const kept: Value = isSecret
        ? { sealed: await seal.close(JSON.stringify(value), sealContextForNote(family, key)) }
        : { plain: value }
      const facts = [storableJson(kept), lifeMs, subject ?? null, atMost ?? null, isOnce]
      return (await database.query(putTtlValue, [tenant, connection, family, key, ...facts])).length > 0
    },
    async read(family, key) {
      const [row] = await database.query<{ value: Value }>(readTtlValue, [tenant, connection, family, key])
      return row === undefined ? undefined : openNote(row.value, family, key)
    },
    async take(family, key) {
      const taken = await database.query<{ value: Value; isInTime: boolean }>(takeTtlValue, [
        tenant,
        connection,
        family,
        key,
      ])
      const [row] = taken
      return row === undefined || !row.isInTime ? undefined : openNote(row.value, family, key)
    },
  }
}
