// Re-encrypts everything that is sealed at rest with the current key. Each row by itself and only if it was not changed
// meanwhile: it may be interrupted and begun again at any point, and two processes may do it at once.
import { isGatewayError } from '../lib/errors.ts'
import { type Database, nameStatement, preventIndexUseSql, type Statement } from './client.ts'
import type { Seal } from './installations.ts'
import { ownKeySealContext } from './own-keys.ts'
import { signingKeySealContext } from './signing-keys.ts'

// Page by page. $1 tenant, $2 the current key in all lists.

const page = 200

/** Sealed texts begin with their form and their key. */
const isSealedByOlderKeySql = (column: string): string =>
  `${column}::text ~ ('v1\\.(?!' || $2::text || '\\.)[0-9a-f]{8}\\.')`

/** $3 id. */
const listOlderConnections = nameStatement(
  'list_older_connections',
  `select id, external_account as account, sealed_credentials as value from connections
   where tenant = $1 and id > $3 and ${isSealedByOlderKeySql('sealed_credentials')} order by id limit ${page}`,
)

/** $2 id, $3 what it held, $4 what it holds. */
const resealConnection = nameStatement(
  'reseal_connection',
  `update connections set sealed_credentials = $4::text::jsonb
   where tenant = $1 and id = $2 and sealed_credentials = $3::text::jsonb returning 1 as done`,
)

/** $3 connection, $4 family, $5 key. */
const listOlderNotes = nameStatement(
  'list_older_ttl_entries',
  `select connection, family, key, value from ttl_entries
   where tenant = $1 and (connection, family, key) > ($3::text, $4::text, $5::text) and expires_at > now() and ${isSealedByOlderKeySql('value')}
   order by connection, family, key limit ${page}`,
)

/** $2 connection, $3 family, $4 key, $5 what it held, $6 what it holds. */
const resealNote = nameStatement(
  'reseal_ttl_entry',
  `update ttl_entries set value = $6::text::jsonb
   where tenant = $1 and connection = $2 and family = $3 and key = $4 and value = $5::text::jsonb returning 1 as done`,
)

/** $3 task, $4 id. */
const listOlderPushes = nameStatement(
  'list_older_pushes',
  `select p.task_id as "taskId", p.id, t.connection, p.sealed_secrets as value
   from push_configs p join tasks t on t.id = p.task_id and ${preventIndexUseSql('t.tenant')} = $1
   where p.tenant = $1 and (p.task_id, p.id) > ($3::uuid, $4::text) and ${isSealedByOlderKeySql('p.sealed_secrets')}
   order by p.task_id, p.id limit ${page}`,
)

/** $2 task, $3 id, $4 what it held, $5 what it holds. */
const resealPush = nameStatement(
  'reseal_push',
  `update push_configs set sealed_secrets = $5::text::jsonb
   where tenant = $1 and task_id = $2 and id = $3 and sealed_secrets = $4::text::jsonb returning 1 as done`,
)

/** $3 id. */
const listOlderSigningKeys = nameStatement(
  'list_older_signing_keys',
  `select id, secret as value from signing_keys where tenant = $1 and id > $3::uuid and ${isSealedByOlderKeySql('secret')} order by id limit ${page}`,
)

/** $2 id, $3 what it held, $4 what it holds. */
const resealSigningKey = nameStatement(
  'reseal_signing_key',
  `update signing_keys set secret = $4::text where tenant = $1 and id = $2 and secret = $3::text returning 1 as done`,
)

export type Resealed = {
  readonly resealed: number
  /** Sealed by a key that is not known here. */
  readonly unopened: number
  /** False: time was up, and there is more. */
  readonly isDone: boolean
}

export type ResealOptions = {
  readonly tenant: string
  readonly seal: Seal & { readonly currentKey: () => Promise<string | undefined> }
  readonly now: () => number
  readonly maxMs: number
}

type Row = Readonly<Record<string, unknown>> & { readonly value: unknown }

/** One table with sealed columns: how its rows are found, named, and what their texts are bound to. */
type SealedTable = {
  readonly list: Statement
  readonly save: Statement
  /** Before the first row. */
  readonly first: readonly string[]
  readonly keyOf: (row: Row) => readonly string[]
  readonly placeOf: (tenant: string, row: Row) => string
  readonly isJson: boolean
}

const valueToText = (value: unknown): string => String(value ?? '')

const noUuid = '00000000-0000-0000-0000-000000000000'

export const sealedTables: Readonly<Record<string, SealedTable>> = {
  connections: {
    list: listOlderConnections,
    save: resealConnection,
    first: [''],
    isJson: true,
    keyOf: ({ id }) => [valueToText(id)],
    placeOf(tenant, { id, account }) {
      const [connection = '', ...name] = valueToText(id).split('#')
      if (name.length > 0) return ownKeySealContext(tenant, connection, name.join('#'))
      const installed = valueToText(account)
      return JSON.stringify([tenant, valueToText(id).slice(0, -installed.length - 1), installed])
    },
  },
  ttl_entries: {
    list: listOlderNotes,
    save: resealNote,
    first: ['', '', ''],
    isJson: true,
    keyOf: ({ connection, family, key }) => [valueToText(connection), valueToText(family), valueToText(key)],
    placeOf: (tenant, { connection, family, key }) => JSON.stringify([tenant, connection, 'note', family, key]),
  },
  push_configs: {
    list: listOlderPushes,
    save: resealPush,
    first: [noUuid, ''],
    isJson: true,
    keyOf: ({ taskId, id }) => [valueToText(taskId), valueToText(id)],
    placeOf: (tenant, { connection, taskId, id }) => JSON.stringify([tenant, connection, 'push', taskId, id]),
  },
  signing_keys: {
    list: listOlderSigningKeys,
    save: resealSigningKey,
    first: [noUuid],
    isJson: false,
    keyOf: ({ id }) => [valueToText(id)],
    placeOf: (tenant, { id }) => signingKeySealContext(tenant, valueToText(id)),
  },
}

export async function resealEverySecret(database: Database, options: ResealOptions): Promise<Resealed> {
  const { tenant, seal, now, maxMs } = options
  const current = await seal.currentKey()
  if (current === undefined) return { resealed: 0, unopened: 0, isDone: true }
  const until = now() + maxMs
  let resealed = 0
  let unopened = 0
  for (const table of Object.values(sealedTables)) {
    for (let after = table.first; ; ) {
      if (now() > until) return { resealed, unopened, isDone: false }
      const rows = await database.query<Row>(table.list, [tenant, current, ...after])
      for (const row of rows) {
        const anew = await resealSecretsInValue(row.value, { seal, current, place: table.placeOf(tenant, row) })
        if (anew === undefined) unopened += 1
        else if (anew !== row.value) resealed += await saveResealedRow(database, table, tenant, row, anew)
      }
      const last = rows.at(-1)
      if (last === undefined) break
      after = table.keyOf(last)
    }
  }
  return { resealed, unopened, isDone: true }
}

async function saveResealedRow(
  database: Database,
  { save, keyOf, isJson }: SealedTable,
  tenant: string,
  row: Row,
  anew: unknown,
): Promise<number> {
  const toStoredCell = (value: unknown): string => (isJson ? JSON.stringify(value) : valueToText(value))
  return (await database.query(save, [tenant, ...keyOf(row), toStoredCell(row.value), toStoredCell(anew)])).length
}

const sealedForm = /^v1\.[0-9a-f]{8}\./

type ResealDeps = { readonly seal: Seal; readonly current: string; readonly place: string }

/** Undefined: there is a text in it that no key of ours opens. The very same value: nothing in it is older. */
async function resealSecretsInValue(value: unknown, { seal, current, place }: ResealDeps): Promise<unknown> {
  let isChanged = false
  const resealSecret = async (sealed: string): Promise<string> => {
    if (sealed.startsWith(`v1.${current}.`)) return sealed
    isChanged = true
    return seal.close(await seal.open(sealed, place), place)
  }
  try {
    const anew = await mapSealedTexts(value, resealSecret)
    return isChanged ? anew : value
  } catch (error) {
    if (isGatewayError(error, 'config_invalid')) return undefined
    throw error
  }
}

/** `facts` of an installation are in the open, and are left as they are. */
async function mapSealedTexts(value: unknown, change: (sealed: string) => Promise<string>): Promise<unknown> {
  if (typeof value === 'string') return sealedForm.test(value) ? change(value) : value
  if (Array.isArray(value)) return Promise.all(value.map((each) => mapSealedTexts(each, change)))
  if (typeof value !== 'object' || value === null) return value
  const fields = await Promise.all(
    Object.entries(value).map(async ([name, each]) => [
      name,
      name === 'facts' || name === 'plain' ? each : await mapSealedTexts(each, change),
    ]),
  )
  return Object.fromEntries(fields)
}
