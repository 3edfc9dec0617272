// A runtime that never migrates works only on the schema of its own release.
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { nameStatement } from '../../../src/db/client.ts'
import { migrate } from '../../../src/db/migrate.ts'
import { openPostgres } from '../../../src/db/postgres.ts'
import { requireSchema } from '../../../src/db/schema-version.ts'
import { createPostgresDatabase, describeOnPostgres } from '../../setup/databases.ts'

const folder = fileURLToPath(new URL('../../../drizzle', import.meta.url))
const add = nameStatement('test_add', 'insert into parley_migrations (made_at, is_compatible) values ($1, $2)')
const forget = nameStatement(
  'test_forget',
  'delete from parley_migrations where made_at = (select max(made_at) from parley_migrations)',
)

describeOnPostgres('the schema of a runtime that never migrates', (adminUrl) => {
  test('is missing, fits, is behind, is ahead but compatible, is too new, is from before the first release', async () => {
    const clone = await createPostgresDatabase(adminUrl)
    const database = openPostgres({ url: clone.url })
    const missing = {
      code: 'schema_missing',
      message: expect.stringContaining('run parley migrate on it, with DATABASE_URL'),
    }
    try {
      await expect(requireSchema(database)).rejects.toMatchObject(missing)
      await migrate(database, folder)
      await expect(requireSchema(database)).resolves.toBeUndefined()
      await database.query(add, [9_000_000_000_001, true])
      await expect(requireSchema(database)).resolves.toBeUndefined()
      await database.query(add, [9_000_000_000_002, false])
      await expect(requireSchema(database)).rejects.toMatchObject({ code: 'schema_too_new' })
      await database.query(forget, [])
      await database.query(forget, [])
      await database.query(forget, [])
      await expect(requireSchema(database)).rejects.toMatchObject(missing)
      await database.query(add, [1_794_876_492_005, false])
      await expect(requireSchema(database)).rejects.toMatchObject({ code: 'schema_too_old' })
    } finally {
      await database.close()
      await clone.drop()
    }
  })
})
