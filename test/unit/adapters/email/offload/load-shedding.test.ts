// The event loop's own share of the work on mails: small ones are checked here as long as there is some of it left.
import { describe, expect, test } from 'vitest'
import { createEventLoopBudget, createMainOrThreadRunner } from '../../../../../adapters/email/offload/load-shedding.ts'

describe('the share of the event loop', () => {
  const limits = { burstMs: 20, share: 0.5, assumedMs: 4 }
  const open = () => {
    const clock = { ms: 0 }
    return { clock, share: createEventLoopBudget(() => clock.ms, limits) }
  }

  test('as much work begins at once as fits into a burst', () => {
    const { share } = open()
    const begun = Array.from({ length: 8 }, () => share.begin())
    expect(begun.filter((each) => each !== undefined)).toHaveLength(5)
  })

  test('work that was cheap leaves its place to the next', () => {
    const { share } = open()
    for (let n = 0; n < 100; n += 1) {
      const begun = share.begin()
      expect(begun).toBeDefined()
      begun?.end()
    }
  })

  test('work that cost more than was assumed is paid back before more begins', () => {
    const { clock, share } = open()
    const begun = share.begin()
    clock.ms += 60
    begun?.end()
    expect(share.begin()).toBeUndefined()
    clock.ms += 60
    expect(share.begin()).toBeDefined()
  })

  test('work that waited for others for seconds closes it for a second only', () => {
    const { clock, share } = open()
    const begun = share.begin()
    clock.ms += 30_000
    begun?.end()
    clock.ms += 1000
    expect(share.begin()).toBeDefined()
  })

  test('small mails are done here until it is spent, larger ones never', async () => {
    const { share } = open()
    const hereOr = createMainOrThreadRunner(share)
    const done = (bytes: number) =>
      hereOr(
        new Uint8Array(bytes),
        async () => 'here',
        async () => 'in a thread',
      )
    const places = await Promise.all([16_385, 16_384, 1, 1, 1, 1, 1].map(done))
    expect(places).toEqual(['in a thread', 'here', 'here', 'here', 'here', 'here', 'in a thread'])
  })

  test('work that fails is over, too', async () => {
    const hereOr = createMainOrThreadRunner(open().share)
    const fail = () => Promise.reject(new Error('not readable'))
    for (let n = 0; n < 20; n += 1) await expect(hereOr(new Uint8Array(1), fail, fail)).rejects.toThrow('not readable')
    expect(
      await hereOr(
        new Uint8Array(1),
        async () => 'here',
        async () => 'in a thread',
      ),
    ).toBe('here')
  })
})
