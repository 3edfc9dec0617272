// Storing a result in the database: written again and again while the database is unavailable.
import type { LogFields } from '../lib/log.ts'

/**
 * Resolves with what `write` answers once the database has answered it; throws what is no outage. `isRepeat`: an earlier try may
 * have been committed though its answer went missing, so `write` looks before it repeats what must not be done twice.
 * `what` names the result in the log, should it have to be given up; undefined: nothing is lost with it.
 */
export type StoreWithRetry = <T>(what: LogFields | undefined, write: (isRepeat: boolean) => Promise<T>) => Promise<T>
