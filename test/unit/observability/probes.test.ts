// How connections stand: asked at the start and again, bounded in time, and told in the log when it changes.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProbeProblem, ProbeRequest, ProbeResult } from '../../../src/contract/index.ts'
import type { LogFields } from '../../../src/lib/log.ts'
import {
  connectionMetrics,
  formatConnectionState,
  sourceAndListenerProblems,
} from '../../../src/observability/connection-health.ts'
import { type Probed, type ProbesDeps, type RunningProbes, runProbes } from '../../../src/observability/probes.ts'

const well: ProbeResult = { summary: '@my_bot, polling', problems: [] }
const refused: ProbeResult = {
  summary: '',
  problems: [
    { state: 'failed', reason: 'token_refused', problem: 'token refused (invalid_auth)', remedy: 'set the token' },
  ],
}
const minuteMs = 60_000

/** Time that passes when it is told to. */
function createClock() {
  let time = 1_700_000_000_000
  const waiting = new Set<{ readonly at: number; readonly wake: () => void }>()
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve))
  return {
    now: () => time,
    wait: (ms: number, signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        const entry = { at: time + ms, wake: resolve }
        if (signal.aborted) return resolve()
        waiting.add(entry)
        signal.addEventListener('abort', () => waiting.delete(entry) && resolve(), { once: true })
      }),
    async pass(ms: number) {
      const end = time + ms
      await settled()
      for (;;) {
        const [next] = [...waiting].filter(({ at }) => at <= end).toSorted((one, other) => one.at - other.at)
        if (next === undefined) break
        waiting.delete(next)
        time = next.at
        next.wake()
        await settled()
      }
      time = end
    },
  }
}

describe('probes', () => {
  let running: RunningProbes | undefined
  let clock = createClock()
  let logged: { event: string; facts: LogFields }[] = []
  const write = (event: string, facts: LogFields = {}) => void logged.push({ event, facts })
  const start = (probe: Probed['probe'], changes: Partial<ProbesDeps> = {}): RunningProbes => {
    running = runProbes({
      probed: [{ key: 'telegram/default', probe }],
      seenHere: () => [],
      lastInboundAt: async () => undefined,
      everyMs: 5 * minuteMs,
      now: clock.now,
      wait: clock.wait,
      random: () => 0.5,
      log: { info: write, warn: write, error: write },
      ...changes,
    })
    return running
  }
  /** Answers in the order given; the last one from then on. */
  const saying = (...results: readonly ProbeResult[]) => {
    const asked: number[] = []
    const probe = async (): Promise<ProbeResult> => {
      asked.push(clock.now())
      return results[Math.min(asked.length, results.length) - 1] ?? well
    }
    return { probe, asked }
  }
  const lines = () => running?.states().map(formatConnectionState)

  beforeEach(() => {
    clock = createClock()
    logged = []
  })
  afterEach(async () => {
    await running?.stop()
  })

  test('a connection that works is one line at the start', async () => {
    const { first } = start(saying(well).probe)
    expect(lines()).toEqual(['telegram: no answer yet; see parley connections list'])
    expect(formatConnectionState((await first.get('telegram/default')) ?? expect.unreachable())).toBe(
      'telegram @my_bot, polling, ok',
    )
  })

  test('a refused token is told with what to do', async () => {
    const { first } = start(saying(refused).probe)
    expect(await first.get('telegram/default')).toMatchObject({ state: 'failed', checkedAt: expect.any(String) })
    expect(lines()).toEqual(['telegram: token refused (invalid_auth). Set the token.'])
  })

  test('only changes are logged', async () => {
    const { probe } = saying(well, well, refused, refused, well)
    start(probe)
    await clock.pass(25 * minuteMs)
    expect(logged).toEqual([
      { event: 'connection_checked', facts: { connection: 'telegram/default', state: 'ok' } },
      {
        event: 'connection_checked',
        facts: {
          connection: 'telegram/default',
          state: 'failed',
          reason: 'token_refused',
          problem: 'token refused (invalid_auth); set the token',
        },
      },
      { event: 'connection_checked', facts: { connection: 'telegram/default', state: 'ok' } },
    ])
  })

  test('what the start tells is not logged too; what comes later, and every change, is', async () => {
    const { probe } = saying(well, refused)
    start(probe, { reportWithinMs: 5_000 })
    await clock.pass(minuteMs)
    expect(logged).toEqual([])
    await clock.pass(6 * minuteMs)
    expect(logged).toMatchObject([{ event: 'connection_checked', facts: { state: 'failed' } }])
    await running?.stop()
    logged = []
    const slow = async () => {
      await clock.wait(6_000, new AbortController().signal)
      return refused
    }
    start(slow, { reportWithinMs: 5_000 })
    await clock.pass(7_000)
    expect(logged).toMatchObject([{ event: 'connection_checked', facts: { state: 'failed' } }])
  })

  test('what is wrong is asked about sooner, and then less and less often', async () => {
    const { probe, asked } = saying(refused)
    const begun = clock.now()
    start(probe)
    await clock.pass(20 * minuteMs)
    expect(asked.map((at) => (at - begun) / 1000)).toEqual([0, 30, 90, 210, 450, 750, 1050])
  })

  test('a platform that is asked too often is left alone for as long as it says, and what was known stays', async () => {
    const { probe, asked } = saying(well, { summary: '', problems: [], retryAfterMs: 60 * minuteMs }, refused)
    start(probe)
    await clock.pass(64 * minuteMs)
    expect(asked).toHaveLength(2)
    expect(lines()).toEqual(['telegram @my_bot, polling, ok'])
    await clock.pass(2 * minuteMs)
    expect(running?.states()).toMatchObject([{ state: 'failed' }])
  })

  test('a platform that hangs, and an adapter that does not listen to its signal, end in ten seconds', async () => {
    let signal: AbortSignal | undefined
    start((request: ProbeRequest) => {
      signal = request.signal
      return new Promise(() => {})
    })
    await clock.pass(10_001)
    expect(signal?.aborted).toBe(true)
    expect(running?.states()).toMatchObject([{ state: 'degraded', problems: [{ reason: 'no_answer' }] }])
  })

  test('a fault of the adapter is logged without its words', async () => {
    start(async () => {
      throw new Error('Bearer xoxb-secret')
    })
    await clock.pass(1)
    expect(JSON.stringify(logged)).not.toContain('secret')
    expect(logged[0]).toMatchObject({ event: 'probe_failed', facts: { connection: 'telegram/default' } })
    expect(running?.states()).toMatchObject([{ state: 'degraded', problems: [{ reason: 'probe_failed' }] }])
  })

  test('since says when it became so, and not when it was last asked', async () => {
    start(saying(well, refused).probe)
    await clock.pass(1)
    const [before] = running?.states() ?? []
    await clock.pass(4 * minuteMs)
    expect(running?.states()[0]?.since).toBe(before?.since)
    await clock.pass(2 * minuteMs)
    const [after] = running?.states() ?? []
    expect(after?.since).not.toBe(before?.since)
    await clock.pass(10 * minuteMs)
    expect(running?.states()[0]?.since).toBe(after?.since)
  })

  test('0 asks no platform, and still tells what this process sees', async () => {
    const { probe, asked } = saying(well)
    let seen: readonly ProbeProblem[] = []
    start(probe, { everyMs: 0, seenHere: () => seen })
    await clock.pass(60 * minuteMs)
    expect(asked).toEqual([])
    expect([running?.states()[0]?.state, running?.first.size, logged]).toEqual(['ok', 0, []])
    seen = sourceAndListenerProblems(
      'telegram/default',
      [{ connection: 'telegram/default', state: 'failing', failures: 3 }],
      [],
    )
    await clock.pass(6_000)
    expect(logged).toMatchObject([
      { event: 'connection_checked', facts: { state: 'failed', reason: 'source_failing' } },
    ])
  })

  test('a probe is told when the last message came', async () => {
    const requests: ProbeRequest[] = []
    start(
      async (request) => {
        requests.push(request)
        return well
      },
      { lastInboundAt: async () => 42 },
    )
    await clock.pass(1)
    expect(requests).toMatchObject([{ lastInboundAt: 42 }])
  })
})

describe('what a process sees itself', () => {
  const source = { connection: 'slack/default', state: 'failing' } as const

  test.each([
    ['an outage is patient: twice is nothing', { ...source, code: 'internal', failures: 2 }, []],
    [
      'three times in a row is told',
      { ...source, code: 'internal', failures: 3 },
      [{ state: 'failed', problem: 'messages cannot be fetched (internal)' }],
    ],
    [
      'wrong settings are told at once, in the words of the source',
      {
        ...source,
        code: 'config_invalid',
        failures: 1,
        problem: '[slack] the app-level token was refused; set SLACK_APP_TOKEN',
      },
      [{ state: 'failed', problem: 'the app-level token was refused', remedy: 'set SLACK_APP_TOKEN' }],
    ],
  ])('%s', (_name, sign, found) => {
    expect(sourceAndListenerProblems('slack/default', [sign], [])).toMatchObject(found)
    expect(sourceAndListenerProblems('slack/other', [sign], [])).toEqual([])
  })

  test('a port that is not open is told with its code', () => {
    const sign = { connection: 'email/default', state: 'failing', code: 'EADDRINUSE', problem: 'end it' } as const
    expect(sourceAndListenerProblems('email/default', [], [sign])).toMatchObject([
      { reason: 'port_closed', problem: 'its port is not open (EADDRINUSE)', remedy: 'end it' },
    ])
  })
})

test('metrics have a sample for every connection that is known', () => {
  const sign = { since: '', summary: '', problems: [] }
  const [up, degraded] = connectionMetrics([
    { ...sign, connection: 'a', state: 'ok' },
    { ...sign, connection: 'b', state: 'degraded' },
    { ...sign, connection: 'c', state: 'failed' },
    { ...sign, connection: 'd', state: 'checking' },
  ])
  expect(up?.samples.map(({ labels, value }) => [labels['connection'], value])).toEqual([
    ['a', 1],
    ['b', 1],
    ['c', 0],
  ])
  expect(degraded?.samples.map(({ value }) => value)).toEqual([0, 1, 0])
})
