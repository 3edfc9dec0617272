// The Worker as it is deployed; a message marked as poisoned finds no database, so that a test can see it fail for good.
import worker from '../../../src/worker.ts'

export type SeenBatch = {
  readonly queue: string
  readonly attempts: readonly number[]
  readonly isPoisoned: boolean
  /** Undefined while the Worker is at it. */
  isTaken?: boolean
}

/** Tests run in the same isolate and read it. */
export const seenBatches: SeenBatch[] = []

export const poison = { v: 1, isPoisoned: true } as const

const nowhere = { connectionString: 'postgres://nobody:nothing@127.0.0.1:9/none' }

export default {
  ...worker,
  async queue(batch, env, context) {
    const isPoisoned = batch.messages.some(
      ({ body }) => typeof body === 'object' && body !== null && 'isPoisoned' in body,
    )
    const attempts = batch.messages.map((each) => each.attempts)
    const seen: SeenBatch = { queue: batch.queue, attempts, isPoisoned }
    seenBatches.push(seen)
    try {
      await worker.queue(batch, isPoisoned ? { ...env, HYPERDRIVE: nowhere } : env, context)
      seen.isTaken = true
    } catch (error) {
      seen.isTaken = false
      throw error
    }
  },
} satisfies ExportedHandler<Cloudflare.Env>
