// One connection to PostgreSQL that streams whole tables out and in with COPY: what a backup and a restore work on.
import type { Readable, Writable } from 'node:stream'
import postgres from 'postgres'
import { type Sql, toStorageError } from './client.ts'
import { splitSocketPath, wrapPostgresClient } from './postgres.ts'

export type CopyTable = { readonly name: string; readonly columns: readonly string[] }

export interface CopySql extends Sql {
  /** The rows in PostgreSQL's text format, a line each; the same on every major version. */
  copyOut(table: CopyTable): AsyncIterable<Buffer>
  /** How many rows the server stored. Fails where it refuses one, with its transaction. */
  copyIn(table: CopyTable, rows: AsyncIterable<Buffer>): Promise<number>
}

type CopyOptions = {
  readonly url: string
  readonly applicationName: string
  /** `snapshot`: reads one moment, and changes nothing. */
  readonly mode: 'snapshot' | 'write'
}

/** On a connection of its own, which ends with the transaction. Anything may be awaited inside `work`. */
export async function inCopyTransaction<T>(
  { url, applicationName, mode }: CopyOptions,
  work: (sql: CopySql) => Promise<T>,
): Promise<T> {
  const { url: address, ...socket } = splitSocketPath(url)
  const client = postgres(address, {
    ...socket,
    max: 1,
    onnotice: () => {},
    connect_timeout: 10,
    idle_timeout: 0,
    // A copy may take hours, and the driver would end its connection after one.
    max_lifetime: null,
    fetch_types: false,
    connection: { application_name: applicationName },
  })
  try {
    return await new Promise<T>((resolve, reject) => {
      const isolation = mode === 'snapshot' ? 'isolation level repeatable read read only' : ''
      const runInCopyTransaction = async (tx: postgres.TransactionSql): Promise<void> => {
        const sql = wrapPostgresClient(() => tx, undefined)
        const copying: CopySql = {
          ...sql,
          copyOut: (table) => copyOut(tx, table),
          copyIn: (table, rows) => copyRowsIntoTable(tx, table, rows),
        }
        let result: T
        try {
          result = await work(copying)
        } catch (error) {
          // The connection may be in the middle of a copy, where no rollback is heard: it is ended instead, at once.
          reject(error)
          throw error
        }
        committed = result
      }
      let committed: T
      client.begin(isolation, runInCopyTransaction).then(
        () => resolve(committed),
        (error: unknown) => reject(toStorageError('transaction', error)),
      )
    })
  } finally {
    await client.end({ timeout: 0 })
  }
}

async function* copyOut(sql: postgres.TransactionSql, table: CopyTable): AsyncGenerator<Buffer> {
  try {
    const stream: Readable = await sql.unsafe(`copy ${copyTargetSql(table)} to stdout`).readable()
    for await (const chunk of stream) yield chunk
    // The driver stops reading its socket when the stream is full, and goes on when the stream asks for more, which a
    // stream that has seen its end never does.
    stream._read(0)
  } catch (error) {
    throw toStorageError(`copy_out ${table.name}`, error)
  }
}

async function copyRowsIntoTable(
  sql: postgres.TransactionSql,
  table: CopyTable,
  rows: AsyncIterable<Buffer>,
): Promise<number> {
  const throwCopyError = (error: unknown): never => {
    throw toStorageError(`copy_in ${table.name}`, error)
  }
  const query = sql.unsafe(`copy ${copyTargetSql(table)} from stdin`)
  const stream: Writable = await query.writable().catch(throwCopyError)
  // The driver has answered its promise with the stream, and says how the copy ended by calling it again: a refusal after
  // the last byte would be heard nowhere else.
  const answered = new Promise<{ count: number }>((resolve, reject) => {
    void Object.assign(query, { resolve, reject })
  })
  const broken = new Promise<never>((_, reject) => stream.once('error', reject))
  const ended = Promise.race([answered, broken]).catch(throwCopyError)
  ended.catch(() => {})
  try {
    for await (const chunk of rows) {
      if (!stream.write(chunk)) await Promise.race([waitForDrain(stream), ended])
    }
  } catch (error) {
    // Tells the server to forget the copy, where it was not the server that ended it.
    stream.destroy(error instanceof Error ? error : undefined)
    throw error
  }
  stream.end()
  return (await ended).count
}

function waitForDrain(stream: Writable): Promise<void> {
  return new Promise((resolve) => stream.once('drain', resolve))
}

function copyTargetSql({ name, columns }: CopyTable): string {
  return `${quoteIdentifier(name)} (${columns.map(quoteIdentifier).join(', ')})`
}

export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
