// Records: small rows that a channel keeps with its connection until it removes them, changed by inbound events and read one by
// one.

import { type IgnoredEvent, isOrderKey, type Records, type RecordWrite } from '../contract/index.ts'
import type { ChannelRecord } from '../contract/records.ts'
import { GatewayError } from '../lib/errors.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { type Database, historyTimeSql, nameStatement, storableJson } from './client.ts'

const maxFamilyLength = 100
const maxValueLength = 64 * 1024
/** An inbound event changes and answers a few things; more is a fault of the adapter. */
const maxChanges = 100

export type RecordChanges = Pick<
  IgnoredEvent,
  'recordWrites' | 'protocolReplies' | 'cancelPending' | 'isAccountDeleted'
>

function isStorableRecord(family: string, key: string, value: JsonObject): boolean {
  const isShort = family.length <= maxFamilyLength && isOrderKey(family) && isOrderKey(key)
  return isShort && JSON.stringify(value).length <= maxValueLength
}

export function hasRecordChanges({
  recordWrites = [],
  protocolReplies = [],
  cancelPending,
  isAccountDeleted = false,
}: RecordChanges): boolean {
  return recordWrites.length > 0 || protocolReplies.length > 0 || cancelPending !== undefined || isAccountDeleted
}

/** False: none of it can be done as it was asked for, and nothing of it is done. */
export function areRecordChangesStorable(
  changes: RecordChanges & { readonly subject?: string | undefined },
  atMost = maxChanges,
): boolean {
  const { recordWrites = [], protocolReplies = [], cancelPending, isAccountDeleted = false, subject } = changes
  return (
    recordWrites.length + protocolReplies.length <= atMost &&
    recordWrites.every(isRecordWriteStorable) &&
    protocolReplies.every(({ orderKey, clientId }) => isOrderKey(orderKey) && isOrderKey(clientId)) &&
    // Without a prefix it would be everything there is.
    (cancelPending === undefined || isOrderKey(cancelPending.orderKeyPrefix)) &&
    // An erasure needs a subject.
    (!isAccountDeleted || (subject !== undefined && isOrderKey(subject)))
  )
}

function isRecordWriteStorable(effect: RecordWrite): boolean {
  return isStorableRecord(effect.family, effect.key, effect.kind === 'put' ? effect.value : {})
}

/** One page of a list. */
const maxPage = 1_000

export function createRecordStore(
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

// Reading single records: callers that ask while a statement is under way share the next one. That one begins after the question,
// so no answer is older than its question.

export type ReadRecord = (family: string, key: string) => Promise<JsonObject | undefined>

type Question = { readonly family: string; readonly key: string } & PromiseWithResolvers<JsonObject | undefined>
type Owner = { readonly tenant: string; readonly connection: string }

const maxTogether = 100

function createRecordReader(database: Database, { tenant, connection }: Owner): ReadRecord {
  let waiting: Question[] = []
  let isAsking = false
  const readSingleRecord = async ({ family, key, resolve, reject }: Question): Promise<void> => {
    try {
      const [row] = await database.query<{ value: JsonObject }>(getRecord, [tenant, connection, family, key])
      resolve(row?.value)
    } catch (error) {
      reject(error)
    }
  }
  const readRecordsInOneQuery = async (questions: readonly Question[]): Promise<void> => {
    try {
      const asked = JSON.stringify(questions.map(({ family, key }, ord) => ({ ord, family, key })))
      const rows = await database.query<{ ord: number; value: JsonObject }>(getRecords, [tenant, connection, asked])
      for (const { ord, value } of rows) questions[ord]?.resolve(value)
      for (const { resolve } of questions) resolve(undefined)
    } catch {
      // One key that the database cannot read takes no other question along.
      for (const question of questions) await readSingleRecord(question)
    }
  }
  const drainRecordReadQueue = async (): Promise<void> => {
    isAsking = true
    while (waiting.length > 0) {
      const [first, ...others] = waiting.slice(0, maxTogether)
      waiting = waiting.slice(maxTogether)
      if (first !== undefined)
        await (others.length === 0 ? readSingleRecord(first) : readRecordsInOneQuery([first, ...others]))
    }
    isAsking = false
  }
  return (family, key) => {
    const question = { family, key, ...Promise.withResolvers<JsonObject | undefined>() }
    waiting.push(question)
    if (!isAsking) void drainRecordReadQueue()
    return question.promise
  }
}

// $1 tenant, $2 connection, $3 family where nothing else is said.

const here = 'tenant = $1 and connection = $2 and family = $3'

/** $4 key, $5 value (JSON), $6 agent or null, $7 subject or null, $8 whether one that is there stays. */
const putRecord = nameStatement(
  'put_record',
  `
insert into channel_records (tenant, connection, family, key, value, agent, subject)
values ($1, $2, $3, $4, $5::text::jsonb, $6, $7)
on conflict (tenant, connection, family, key) do update
  set value = excluded.value, agent = excluded.agent, subject = excluded.subject, updated_at = now() where not $8::boolean
returning 1 as put`,
)

const getRecord = nameStatement('get_record', `select value from channel_records where ${here} and key = $4`)

/** $3 what is asked for, as JSON: `[{ ord, family, key }]`. */
const getRecords = nameStatement(
  'get_records',
  `
select asked.ord, record.value
from json_to_recordset($3::text::json) as asked(ord int, family text, key text)
join channel_records record
  on record.tenant = $1 and record.connection = $2 and record.family = asked.family and record.key = asked.key`,
)

const removeRecord = nameStatement(
  'remove_record',
  `delete from channel_records where ${here} and key = $4 returning 1 as removed`,
)

/** $4 after which key or null, $5 how many, $6 about which agent or null. */
const listRecords = nameStatement(
  'list_records',
  `
select key, value, ${historyTimeSql('created_at')} as at from channel_records
where ${here} and ($4::text is null or key > $4::text) and ($6::text is null or agent = $6::text)
order by key limit $5`,
)

/** $4 about which agent or null. */
const countRecords = nameStatement(
  'count_records',
  `select count(*)::int as n from channel_records where ${here} and ($4::text is null or agent = $4::text)`,
)
