// Accounts that an app was installed into, one row each beside their connection. $1 tenant, $2 connection in all of them.
import { statement } from '../database.ts'

const shown = 'external_account as account, status, sealed_credentials as kept'

/** $3 account. */
export const findInstallation = statement(
  'find_installation',
  `select ${shown} from connections where tenant = $1 and id = $2::text || '/' || $3::text and external_account = $3`,
)

/** $3 account, $4 agent, $5 status, $6 what is kept (JSON). */
export const saveInstallation = statement(
  'save_installation',
  `
insert into connections (tenant, id, channel, agent, external_account, status, sealed_credentials)
values ($1, $2::text || '/' || $3::text, split_part($2::text, '/', 1), $4, $3::text, $5, $6::text::jsonb)
on conflict (tenant, id) do update set agent = excluded.agent, status = excluded.status,
  sealed_credentials = excluded.sealed_credentials`,
)

/** $3 account, $4 status, $5 reason. */
export const endInstallation = statement(
  'end_installation',
  `
update connections set status = $4,
  sealed_credentials = coalesce(sealed_credentials, '{"facts":{}}') || jsonb_build_object('sealed', null, 'reason', $5::text)
where tenant = $1 and id = $2::text || '/' || $3::text and external_account = $3`,
)

export const listInstallations = statement(
  'list_installations',
  `select ${shown} from connections where tenant = $1 and id = $2::text || '/' || external_account order by external_account`,
)
