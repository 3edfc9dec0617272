// Where in the database a text stands: every row of every table, as text.
import { type Database, nameStatement } from '../../src/db/client.ts'

const tables = nameStatement(
  'test_tables',
  "select tablename as name from pg_tables where schemaname = 'public' order by tablename",
)

export async function tablesWith(database: Database, text: string): Promise<readonly string[]> {
  const found: string[] = []
  for (const { name } of await database.query<{ name: string }>(tables, [])) {
    const search = nameStatement('test_search', `select 1 as hit from "${name}" t where t::text like $1 limit 1`)
    if ((await database.query(search, [`%${text}%`])).length > 0) found.push(name)
  }
  return found
}

/** How many rows of each table say it. */
export async function rowsWith(database: Database, text: string): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {}
  for (const name of await tablesWith(database, text)) {
    const count = nameStatement('test_count', `select count(*)::int as rows from "${name}" t where t::text like $1`)
    counts[name] = (await database.query<{ rows: number }>(count, [`%${text}%`]))[0]?.rows ?? 0
  }
  return counts
}
