// Texts that a channel made for itself, one row each beside its connection. $1 tenant, $2 connection, $3 name in all of them.
import { statement } from '../database.ts'

const id = "$2::text || '#' || $3::text"

export const findOwnKey = statement(
  'find_own_key',
  `select sealed_credentials ->> 'text' as text from connections where tenant = $1 and id = ${id}`,
)

/** $4 agent, $5 what is kept. Whoever comes second is given the first one's. */
export const keepOwnKey = statement(
  'keep_own_key',
  `
with made as (
  insert into connections (tenant, id, channel, agent, status, sealed_credentials)
  values ($1, ${id}, split_part($2::text, '/', 1), $4, 'active', jsonb_build_object('text', $5::text))
  on conflict (tenant, id) do update set tenant = excluded.tenant
  returning sealed_credentials ->> 'text' as text
)
select text from made`,
)
