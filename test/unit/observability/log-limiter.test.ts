// What a flood of refused requests writes into the log.
import { describe, expect, test } from 'vitest'
import type { Log, LogFields } from '../../../src/lib/log.ts'
import { limitRefusalLines } from '../../../src/observability/log-limiter.ts'

type Line = { readonly event: string; readonly facts: LogFields }

function scene(hasTimer = true) {
  const lines: Line[] = []
  const due: { readonly at: number; readonly work: () => void }[] = []
  let now = 0
  const write = (event: string, facts: LogFields = {}) => void lines.push({ event, facts })
  const inner: Log = { info: write, warn: write, error: write }
  const log = limitRefusalLines(inner, {
    monotonicMs: () => now,
    ...(hasTimer ? { later: (work, ms) => void due.push({ at: now + ms, work }) } : {}),
  })
  const pass = (ms: number): void => {
    now += ms
    for (const each of due.splice(0)) {
      if (each.at <= now) each.work()
      else due.push(each)
    }
  }
  const flood = (count: number, facts: LogFields = { connection: 'slack/default', reason: 'bad_signature' }): void => {
    for (let each = 0; each < count; each += 1) log.warn('request_rejected', { ...facts, trace: `t${each}` })
  }
  return { log, lines, pass, flood, timers: () => due.length }
}

describe('the log of refusals', () => {
  test('tells the first five of a minute in full and the others as one line with their number', () => {
    const { lines, pass, flood } = scene()
    flood(10_000)
    expect(lines.map(({ facts }) => facts.trace)).toEqual(['t0', 't1', 't2', 't3', 't4'])
    pass(60_000)
    expect(lines.slice(5)).toEqual([
      {
        event: 'request_rejected',
        facts: expect.objectContaining({ connection: 'slack/default', reason: 'bad_signature', count: 9_995 }),
      },
    ])
    flood(1)
    expect(lines.at(-1)?.facts.trace).toBe('t0')
  })

  test('keeps lines for every connection, reason and event: a flood of one hides no other', () => {
    const { log, lines, flood } = scene()
    flood(100)
    flood(1, { connection: 'telegram/default', reason: 'bad_signature' })
    flood(1, { connection: 'slack/default', reason: 'stale_timestamp' })
    log.warn('caller_refused', { reason: 'bad_signature' })
    log.warn('request_failed', { code: 'not_found' })
    log.warn('request_failed', { code: 'storage_unavailable' })
    expect(lines).toHaveLength(5 + 5)
  })

  test('says nothing more about what was told in full, and stops its timer', () => {
    const { lines, pass, flood, timers } = scene()
    flood(3)
    pass(60_000)
    pass(60_000)
    expect(lines).toHaveLength(3)
    expect(timers()).toBe(0)
  })

  test('tells the rest with the next one where nothing runs in between, and before the end', () => {
    const { log, lines, pass, flood } = scene(false)
    flood(8)
    pass(61_000)
    flood(1)
    expect(lines.map(({ facts }) => facts.count)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      3,
      undefined,
    ])
    flood(9)
    log.flush()
    expect(lines.at(-1)?.facts.count).toBe(5)
  })

  test('does not grow with words that are on no list', () => {
    const { lines, flood } = scene()
    for (let each = 0; each < 10_000; each += 1) flood(1, { connection: `made-up-${each}`, reason: 'bad_signature' })
    expect(lines.length).toBeLessThan(600)
  })

  test('leaves every other line alone', () => {
    const { log, lines } = scene()
    for (let each = 0; each < 50; each += 1) {
      log.warn('delivery_failed')
      log.info('message_received')
      log.error('request_crashed')
    }
    expect(lines).toHaveLength(150)
  })
})
