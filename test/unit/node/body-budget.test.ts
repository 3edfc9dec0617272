// The budget of bodies: what is set aside, what is kept for small ones, who makes room, and who took too long.
import { beforeEach, describe, expect, test } from 'vitest'
import { type BodyBudget, type BodyFacts, createBodyBudget, type TrackedBody } from '../../../src/node/http-server.ts'

const mebibyte = 1024 * 1024
const limits = { bodyBytes: 8 * mebibyte, addressShare: 0.5, bodyTimeoutMs: 15_000, minBodyBytesPerSecond: 1000 }

describe('the budget of bodies', () => {
  let at: number
  let budget: BodyBudget
  let refused: string[]
  beforeEach(() => {
    at = 0
    refused = []
    budget = createBodyBudget(limits, () => at)
  })
  const begin = (name: string, facts: Partial<BodyFacts> = {}): TrackedBody | undefined =>
    budget.begin({
      address: undefined,
      declaredBytes: mebibyte,
      isWebhook: true,
      refuse: (reason) => refused.push(`${name} ${reason}`),
      ...facts,
    })
  const fill = (count: number, facts: Partial<BodyFacts> = {}): readonly (TrackedBody | undefined)[] =>
    Array.from({ length: count }, (_, index) => begin(`held ${index}`, facts))

  test('large bodies leave a quarter to small ones, before a byte of them is read', () => {
    expect(fill(7).filter((body) => body === undefined)).toHaveLength(2)
    expect(begin('small', { declaredBytes: 4096 })).toBeDefined()
    expect(budget.use().bytes).toBeLessThanOrEqual(limits.bodyBytes)
  })

  test('what ends gives its bytes back', () => {
    for (const body of fill(5)) body?.end()
    expect(budget.use()).toMatchObject({ bytes: 0, bodies: 0 })
    expect(begin('next')).toBeDefined()
  })

  test('a body that has been held for a while makes room for a new one', () => {
    fill(5)
    at = 1_500
    expect(begin('new')).toBeDefined()
    expect(refused).toEqual(['held 0 bodies_full'])
  })

  test('a flood of small bodies does not keep out a small body that comes later', () => {
    fill(400, { declaredBytes: 32 * 1024 })
    at = 1_500
    expect(begin('new', { declaredBytes: 2048 })).toBeDefined()
  })

  test('one address has its share and no more; others have theirs', () => {
    const one = fill(6, { address: '203.0.113.1' })
    expect(one.filter((body) => body !== undefined)).toHaveLength(3)
    expect(begin('other', { address: '203.0.113.2' })).toBeDefined()
  })

  test('a body without a declared length is refused where it outgrows the room', () => {
    const body = begin('chunked', { declaredBytes: undefined })
    let taken = 0
    while (body?.take(64 * 1024) === true) taken += 64 * 1024
    expect(taken).toBeLessThanOrEqual(limits.bodyBytes * 0.75)
    expect(refused).toEqual(['chunked bodies_full'])
    expect(body?.take(1)).toBe(false)
  })

  test('a body in tiny pieces is refused long before it is large', () => {
    const body = begin('crumbs', { declaredBytes: undefined })
    let taken = 0
    while (body?.take(1) === true) taken += 1
    expect(taken).toBeLessThan(2_000)
    expect(refused).toEqual(['crumbs body_fragmented'])
  })

  test('a webhook has its time and no more; another body has more as long as it comes fast enough', () => {
    const [hook, upload, slow] = [
      begin('hook'),
      begin('upload', { isWebhook: false }),
      begin('slow', { isWebhook: false }),
    ]
    upload?.release()
    hook?.take(900_000)
    upload?.take(20_000)
    slow?.take(500)
    at = 15_001
    budget.sweep()
    expect(refused).toEqual(['hook body_timeout'])
    at = 16_000
    budget.sweep()
    expect(refused).toEqual(['hook body_timeout', 'slow body_timeout'])
    at = 36_000
    budget.sweep()
    expect(refused.at(-1)).toBe('upload body_timeout')
  })

  test('a complete body is neither late nor pushed out', () => {
    const [first] = fill(5)
    first?.complete()
    at = 20_000
    begin('new')
    expect(refused).toEqual(['held 1 bodies_full'])
    budget.sweep()
    expect(refused).not.toContain('held 0 body_timeout')
  })

  test('what is released counts no more, and what is refused counts until it is gone', () => {
    const [first, second] = fill(5)
    const full = budget.use().bytes
    first?.release()
    expect(budget.use().bytes).toBeLessThan(full)
    at = 15_000
    budget.sweep()
    const left = budget.use().bytes
    second?.end()
    expect(budget.use().bytes).toBeLessThan(left)
  })
})
