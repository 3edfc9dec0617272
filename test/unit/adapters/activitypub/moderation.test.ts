// Whom a rule of the operator is about, and how much one server may send.
import { describe, expect, test } from 'vitest'
import { isPeerListed } from '../../../../adapters/activitypub/moderation.ts'
import { createRateLimiter } from '../../../../src/lib/rate-limiter.ts'

const mallory = 'https://sub.bad.example/users/mallory'

describe('a list of hosts and actors', () => {
  test.each([
    ['bad.example', true],
    ['sub.bad.example', true],
    [mallory, true],
    ['d.example', false],
    ['example', true],
    ['https://sub.bad.example/users/mallory2', false],
    ['ad.example', false],
  ])('%s is about an actor below bad.example: %s', (entry, expected) => {
    expect(isPeerListed([entry], mallory)).toBe(expected)
  })

  test('what is no address is on no list', () => {
    expect(isPeerListed(['bad.example'], 'nonsense')).toBe(false)
  })
})

describe('the pace of a server', () => {
  test('beyond its number it is told when to come again, others are not touched', () => {
    let now = 1_000_000
    const pace = createRateLimiter(() => now, { count: 3, perMs: 1000 })
    for (const _ of [1, 2, 3]) expect(pace.take('a.example')).toBeUndefined()
    expect(pace.take('a.example')).toBe(1)
    expect(pace.take('b.example')).toBeUndefined()
    now += 2000
    expect(pace.take('a.example')).toBeUndefined()
  })

  test('a burst around the end of a window is not twice as long', () => {
    let now = 1_000_900
    const pace = createRateLimiter(() => now, { count: 10, perMs: 1000 })
    for (let at = 0; at < 10; at += 1) pace.take('a.example')
    now = 1_001_100
    let taken = 0
    for (let at = 0; at < 10; at += 1) if (pace.take('a.example') === undefined) taken += 1
    expect(taken).toBeLessThanOrEqual(1)
  })

  test('names without end do not fill the memory', () => {
    const pace = createRateLimiter(() => 0, { count: 1, perMs: 1000 })
    pace.take('first.example')
    for (let at = 0; at < 10_000; at += 1) pace.take(`h${at}.example`)
    expect(pace.take('first.example')).toBeUndefined()
  })
})
