// Starts one real PostgreSQL for the whole run. Where it cannot start, suites learn why and skip by name.
import type { TestProject } from 'vitest/node'
import { startPostgresServer } from './postgres-server.ts'

/** `url` is the administrator's, or empty with the reason why there is no server. */
export type PostgresAvailability = { readonly url: string; readonly reason: string }

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: PostgresAvailability
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  try {
    const server = await startPostgresServer({ isDurable: false })
    project.provide('postgres', { url: server.url, reason: '' })
    return server.stop
  } catch (error) {
    const cause = error instanceof Error ? error.message : 'it ended while starting'
    project.provide('postgres', { url: '', reason: `PostgreSQL did not start: ${cause}` })
    return async () => {}
  }
}
