// The local queue as wrangler.toml declares it: what fails is delivered again, and what keeps failing ends as a dead letter.
import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { describeInWorkerd } from './harness.ts'
import { poison, seenBatches } from './worker-under-test.ts'

describeInWorkerd('a wake that keeps failing', () => {
  test('is tried again, then handed to the dead-letter queue, whose consumer takes it', async () => {
    await env.WAKE.send(poison)
    const seen = () => seenBatches.filter((each) => each.isPoisoned)
    const isAtTheEnd = () => seen().some((each) => each.queue === 'parley-wake-dead' && each.isTaken !== undefined)
    for (let tries = 0; tries < 600 && !isAtTheEnd(); tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 50))
    expect(seen()).toEqual([
      { queue: 'parley-wake', attempts: [1], isPoisoned: true, isTaken: false },
      { queue: 'parley-wake', attempts: [2], isPoisoned: true, isTaken: false },
      { queue: 'parley-wake', attempts: [3], isPoisoned: true, isTaken: false },
      { queue: 'parley-wake-dead', attempts: [1], isPoisoned: true, isTaken: true },
    ])
  })
})
