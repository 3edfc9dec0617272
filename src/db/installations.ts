// Installations: the accounts a connection's app was installed into. Credentials are sealed before they come here and opened
// after.

import type { Installation, Installations } from '../contract/channel.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { type Database, nameStatement, storableJson } from './client.ts'

/** Port: makes text unreadable without the operator's key. `about` is bound to it: text sealed for another use does not open. */
export interface Seal {
  close(text: string, about: string): Promise<string>
  open(sealed: string, about: string): Promise<string>
}

export type InstallationOptions = {
  readonly tenant: string
  /** What rows call the connection, `channel/id`. */
  readonly connection: string
  readonly agent: string
  readonly seal: Seal
}

type Row = { readonly account: string; readonly status: Installation['status']; readonly kept: Kept | null }
type Kept = { readonly sealed: string | null; readonly facts: JsonObject; readonly reason: string | null }

export function createInstallationStore(
  database: Database,
  { tenant, connection, agent, seal }: InstallationOptions,
): Installations {
  const sealContextForAccount = (account: string): string => JSON.stringify([tenant, connection, account])
  const decryptInstallation = async ({ account, status, kept }: Row): Promise<Installation> => {
    const sealed = kept?.sealed ?? null
    const credentials: JsonObject =
      sealed === null ? {} : JSON.parse(await seal.open(sealed, sealContextForAccount(account)))
    return { account, status, facts: kept?.facts ?? {}, credentials }
  }
  return {
    async find(account) {
      const [row] = await database.query<Row>(findInstallation, [tenant, connection, account])
      return row === undefined ? undefined : decryptInstallation(row)
    },
    async save({ account, credentials, facts, status }) {
      const sealed = await seal.close(JSON.stringify(credentials), sealContextForAccount(account))
      const kept: Kept = { sealed, facts, reason: null }
      await database.query(saveInstallation, [tenant, connection, account, agent, status, storableJson(kept)])
    },
    async end(account, status, reason) {
      await database.query(endInstallation, [tenant, connection, account, status, reason])
    },
    async list() {
      const rows = await database.query<Row>(listInstallations, [tenant, connection])
      return Promise.all(rows.map(decryptInstallation))
    },
  }
}

// $1 tenant, $2 connection in all of them.

const shown = 'external_account as account, status, sealed_credentials as kept'

/** $3 account. */
const findInstallation = nameStatement(
  'find_installation',
  `select ${shown} from connections where tenant = $1 and id = $2::text || '/' || $3::text and external_account = $3`,
)

/** $3 account, $4 agent, $5 status, $6 what is kept (JSON). */
const saveInstallation = nameStatement(
  'save_installation',
  `
insert into connections (tenant, id, channel, agent, external_account, status, sealed_credentials)
values ($1, $2::text || '/' || $3::text, split_part($2::text, '/', 1), $4, $3::text, $5, $6::text::jsonb)
on conflict (tenant, id) do update set agent = excluded.agent, status = excluded.status,
  sealed_credentials = excluded.sealed_credentials`,
)

/** $3 account, $4 status, $5 reason. */
const endInstallation = nameStatement(
  'end_installation',
  `
update connections set status = $4,
  sealed_credentials = coalesce(sealed_credentials, '{"facts":{}}') || jsonb_build_object('sealed', null, 'reason', $5::text)
where tenant = $1 and id = $2::text || '/' || $3::text and external_account = $3`,
)

const listInstallations = nameStatement(
  'list_installations',
  `select ${shown} from connections where tenant = $1 and id = $2::text || '/' || external_account order by external_account`,
)
