// How postgres.js runs our statements, alike on a direct connection and through a pool.
import type postgres from 'postgres'
import { isGatewayError } from '../contract/index.ts'
import { createSql, type Driver, type Failpoint, type Outcomes, type Sql, toStorageError } from './database.ts'

export type PostgresClient = postgres.Sql<Record<string, never>>

/** `client` is asked for every statement: a pool may have been made anew. */
export function createPostgresDriver(client: () => { unsafe: PostgresClient['unsafe'] }): Driver {
  return {
    run: async (statement, params) =>
      // Rows come back as the statement's own columns; the store that wrote the statement states their type.
      (await client().unsafe(statement.text, [...params], { prepare: true })) as unknown as never,
    script: async (statement) => client().unsafe(statement.text).simple(),
  }
}

export async function runTransaction<T>(
  client: PostgresClient,
  failpoint: Failpoint | undefined,
  work: (sql: Sql) => Promise<T>,
  outcomes?: Outcomes,
): Promise<T> {
  try {
    return (await client.begin((tx) =>
      work(
        createSql(
          createPostgresDriver(() => tx),
          failpoint,
          outcomes,
        ),
      ),
    )) as T
  } catch (error) {
    if (isGatewayError(error)) throw error
    // To begin or to commit.
    const failure = toStorageError('transaction', error)
    outcomes?.failed(failure)
    throw failure
  }
}

/** The driver takes a socket as an option of its own, and would send `host` to the server as a setting. */
export function splitSocket(given: string): { url: string; path?: string } {
  const url = new URL(given)
  const folder = url.searchParams.get('host')
  if (folder === null) return { url: given }
  url.searchParams.delete('host')
  return { url: url.href, path: `${folder}/.s.PGSQL.${url.port || '5432'}` }
}
