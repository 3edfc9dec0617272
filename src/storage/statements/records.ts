// Records of a connection: kept until they are removed. $1 tenant, $2 connection, $3 family where nothing else is said.
import { statement } from '../database.ts'
import { historyTimeSql } from './history.ts'

const here = 'tenant = $1 and connection = $2 and family = $3'

/** $4 key, $5 value (JSON), $6 agent or null, $7 subject or null, $8 whether one that is there stays. */
export const putRecord = statement(
  'put_record',
  `
insert into channel_records (tenant, connection, family, key, value, agent, subject)
values ($1, $2, $3, $4, $5::text::jsonb, $6, $7)
on conflict (tenant, connection, family, key) do update
  set value = excluded.value, agent = excluded.agent, subject = excluded.subject, updated_at = now() where not $8::boolean
returning 1 as put`,
)

export const getRecord = statement('get_record', `select value from channel_records where ${here} and key = $4`)

/** $3 what is asked for, as JSON: `[{ ord, family, key }]`. */
export const getRecords = statement(
  'get_records',
  `
select asked.ord, record.value
from json_to_recordset($3::text::json) as asked(ord int, family text, key text)
join channel_records record
  on record.tenant = $1 and record.connection = $2 and record.family = asked.family and record.key = asked.key`,
)

export const removeRecord = statement(
  'remove_record',
  `delete from channel_records where ${here} and key = $4 returning 1 as removed`,
)

/** $4 after which key or null, $5 how many, $6 about which agent or null. */
export const listRecords = statement(
  'list_records',
  `
select key, value, ${historyTimeSql('created_at')} as at from channel_records
where ${here} and ($4::text is null or key > $4::text) and ($6::text is null or agent = $6::text)
order by key limit $5`,
)

/** $4 about which agent or null. */
export const countRecords = statement(
  'count_records',
  `select count(*)::int as n from channel_records where ${here} and ($4::text is null or agent = $4::text)`,
)
