// A pool of connections that can be made anew as a whole: the driver has no way to part with a single one.
import type { PostgresClient } from './postgres-driver.ts'

export type PostgresPool = {
  /** Asked for every statement: it changes. */
  readonly client: () => PostgresClient
  /** New statements go to new connections; those that stand are closed when their statement or transaction is done. */
  readonly renew: () => void
  readonly close: () => Promise<void>
}

/** What is still under way on connections that were given up. */
const lastStatementSeconds = 60
const closeSeconds = 2

export function openPool(open: () => PostgresClient): PostgresPool {
  let client = open()
  const ending = new Set<Promise<void>>()
  return {
    client: () => client,
    renew() {
      const ended: Promise<void> = client
        .end({ timeout: lastStatementSeconds })
        .catch(() => {})
        .finally(() => ending.delete(ended))
      ending.add(ended)
      client = open()
    },
    async close() {
      const late = Promise.withResolvers<void>()
      const timer = setTimeout(late.resolve, closeSeconds * 1000)
      await Promise.all([client.end({ timeout: closeSeconds }), Promise.race([Promise.all(ending), late.promise])])
      clearTimeout(timer)
    },
  }
}
