// The bench's arithmetic: a wrong median would be believed.
import { describe, expect, test } from 'vitest'
import type { Sample } from '../../../bench/sample.ts'
import { median, quantile, ratios, spreadOf } from '../../../bench/statistics.ts'
import { judge, summarize } from '../../../bench/summary.ts'

describe('medians and spread', () => {
  test.each([
    [[3, 1, 2], 2],
    [[4, 1, 3, 2], 2.5],
    [[10, 9, 100], 10],
    [[7], 7],
  ])('the median of %j is %d', (values, expected) => {
    expect(median(values)).toBe(expected)
  })

  test('a quantile lies between its neighbours', () => {
    expect(quantile([0, 10, 20, 30, 40], 0.99)).toBeCloseTo(39.6)
    expect(quantile([40, 0, 20, 10, 30], 0.25)).toBe(10)
  })

  test('the spread names the ends and the middle half', () => {
    expect(spreadOf([5, 1, 3, 2, 4])).toEqual({ median: 3, min: 1, max: 5, q1: 2, q3: 4 })
  })

  test('a ratio is taken within its round', () => {
    // The second round was twice as slow for both: the ratio does not move.
    expect(ratios([30, 60], [10, 20])).toEqual([3, 3])
  })

  test('nothing has no median', () => {
    expect(median([])).toBeNaN()
  })
})

describe('what the samples say', () => {
  const samples = [
    ...[10, 20, 10].map((cpu, round) => sample('floor', 32, round, cpu)),
    ...[29, 58, 40].map((cpu, round) => sample('noop', 32, round, cpu)),
    ...[60, 120, 61].map((cpu, round) => sample('postgres', 32, round, cpu)),
    ...[10, 10, 10].map((cpu, round) => sample('floor', 1, round, cpu)),
    ...[90, 90, 90].map((cpu, round) => sample('noop', 1, round, cpu)),
  ]

  test('ratios are those of the rounds, not of the medians', () => {
    const noop = summarize(samples).find((each) => each.subject === 'noop' && each.connections === 32)
    expect(noop?.timesFloor).toEqual({ median: 2.9, min: 2.9, max: 4, q1: 2.9, q3: 3.45 })
    expect(noop?.cpuMicrosPerRequest.median).toBe(40)
  })

  test('an aim is judged at its number of connections and by the median', () => {
    const verdicts = judge(summarize(samples), 32)
    expect(verdicts.map(({ subject, measure, isMet }) => [subject, measure, isMet])).toEqual([
      ['noop', 'CPU per request, times the floor', true],
      ['postgres', 'CPU per request, times the floor', false],
      ['postgres', 'statements per event', true],
    ])
  })

  test('without a floor nothing is judged', () => {
    expect(judge(summarize(samples.filter((each) => each.subject !== 'floor')), 32)).toEqual([])
  })
})

function sample(subject: string, connections: number, round: number, cpuMicrosPerRequest: number): Sample {
  return {
    subject,
    connections,
    round,
    requests: 100,
    seconds: 1,
    perSecond: 100,
    cpuMicrosPerRequest,
    databaseCpuMicrosPerRequest: null,
    p50Ms: 1,
    p99Ms: 2,
    statementsPerEvent: 0.5,
    statements: { accept: 50 },
    sends: 0,
    rssMb: 100,
    idleBefore: 1,
  }
}
