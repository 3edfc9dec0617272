// Starts one real PostgreSQL for all suites of a run that need it. Where it cannot start, they learn why and skip by name.
import type { TestProject } from 'vitest/node'
import { onceInRun } from './once-in-run.ts'
import { startPostgresServer } from './postgres-server.ts'

/** `url` is the administrator's, or empty with the reason why there is no server. */
export type PostgresAvailability = { readonly url: string; readonly reason: string }

type Started = PostgresAvailability & { readonly stop: () => Promise<void>; users: number }

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: PostgresAvailability
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const started = await onceInRun('postgres', start)
  started.users += 1
  project.provide('postgres', { url: started.url, reason: started.reason })
  return async () => {
    started.users -= 1
    if (started.users === 0) await started.stop()
  }
}

async function start(): Promise<Started> {
  try {
    const { url, stop } = await startPostgresServer({ isDurable: false })
    return { url, reason: '', stop, users: 0 }
  } catch (error) {
    const cause = error instanceof Error ? error.message : 'it ended while starting'
    return { url: '', reason: `PostgreSQL did not start: ${cause}`, stop: async () => {}, users: 0 }
  }
}
