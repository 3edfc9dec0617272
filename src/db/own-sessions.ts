// Detects a pooler in transaction mode, which hands every transaction to any session: prepared statements, session settings and
// LISTEN are lost there, messages are taken and never answered. So it is found out at the start.
import postgres from 'postgres'
import { GatewayError } from '../lib/errors.ts'
import { storageRemedy, toStorageError } from './client.ts'
import { type PostgresClient, splitSocketPath } from './postgres.ts'

/** A pooler that hands out sessions at random passes a round of three by luck once in six times. */
const rounds = 6
const clients = 3
const patienceMs = 15_000

/** Throws with a remedy where two statements of one connection may run in two sessions. */
export async function requireSessionPerConnection(databaseUrl: string): Promise<void> {
  const { url, ...socket } = splitSocketPath(databaseUrl)
  const options = { ...socket, max: 1, onnotice: () => {}, connect_timeout: 5, fetch_types: false } as const
  const opened = Array.from({ length: clients }, () => postgres(url, options))
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(tooFewConnectionsError()), patienceMs)
  try {
    const areOwn = await Promise.race([hasEachClientItsOwnSession(opened), late.promise])
    if (!areOwn) throw transactionPoolerError()
  } catch (error) {
    throw error instanceof GatewayError ? error : connectionFailedError(databaseUrl, error)
  } finally {
    clearTimeout(timer)
    await Promise.all(opened.map((client) => client.end({ timeout: 1 })))
  }
}

async function hasEachClientItsOwnSession(opened: readonly PostgresClient[]): Promise<boolean> {
  for (let round = 0; round < rounds; round += 1) {
    const marks = opened.map((client, index) => ({ client, mark: `${round}.${index}` }))
    for (const { client, mark } of marks) await client.unsafe(`select set_config('parley.session', '${mark}', false)`)
    // In another order than they were set: sessions that are handed out in turn would come by at the right moment.
    const turned = [...marks.slice(1), ...marks.slice(0, 1)]
    for (const { client, mark } of turned) if ((await readSessionMark(client)) !== mark) return false
    const [first, second] = turned
    if (first === undefined || second === undefined) return true
    // While the second keeps a session for its transaction, a first that shared it has to be given another.
    await second.client.unsafe('begin')
    const isKept =
      (await readSessionMark(second.client)) === second.mark && (await readSessionMark(first.client)) === first.mark
    await second.client.unsafe('commit')
    if (!isKept) return false
  }
  return true
}

async function readSessionMark(client: PostgresClient): Promise<unknown> {
  const [row] = await client.unsafe(`select current_setting('parley.session', true) as mark`)
  return row?.['mark']
}

/** Of the address nothing but host and port, or the socket: the rest of it is a credential. */
function connectionFailedError(databaseUrl: string, error: unknown): GatewayError {
  const { path } = splitSocketPath(databaseUrl)
  const { hostname, port } = new URL(databaseUrl)
  const where = path ?? `${hostname || 'localhost'}:${port || '5432'}`
  const { code, details, cause, retryable } = toStorageError('own_sessions', error)
  const sqlstate = String(details['sqlstate'] ?? '')
  // What the server itself says has a remedy of its own; the rest is the network.
  const isAnswered = /^[0-9A-Z]{5}$/.test(sqlstate)
  const remedy = isAnswered ? storageRemedy(sqlstate) : 'start it, or correct the host and port in DATABASE_URL'
  return new GatewayError(
    code,
    `[storage] the database at ${where} cannot be opened (${sqlstate || 'no code'}); ${remedy}`,
    {
      retryable,
      details,
      cause,
    },
  )
}

function transactionPoolerError(): GatewayError {
  const remedy = 'set the direct address of the database, or that of a pooler in session mode (docs/operating.md)'
  return new GatewayError(
    'config_invalid',
    `[storage] DATABASE_URL leads to a pooler in transaction mode, which parts statements from their session; ${remedy}`,
  )
}

function tooFewConnectionsError(): GatewayError {
  return new GatewayError(
    'storage_unavailable',
    `[storage] the database gave fewer than ${clients} connections in ${patienceMs / 1000} s; where a pooler is in between, raise its pool size to 14 per replica`,
    { retryable: true },
  )
}
