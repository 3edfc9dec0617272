// The local queue as wrangler.toml declares it: what fails is delivered again, and what keeps failing ends as a dead letter.
import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { describeInWorkerd } from './harness.ts'
import { poison, seenBatches } from './worker-under-test.ts'

describeInWorkerd('a wake that keeps failing', () => {
  test('is tried again, then handed to the dead-letter queue, whose consumer takes it', async () => {
    await env.WAKE.send(poison)
    const seen = () => seenBatches.filter((each) => each.isPoisoned)
    for (let tries = 0; tries < 600 && !seen().some((each) => each.queue === 'parley-wake-dead'); tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 50))
    const queues = seen().map((each) => each.queue)
    expect(queues).toEqual(['parley-wake', 'parley-wake', 'parley-wake', 'parley-wake-dead'])
    expect(seen().flatMap((each) => each.attempts)).toEqual([1, 2, 3, 1])
  })
})
