// Records of a connection on SQL.
import { type ChannelRecord, GatewayError, type Records } from '../contract/index.ts'
import { isStorableRecord } from '../inbound/effects.ts'
import type { Database } from './database.ts'
import { createRecordReader } from './record-reader.ts'
import { countRecords, listRecords, putRecord, removeRecord } from './statements/records.ts'
import { storableJson } from './storable-json.ts'

/** One page of a list. */
const maxPage = 1_000

export function createRecords(
  database: Database,
  { tenant, connection }: { readonly tenant: string; readonly connection: string },
): Records {
  const queryRecords = async <Row>(asked: typeof putRecord, ...params: (string | number | boolean | null)[]) =>
    database.query<Row>(asked, [tenant, connection, ...params])
  return {
    async put(family, key, value, { agent, subject, isOnce = false } = {}) {
      if (!isStorableRecord(family, key, value))
        throw new GatewayError('storage_refused_row', '[records] too long; shorten the key or the value')
      const facts = [storableJson(value), agent ?? null, subject ?? null, isOnce]
      return (await queryRecords(putRecord, family, key, ...facts)).length > 0
    },
    get: createRecordReader(database, { tenant, connection }),
    remove: async (family, key) => (await queryRecords(removeRecord, family, key)).length > 0,
    list: (family, { after, limit, agent }) =>
      queryRecords<ChannelRecord>(
        listRecords,
        family,
        after ?? null,
        Math.max(0, Math.min(limit, maxPage)),
        agent ?? null,
      ),
    async count(family, { agent } = {}) {
      return (await queryRecords<{ n: number }>(countRecords, family, agent ?? null))[0]?.n ?? 0
    },
  }
}
