// A database whose statements a test can hold up or break, one by one.
import type { Database, Failpoint, Sql } from '../../src/db/client.ts'

/** `watch` is called before and after every statement, as `before:name` and `after:name`. */
export function watchedDatabase(database: Database, watch: Failpoint): Database {
  const watched = (sql: Sql): Sql => ({
    script: (asked) => sql.script(asked),
    async query<Row>(...[asked, params]: Parameters<Sql['query']>) {
      await watch(`before:${asked.name}`)
      const rows = await sql.query<Row>(asked, params)
      await watch(`after:${asked.name}`, rows.length)
      return rows
    },
  })
  return {
    ...database,
    ...watched(database),
    transaction: (work) => database.transaction((sql) => work(watched(sql))),
  }
}
