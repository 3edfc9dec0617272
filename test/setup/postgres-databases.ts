// Fresh databases on a PostgreSQL server: prepared once as a template, cloned for each test file or proof.
import { randomBytes } from 'node:crypto'
import postgres from 'postgres'

/** A database of one test file. `drop` ends whatever is still connected to it. */
export type TestDatabase = { readonly name: string; readonly url: string; readonly drop: () => Promise<void> }

const namePattern = /^[a-z][a-z0-9_]{0,62}$/
// Any fixed number will do; all workers of a run share the server and so the lock.
const templateLock = 7_264_001

/** Makes the template once per server: `prepare` gets its url, and must have closed its connections when it is done. */
export async function prepareTemplate(
  adminUrl: string,
  templateName: string,
  prepare: (url: string) => Promise<void>,
): Promise<void> {
  const template = safeName(templateName)
  await withAdmin(adminUrl, async (sql) => {
    await sql`select pg_advisory_lock(${templateLock})`
    try {
      const [found] = await sql`select datistemplate as "isReady" from pg_database where datname = ${template}`
      if (found?.['isReady'] === true) return
      // Left over from a preparation that failed half-way.
      if (found !== undefined) await sql.unsafe(`drop database "${template}" with (force)`)
      await sql.unsafe(`create database "${template}" template template0`)
      await prepare(databaseUrl(adminUrl, template))
      // Cloning fails while anybody is connected; from here on nobody can be.
      await sql.unsafe(`alter database "${template}" with is_template true allow_connections false`)
    } finally {
      await sql`select pg_advisory_unlock(${templateLock})`
    }
  })
}

/** An empty database, or a clone of a prepared template. */
export async function createPostgresDatabase(adminUrl: string, templateName = 'template0'): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`
  const template = safeName(templateName)
  await withAdmin(adminUrl, (sql) => sql.unsafe(`create database "${name}" template "${template}"`))
  return { name, url: databaseUrl(adminUrl, name), drop: () => dropPostgresDatabase(adminUrl, name) }
}

export async function dropPostgresDatabase(adminUrl: string, name: string): Promise<void> {
  await withAdmin(adminUrl, (sql) => sql.unsafe(`drop database if exists "${safeName(name)}" with (force)`))
}

async function withAdmin<T>(adminUrl: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  // One connection, because an advisory lock belongs to the connection that took it.
  const sql = postgres(adminUrl, { max: 1, onnotice: () => {} })
  try {
    return await work(sql)
  } finally {
    await sql.end({ timeout: 5 })
  }
}

function databaseUrl(adminUrl: string, name: string): string {
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  return url.href
}

function safeName(name: string): string {
  if (!namePattern.test(name)) throw new Error(`not a database name: ${JSON.stringify(name)}`)
  return name
}
