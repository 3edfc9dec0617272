// A timeout for database calls: a connection that hangs says nothing, not even that it hangs.
import { GatewayError } from '../lib/errors.ts'
import { withTimeout } from '../lib/time.ts'

/** The work goes on alone when it is late; the caller is told that it is. */
export function withDatabaseTimeout<T>(ms: number, work: Promise<T>): Promise<T> {
  const databaseTimeoutError = (): GatewayError =>
    new GatewayError('storage_unavailable', '[database] the database did not answer in time; look at its load')
  return withTimeout(work, ms, databaseTimeoutError)
}
