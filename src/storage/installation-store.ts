// The accounts a connection was installed into, on SQL. Credentials are sealed before they come here and opened after.
import type { Installation, Installations, JsonObject } from '../contract/index.ts'
import type { Database } from './database.ts'
import { endInstallation, findInstallation, listInstallations, saveInstallation } from './statements/installations.ts'
import { storableJson } from './storable-json.ts'

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

export function createInstallations(
  database: Database,
  { tenant, connection, agent, seal }: InstallationOptions,
): Installations {
  const sealContextForAccount = (account: string): string => JSON.stringify([tenant, connection, account])
  const installation = async ({ account, status, kept }: Row): Promise<Installation> => {
    const sealed = kept?.sealed ?? null
    const credentials: JsonObject =
      sealed === null ? {} : JSON.parse(await seal.open(sealed, sealContextForAccount(account)))
    return { account, status, facts: kept?.facts ?? {}, credentials }
  }
  return {
    async find(account) {
      const [row] = await database.query<Row>(findInstallation, [tenant, connection, account])
      return row === undefined ? undefined : installation(row)
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
      return Promise.all(rows.map(installation))
    },
  }
}
