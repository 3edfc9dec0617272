// Counts the statements that leave the gateway, by name; otherwise the database it was given.
import type { Database, Sql } from '../../src/db/client.ts'

export function countedDatabase(database: Database, counts: Map<string, number>): Database {
  const counted = (sql: Sql): Sql => ({
    script: (statement) => sql.script(statement),
    query: (statement, params) => {
      counts.set(statement.name, (counts.get(statement.name) ?? 0) + 1)
      return sql.query(statement, params)
    },
  })
  return {
    ...database,
    ...counted(database),
    accepting: counted(database.accepting),
    transaction: (work) => database.transaction((sql) => work(counted(sql))),
  }
}
