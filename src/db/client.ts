// The database client as the stores use it: named statements, short transactions, NOTIFY, the version of stored rows, and the SQL
// helpers they share. A direct connection and Hyperdrive implement it.

import { cleanText } from '../lib/clean-text.ts'
import { GatewayError } from '../lib/errors.ts'
import type { IdSource } from '../lib/ids.ts'
import type { LeaseTakeover } from './lease-takeover.ts'

/** A statement with the name that failpoints, logs and errors use. Never contains a value. */
export type Statement = { readonly name: string; readonly text: string }
/** Parameters are scalars only; structured input travels as JSON text. */
export type Param = string | number | boolean | null

/** A statement that keeps failing, the SQLSTATE, and what to do about it. */
export type StorageFault = { readonly statement: string; readonly sqlstate: string; readonly remedy: string }

export interface Sql {
  /** Several statements at once, without parameters or rows: a migration. */
  script(statement: Statement): Promise<void>
  query<Row>(statement: Statement, params: readonly Param[]): Promise<readonly Row[]>
}

export interface Database extends Sql {
  /** The same database on its own connections with a statement deadline, so that slow work cannot starve accepting. */
  readonly accepting: Sql
  /** The same on one connection of its own, opened when first used: looking at the gateway never makes it wait. */
  readonly observing: Sql
  /** Nothing but SQL may be awaited inside `work`. */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>
  /** What keeps failing now, on the connections that accept and on those that work; empty while all is well. */
  readonly faults: () => readonly StorageFault[]
  /** True where other processes may be listening and want a NOTIFY. */
  readonly isShared: boolean
  /** Tells what other replicas have left to do; nothing that this process notified itself of, since it woke its own workers already. */
  listen(onWake: (work?: WakingWork) => void): Promise<() => Promise<void>>
  close(): Promise<void>
}

/** The database for one tenant and one process: what the functions of this folder take, made once when the gateway is assembled. */
export type Db = Database & {
  /** Whose rows are read and written. A process is never given another tenant's work. */
  readonly tenant: string
  /** Which process claims work, and for how long. */
  readonly holder: string
  readonly leaseMs: number
  /** Absent: leases that have run out are always taken over. */
  readonly takeOver?: LeaseTakeover
  readonly newId: IdSource
}

/** The same database, in which these statements are not run and answer no row: for what only looks. */
export function createDbWithoutStatements(db: Db, left: readonly Statement[]): Db {
  return { ...db, query: async (asked, params) => (left.includes(asked) ? [] : db.query(asked, params)) }
}

/** Whose work a NOTIFY announces. Absent: anything may be due, as after a lost connection. */
export type WakingWork = 'turns' | 'sends'

/** Called before and after every statement, afterwards with the number of its rows; the crash tests crash and count here. */
export type Failpoint = (name: string, rows?: number) => void | Promise<void>

export function nameStatement(name: string, text: string): Statement {
  return { name, text }
}

/** Told of every statement how it ended. */
export type Outcomes = { readonly succeeded: () => void; readonly failed: (error: GatewayError) => void }

/** Turns a driver's error into ours: a code to act on, and never a parameter or a row in its text. */
export function toStorageError(name: string, error: unknown): GatewayError {
  const code = readSqlState(error)
  const kind = storageErrorCode(code)
  const advice = kind === 'storage_unavailable' ? storageRemedy(code) : 'see the database log'
  return new GatewayError(kind, `[storage] ${name} failed (${code || 'no code'}); ${advice}`, {
    retryable: kind === 'storage_unavailable',
    details: { statement: name, sqlstate: code },
    cause: redactedCause(error),
  })
}

/** PostgreSQL Appendix A: error codes. Those that an operator can do something about. */
const remedies: Readonly<Record<string, string>> = {
  '08P01': 'a pooler refuses our session settings; list them in its ignore_startup_parameters, see docs/operating.md',
  '25006': 'the database only reads; make it writable or point DATABASE_URL at the primary, it goes on by itself then',
  '26000': 'a pooler in transaction mode parts statements from their session; use its session mode or a direct address',
  '28P01': 'the database refuses the password; correct DATABASE_URL',
  '3D000': 'there is no such database; correct DATABASE_URL or create it',
  '42501': 'the role lacks a right; let it own the tables',
  '53100': 'the disk of the database is full; make room, it goes on by itself then',
  '53200': 'the database server has no memory left; give it more or lower its load',
  '53300':
    'the database has no connections left; end other clients or raise max_connections, it goes on by itself then',
  '57014': 'the statement took too long; look at the locks and the load of the database',
}

/** What to do about a failure that no row is to blame for. */
export function storageRemedy(sqlstate: string): string {
  return remedies[sqlstate] ?? 'check that the database is up and its address is right'
}

export function readSqlState(error: unknown): string {
  if (error instanceof GatewayError) return String(error.details['sqlstate'] ?? '')
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : ''
}

function storageErrorCode(code: string): 'storage_refused_row' | 'storage_unavailable' {
  // Data exceptions, constraint violations and program limits blame the row; everything else blames the moment.
  return /^(22|23|54)/.test(code) ? 'storage_refused_row' : 'storage_unavailable'
}

/** Driver errors carry the failing query and its values in extra fields; keep the message's first line only. */
function redactedCause(error: unknown): Error {
  const text = error instanceof Error ? error.message : 'unknown database error'
  const line = text.split('\n')[0] ?? ''
  const cause = new Error(line.replace(/"[^"]*"/g, '"…"').slice(0, 200))
  cause.name = 'DatabaseError'
  return cause
}

// The format of stored rows. Every inbox, turn and outbox row carries the version of the release that wrote it.
//
// A release writes this version, and reads it and every older one: a release that raises it brings older rows into the new shape
// as the stores claim them. A newer row stays where it is until a newer release claims it, and so does all that waits
// behind it in its lane: the order of a conversation outlives an upgrade.
//
// Version 2: only this release and later ones know access challenges, grants, blocks and the audit log. One of version 1 would
// run an agent for a sender who is not admitted yet, and refuse held messages once their sender is admitted.

export const rowVersion = 2

/** SQL: whether the row that comes next, given as a sub-select of its version, can be read here; no row at all can. */
export function isRowVersionReadableSql(nextVersion: string): string {
  return `coalesce(${nextVersion}, 0) <= ${rowVersion}`
}

/** The rows before the first one that only a newer release can read. */
export function takeReadableRows<Row extends { readonly v: number }>(rows: readonly Row[]): readonly Row[] {
  for (const [index, { v }] of rows.entries()) if (v > rowVersion) return rows.slice(0, index)
  return rows
}

// JSON as PostgreSQL can store it: no NUL, no half of a surrogate pair, anywhere in it.

// Both appear in JSON text only as escapes, so one look at the text tells whether anything must be cleaned.
const unstorable = /\\u0000|\\ud[89a-f][0-9a-f]{2}/i

export function storableJson(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null'
  // Nearly every text holds no such escape at all, and to see that takes a fraction of the pattern's time.
  return text.includes('\\u') && unstorable.test(text) ? JSON.stringify(value, cleanStringValue) : text
}

function cleanStringValue(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? cleanText(value) : value
}

// A time as JSON spells it; the two drivers would give two kinds of objects.

export function isoTimeSql(column: string): string {
  return `to_char(${column} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
}

/** Instants that are shown, and compared with what was shown, have no more digits than that. */
export const instantNow = "date_trunc('milliseconds', now())"

// Wording that leaves a plan only one index to choose. A plan that is made while the tables are empty finds every index equally
// cheap and is kept when they are full: a row by its id would then be looked for among all rows of its tenant.

/** SQL: a text column that is compared, and that no index can be entered by. The row is found by its key, which stands beside it. */
export function preventIndexUseSql(column: string): string {
  return `${column} || ''`
}

// How statements remember what happened to a row, in the same update that makes it happen.

/** Older entries make room; a row that is tried for a day stays small. */
const keptEntries = 20

/** An instant as explanations show it. */
export const historyTimeSql = (instant: string): string =>
  `to_char(${instant} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** `row.history` with one more entry. `fields` are the arguments of jsonb_build_object; absent ones leave no trace. */
export function appendHistoryEntrySql(row: string, fields: string): string {
  const entry = `jsonb_strip_nulls(jsonb_build_object('at', ${historyTimeSql('now()')}, ${fields}))`
  return `case when jsonb_array_length(${row}.history) >= ${keptEntries} then ${row}.history - 0 else ${row}.history end || ${entry}`
}
