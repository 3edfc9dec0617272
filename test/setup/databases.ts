// Suites that need the run's PostgreSQL, and the databases they get on it.
import { describe, inject } from 'vitest'
import type { PostgresAvailability } from './postgres.ts'

export {
  createPostgresDatabase,
  dropPostgresDatabase,
  prepareTemplate,
  type TestDatabase,
} from './postgres-databases.ts'

/** Declares a suite that needs a real server; without one it is skipped, with the reason in its name. */
export function describeOnPostgres(name: string, declareTests: (adminUrl: string) => void): void {
  const { url, reason }: PostgresAvailability = inject('postgres')
  if (url === '') describe.skip(`${name} (${reason})`, () => declareTests(url))
  else describe(name, () => declareTests(url))
}
