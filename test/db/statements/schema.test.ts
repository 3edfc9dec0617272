// The schema in TypeScript and the migrations in SQL say the same.
import { getTableName, is } from 'drizzle-orm'
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core'
import { expect, test } from 'vitest'
import { nameStatement } from '../../../src/db/client.ts'
import * as schema from '../../../src/db/schema.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const columns = nameStatement(
  'test_columns',
  `select c.table_name as "table", c.column_name as "column" from information_schema.columns c
   join information_schema.tables t using (table_schema, table_name)
   where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.table_name <> 'parley_migrations'`,
)
const tables = Object.values(schema).filter((each) => is(each, PgTable))

describeOnDatabase('the migrated schema', (database) => {
  test('has the tables and columns that the schema declares, and no others', async () => {
    const declared = tables.flatMap((table) =>
      getTableConfig(table).columns.map((column) => `${getTableName(table)}.${column.name}`),
    )
    const rows = await database().query<{ table: string; column: string }>(columns, [])
    expect(rows.map((row) => `${row.table}.${row.column}`).toSorted()).toEqual(declared.toSorted())
  })
})
