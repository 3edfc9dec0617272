// A migrated database of its own on the run's PostgreSQL: cloned from a template that is migrated once.
import { fileURLToPath } from 'node:url'
import { migrate } from '../../src/db/migrate.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { createPostgresDatabase, prepareTemplate, type TestDatabase } from './postgres-databases.ts'

export const migrationsFolder = fileURLToPath(new URL('../../drizzle', import.meta.url))

export async function clonedDatabase(adminUrl: string): Promise<TestDatabase> {
  await prepareTemplate(adminUrl, 'parley_migrated', async (url) => {
    const database = openPostgres({ url })
    await migrate(database, migrationsFolder)
    await database.close()
  })
  return createPostgresDatabase(adminUrl, 'parley_migrated')
}
