// Declares a suite that works on a migrated database which no other suite uses meanwhile.
import { afterAll, afterEach, beforeAll } from 'vitest'
import { type Database, nameStatement } from '../../src/db/client.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { describeOnPostgres, type TestDatabase } from './databases.ts'
import { emptyEverything, takeDatabase } from './pooled-database.ts'

const empty = nameStatement('test_empty', emptyEverything)

/** `emptied`: after every test, or only at the end, for suites whose gateway stays at work in between. */
export function describeOnDatabase(
  name: string,
  declareTests: (database: () => Database) => void,
  emptied: 'each' | 'all' = 'each',
): void {
  describeOnPostgres(name, (adminUrl) => {
    let taken: TestDatabase
    let database: Database
    beforeAll(async () => {
      taken = await takeDatabase(adminUrl)
      database = openPostgres({ url: taken.url })
    })
    if (emptied === 'each') afterEach(() => database.query(empty, []))
    afterAll(async () => {
      await database.close()
      await taken.drop()
    })
    declareTests(() => database)
  })
}
