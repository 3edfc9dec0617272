// Readiness: what turns it red, what is merely shown, and that it answers in time when the database does not.
import { expect, test } from 'vitest'
import type { HealthSample } from '../../../src/db/health.ts'
import { GatewayError } from '../../../src/lib/errors.ts'
import { type ReadinessDeps, readReadiness } from '../../../src/observability/readiness.ts'

const never = () => new Promise<never>(() => {})
const sign = (changes: Partial<HealthSample>): HealthSample => ({
  kind: 'message',
  connection: 'c/default',
  state: 'answered',
  reason: '',
  current: 1,
  total: 1,
  oldestMs: null,
  lastMs: null,
  ...changes,
})
const well: ReadinessDeps = {
  probe: async () => {},
  faults: () => [],
  isCommitAnswered: () => true,
  readHealthSamples: async () => [],
  loops: () => ({ turns: 10, sends: 10, timers: 10, leases: 10 }),
  connections: ['c/default', 'd/default'],
  monotonicMs: () => performance.now(),
  patienceMs: 15_000,
}
const full = (fullMs: number) => () => ({
  slots: 2,
  used: 2,
  fullMs,
  holders: [{ agent: 'a', connection: 'c/default', used: 2, oldestMs: 70_000, fullMs }],
})
const fullShare = (fullMs: number) => () => ({ ...full(fullMs)(), slots: 3, fullMs: null })
const due = async () => [sign({ kind: 'lane', state: 'due', current: 3 })]
const problems = async (changes: Partial<ReadinessDeps>) =>
  (await readReadiness({ ...well, ...changes })).problems.map((problem) => problem.code)

test.each([
  ['the database refuses', { probe: () => Promise.reject(new Error('no')) }, ['storage_unavailable']],
  ['the database hangs', { probe: never, readHealthSamples: never }, ['storage_unavailable']],
  [
    'real work keeps failing though the probe passes',
    { faults: () => [{ statement: 'accept', sqlstate: '53100', remedy: 'make room' }] },
    ['storage_unavailable'],
  ],
  ['commits are taken and never answered', { isCommitAnswered: () => false }, ['db_unresponsive']],
  ['the turns loop hangs', { loops: () => ({ ...well.loops(), turns: 15_001 }) }, ['worker_stalled']],
  ['the sends loop hangs', { loops: () => ({ ...well.loops(), sends: 60_000 }) }, ['worker_stalled']],
  ['no slot was free for 3 s and work waits', { slots: full(3_001), readHealthSamples: due }, ['slots_full']],
  [
    'an agent had all slots it may for 3 s and work waits there',
    { slots: fullShare(3_001), readHealthSamples: due },
    ['slots_full'],
  ],
  ['leases are no longer renewed', { loops: () => ({ ...well.loops(), leases: 60_000 }) }, ['leases_stalled']],
] satisfies [string, Partial<ReadinessDeps>, string[]][])('readiness is red when %s', async (_name, changes, codes) => {
  expect(await problems(changes)).toEqual(codes)
})

test.each([
  ['a channel has been silent for a year', { readHealthSamples: async () => [sign({ lastMs: 3e10 })] }],
  ['every slot is taken and nothing waits', { slots: full(60_000) }],
  ['every slot is taken, again and again', { slots: full(2_999), readHealthSamples: due }],
  ['an agent has all slots it may and nothing waits', { slots: fullShare(60_000) }],
  [
    'a connection failed to pull twice and tries again',
    { sources: () => [{ connection: 'c/default', state: 'failing', failures: 2 }] },
  ],
  ['only the numbers cannot be read', { readHealthSamples: () => Promise.reject(new Error('deadline')) }],
  ['this process has no loops', { loops: () => ({ turns: null, sends: null, timers: null, leases: null }) }],
] satisfies [string, Partial<ReadinessDeps>][])('readiness is green when %s', async (_name, changes) => {
  expect(await problems(changes)).toEqual([])
})

test('a connection that failed is a warning: the others are still answered', async () => {
  const problem = { state: 'failed', reason: 'token_refused', problem: 'token refused', remedy: 'set it' } as const
  const since = '2026-01-01T00:00:00.000Z'
  const {
    problems: red,
    warnings,
    detail,
  } = await readReadiness({
    ...well,
    connectionProbes: () => [
      { connection: 'c/default', state: 'failed', since, summary: '', problems: [problem] },
      { connection: 'd/default', state: 'ok', since, checkedAt: since, summary: '@bot', problems: [] },
    ],
  })
  expect(red).toEqual([])
  expect(warnings).toEqual([{ code: 'connection_failed', connection: 'c/default', remedy: 'token refused; set it' }])
  expect(detail.connections).toMatchObject([
    { state: 'failed', since, reason: 'token_refused', problem: 'token refused', remedy: 'set it' },
    { state: 'ok', since, checkedAt: since, summary: '@bot' },
  ])
})

test('readiness tells a remedy with every problem', async () => {
  const { problems: found } = await readReadiness({
    ...well,
    isCommitAnswered: () => false,
    loops: () => ({ ...well.loops(), timers: 1e6 }),
  })
  expect(found.map((problem) => problem.remedy)).toEqual([
    expect.stringContaining('locks'),
    expect.stringContaining('the timers loop'),
  ])
})

test('readiness names the statement and its SQLSTATE, once where probe and work met the same', async () => {
  const remedy = '[storage] probe failed (53100); make room'
  const { problems: found } = await readReadiness({
    ...well,
    probe: () => Promise.reject(new GatewayError('storage_unavailable', remedy)),
    faults: () => [
      { statement: 'probe', sqlstate: '53100', remedy: 'make room' },
      { statement: 'settle_send', sqlstate: '53300', remedy: 'end other clients' },
    ],
  })
  expect(found).toEqual([
    { code: 'storage_unavailable', remedy },
    { code: 'storage_unavailable', remedy: '[storage] settle_send failed (53300); end other clients' },
  ])
})

test('readiness shows ages and open work of every connection, and the worst of all', async () => {
  const signs = [
    sign({ lastMs: 9_000 }),
    sign({ state: 'queued', current: 3, oldestMs: 4_000, lastMs: 2_000 }),
    sign({ kind: 'call', state: 'delivered', lastMs: 7_000 }),
    sign({ kind: 'call', state: 'retry', current: 2, oldestMs: 61_000 }),
    sign({ kind: 'call', state: 'unknown', current: 5, lastMs: 1 }),
  ]
  const { detail } = await readReadiness({ ...well, readHealthSamples: async () => signs })
  expect(detail).toMatchObject({ lastInboundAge: 2, lastOutboundAge: 7, lag: 61, loops: { turns: 0.01 } })
  expect(detail.connections).toEqual([
    {
      connection: 'c/default',
      lastInboundAge: 2,
      lastOutboundAge: 7,
      waiting: 3,
      oldestWaitingAge: 4,
      openCalls: 2,
      oldestDueCallAge: 61,
    },
    {
      connection: 'd/default',
      lastInboundAge: null,
      lastOutboundAge: null,
      waiting: 0,
      oldestWaitingAge: null,
      openCalls: 0,
      oldestDueCallAge: null,
    },
  ])
})
