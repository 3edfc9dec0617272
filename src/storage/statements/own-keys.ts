// Texts that a channel made for itself, one row each beside its connection. $1 tenant, $2 connection, $3 name in all of them.
import { statement } from '../database.ts'
import { isoTime } from './iso-time.ts'

const id = "$2::text || '#' || $3::text"

/** `former`: those before it that still count. `sinceMs`: how long ago it replaced them. */
export const findOwnKey = statement(
  'find_own_key',
  `
select sealed_credentials ->> 'text' as text,
  coalesce((sealed_credentials ->> 'stale')::boolean, false) as "isStale",
  (extract(epoch from now() - (sealed_credentials ->> 'since')::timestamptz) * 1000)::float8 as "sinceMs",
  coalesce((select jsonb_agg(f ->> 'text') from jsonb_array_elements(sealed_credentials -> 'former') f
    where (f ->> 'until')::timestamptz > now()), '[]'::jsonb) as former
from connections where tenant = $1 and id = ${id}`,
)

/** $4 agent, $5 what is kept. The second writer is given the first one's. */
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

/** $4 the text it replaces, $5 the new one, $6 how long the old one still counts. Of two who do this at once one does. */
export const replaceOwnKey = statement(
  'replace_own_key',
  `
update connections set sealed_credentials = jsonb_build_object(
  'text', $5::text,
  'since', ${isoTime('now()')},
  'former', jsonb_build_array(jsonb_build_object('text', $4::text, 'until', ${isoTime("(now() + $6::float8 * interval '1 ms')")}))
    || coalesce((select jsonb_agg(f) from jsonb_array_elements(sealed_credentials -> 'former') f
      where (f ->> 'until')::timestamptz > now()), '[]'::jsonb))
where tenant = $1 and id = ${id} and sealed_credentials ->> 'text' = $4
returning 1 as replaced`,
)
