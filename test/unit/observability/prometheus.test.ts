// What a scraper reads: our own families and prom-client's, both through a reader that refuses what Prometheus would.
import { describe, expect, test } from 'vitest'
import type { HealthSample } from '../../../src/db/health.ts'
import { createNodeMeter } from '../../../src/node/meter.ts'
import { healthMetrics } from '../../../src/observability/health-metrics.ts'
import { formatPrometheus } from '../../../src/observability/prometheus.ts'
import { readPrometheusText } from '../../doubles/prometheus-text.ts'

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

describe('the reader', () => {
  const family = '# HELP a b\n# TYPE a gauge\n'
  const histogram = '# HELP h b\n# TYPE h histogram\n'
  test.each([
    ['a sample without a family', 'a 1\n'],
    ['no end of line', `${family}a 1`],
    ['TYPE without HELP', '# TYPE a gauge\na 1\n'],
    ['HELP without TYPE', '# HELP a b\na 1\n'],
    ['an unknown type', '# HELP a b\n# TYPE a thing\na 1\n'],
    ['an empty help', '# HELP a \n# TYPE a gauge\na 1\n'],
    ['a foreign sample', `${family}b 1\n`],
    ['a family in two pieces', `${family}a 1\n# HELP c d\n# TYPE c gauge\nc 1\n${family}a{x="1"} 1\n`],
    ['the same sample twice', `${family}a{x="1"} 1\na{x="1"} 2\n`],
    ['a value that is none', `${family}a one\n`],
    ['no value', `${family}a\n`],
    ['two spaces', `${family}a  1\n`],
    ['a label without quotes', `${family}a{x=1} 1\n`],
    ['a quote inside a label', `${family}a{x="1"2"} 1\n`],
    ['an unknown escape', `${family}a{x="\\t"} 1\n`],
    ['a label twice', `${family}a{x="1",x="2"} 1\n`],
    ['a bad label name', `${family}a{x-y="1"} 1\n`],
    ['a bad metric name', '# HELP a-b c\n# TYPE a-b gauge\na-b 1\n'],
    ['a falling counter', '# HELP a b\n# TYPE a counter\na -1\n'],
    ['some other comment', `${family}# hello\na 1\n`],
    ['buckets that fall', `${histogram}h_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n`],
    ['no last bucket', `${histogram}h_bucket{le="1"} 1\nh_sum 1\nh_count 1\n`],
  ])('refuses %s', (_name, text) => {
    expect(() => readPrometheusText(text)).toThrow()
  })
})

describe('vital signs as metrics', () => {
  const read = (signs: readonly HealthSample[] | undefined, connections: readonly string[] = []) =>
    readPrometheusText(formatPrometheus(healthMetrics(signs, connections)))

  test('are the books, with zeros for what has not happened yet', () => {
    const books = read([sign({ current: 3, total: 5 })], ['c/default', 'd/default']).get('parley_messages')
    const shown = books?.samples.map(({ labels, value }) => `${labels['connection']} ${labels['state']} ${value}`)
    expect(shown).toContain('c/default answered 3')
    expect(shown).toContain('c/default dead 0')
    expect(shown).toContain('d/default answered 0')
    expect(shown).toHaveLength(16)
  })

  test('add up what differs only in something that is no label', () => {
    const families = read([sign({ reason: 'some text' }), sign({ reason: 'an other' }), sign({ reason: 'code' })])
    const ended = families.get('parley_messages_ended_total')?.samples
    expect(ended?.map(({ labels, value }) => [labels['reason'], value])).toEqual([
      ['other', 2],
      ['code', 1],
    ])
  })

  test('keep names apart that need escaping', () => {
    const connection = 'odd/na"me\\with\nlines'
    expect(read([sign({ connection })]).get('parley_messages')?.samples[0]?.labels['connection']).toBe(connection)
  })

  test('say that the database is away, and nothing else', () => {
    expect([...read(undefined, ['c/default']).values()].map(({ name, samples }) => [name, samples[0]?.value])).toEqual([
      ['parley_database_up', 0],
    ])
  })
})

describe('the meter of a process', () => {
  test('is readable, with the process and every hop', async () => {
    const meter = createNodeMeter()
    meter.received('c/default', 'accepted', '')
    meter.committed('c/default', 4)
    meter.claimed('turns', 2)
    meter.turnEnded('c/default', 'replied', 20)
    meter.agentFailed('c/default', 'agent_failed')
    meter.sent('c/default', 'delivered', '', 30)
    const families = readPrometheusText(await meter.read())
    const names = [...families.keys()]
    for (const name of [
      'inbound_events_total',
      'commit_seconds',
      'claims_total',
      'turns_total',
      'sends_total',
      'send_seconds',
    ])
      expect(names).toContain(`parley_${name}`)
    expect(names).toContain('nodejs_eventloop_lag_seconds')
    expect(names).toContain('process_resident_memory_bytes')
  })

  test('counts tool calls by name and outcome, and how long those took that ran; of many names some are other', async () => {
    const meter = createNodeMeter()
    meter.toolCalled('shop/order', 'succeeded', 40)
    meter.toolCalled('shop/order', 'denied', 1)
    for (let index = 0; index < 500; index += 1) meter.toolCalled(`server/tool-${index}`, 'failed', 5)
    const families = readPrometheusText(await meter.read())
    const calls = families.get('parley_tool_calls_total')?.samples ?? []
    const order = calls.filter(({ labels }) => labels['tool'] === 'shop/order')
    expect(order.map(({ labels, value }) => [labels['outcome'], value])).toEqual([
      ['succeeded', 1],
      ['denied', 1],
    ])
    expect(calls.length).toBeLessThanOrEqual(203)
    expect(calls.find(({ labels }) => labels['tool'] === 'other')?.value).toBeGreaterThan(200)
    const times = families.get('parley_tool_seconds')?.samples ?? []
    expect(times.some(({ labels, value }) => labels['tool'] === 'shop/order' && value === 1)).toBe(true)
  })

  test('does not grow without end, whatever it is told', async () => {
    const meter = createNodeMeter()
    for (let index = 0; index < 1_000; index += 1) meter.sent('c/default', 'refused', `reason_${index}`)
    meter.sent('c/default', 'refused', 'chat "not" found, token 7:AAE')
    const samples = readPrometheusText(await meter.read()).get('parley_sends_total')?.samples ?? []
    expect(samples).toHaveLength(201)
    expect(samples.find(({ labels }) => labels['reason'] === 'other')?.value).toBe(801)
  })
})
