// docs/observability.md names every event, every metric and every problem there is, and no others.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createNodeMeter } from '../../src/node/meter.ts'
import { connectionMetrics } from '../../src/observability/connection-health.ts'
import { healthMetrics } from '../../src/observability/health-metrics.ts'
import {
  httpListenerMetrics,
  jobMetrics,
  slotMetrics,
  toolServerMetrics,
} from '../../src/observability/process-metrics.ts'
import { formatPrometheus } from '../../src/observability/prometheus.ts'
import { readPrometheusText } from '../doubles/prometheus-text.ts'
import { checkoutRoot, readSources } from './source-tree.ts'

const page = readFileSync(join(checkoutRoot, 'docs/observability.md'), 'utf8')
const rows = (section: string): readonly string[][] =>
  (page.split(`\n${section}\n`)[1] ?? '')
    .split(/\n##+ /)[0]
    ?.split('\n')
    .flatMap((line) => (/^\| `/.test(line) ? [line.split('|').map((cell) => cell.trim())] : [])) ?? []
const named = (cell: string | undefined): string => /`([^`]+)`/.exec(cell ?? '')?.[1] ?? ''

test('every event of the log is described with its level', () => {
  const logged = [...readSources(['src', 'adapters']).values()].flatMap((text) =>
    [...text.matchAll(/\blog\??\.(info|warn|error)\(\s*'([a-z_]+)'/g)].map(([, level, event]) => `${event} ${level}`),
  )
  const described = rows('## Logs').map(([, event, level]) => `${named(event)} ${level}`)
  expect(described.toSorted()).toEqual([...new Set(logged)].toSorted())
})

test('every event is written out where it is logged, so that it can be found', () => {
  const hidden = [...readSources(['src', 'adapters'])].flatMap(([file, text]) =>
    [...text.matchAll(/\blog\??\.(?:info|warn|error)\(\s*[^'\s]/g)].map(() => file),
  )
  expect(hidden).toEqual([])
})

test('every metric from the rows is described with its type', () => {
  const kinds = ['message', 'call', 'lane', 'send_lane', 'timer', 'drift', 'retention'] as const
  const signs = kinds.flatMap((kind) =>
    ['queued', 'in_turn', 'delivered'].map((state) => ({
      kind,
      state,
      connection: 'c',
      reason: '',
      current: 1,
      total: 1,
      oldestMs: 1,
      lastMs: 1,
    })),
  )
  const exposed = healthMetrics(signs, []).map(({ name, type }) => `${name} ${type}`)
  expect(
    rows('### From the rows')
      .map(([, name, type]) => `${named(name)} ${type}`)
      .toSorted(),
  ).toEqual(exposed.toSorted())
})

test('every metric of the process is described with its type', async () => {
  const holders = [{ agent: 'a', connection: 'c', used: 1, oldestMs: 1, fullMs: 1 }]
  const slots = formatPrometheus(slotMetrics({ slots: 1, used: 1, fullMs: 1, holders }))
  const jobs = formatPrometheus(
    jobMetrics({ running: 1, waiting: 1, waitedMs: 1, ended: [{ job: 'a', outcome: 'done', count: 1 }] }),
  )
  const edge = formatPrometheus(
    httpListenerMetrics({
      bodies: { bytes: 1, bodies: 1, limitBytes: 1 },
      connections: { open: 1, halfOpen: 0, idle: 0 },
      refused: new Map([['bodies_full', 1]]),
    }),
  )
  const sign = { connection: 'c', state: 'ok', since: '', summary: '', problems: [] } as const
  const connections = formatPrometheus(connectionMetrics([sign]))
  const tools = formatPrometheus(toolServerMetrics([{ server: 'a', agent: 'b', isThere: true }]))
  const families = readPrometheusText((await createNodeMeter().read()) + slots + jobs + edge + connections + tools)
  const exposed = [...families.values()].flatMap(({ name, type }) =>
    name.startsWith('parley_') ? [`${name} ${type}`] : [],
  )
  expect(
    rows('### From the process')
      .map(([, name, type]) => `${named(name)} ${type}`)
      .toSorted(),
  ).toEqual(exposed.toSorted())
})
