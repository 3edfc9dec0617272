// A timeout for database calls: a connection that hangs says nothing, not even that it hangs.
import { GatewayError } from '../contract/index.ts'

/** The work goes on alone when it is late; the caller is told that it is. */
export async function withDatabaseTimeout<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    const error = new GatewayError(
      'storage_unavailable',
      '[vitals] the database did not answer in time; look at its load',
    )
    timer = setTimeout(() => reject(error), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    if (timer !== undefined) clearTimeout(timer)
  }
}
