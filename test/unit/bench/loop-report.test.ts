// What the samples of the scenario `loop` say, and when its aims are missed.
import { expect, test } from 'vitest'
import { type LoopSample, loopTables, loopVerdicts } from '../../../bench/loop/report.ts'

const samples = [
  ...[100, 200, 100].map((cpu, round) => sample('lengths', 'short', round, cpu)),
  ...[120, 240, 150].map((cpu, round) => sample('lengths', 'long', round, cpu)),
  ...[900, 900, 900].map((cpu, round) => ({
    ...sample('turns', 'tools', round, cpu),
    statements: { begin_step: 40, finish_step: 40, claim_lanes: 8 },
  })),
]

test('a long conversation is compared with the short one of its own round, by the median', () => {
  expect(loopVerdicts(samples)).toEqual([
    {
      subject: 'postgres long',
      measure: 'CPU of a turn, times that of a short conversation',
      value: 1.2,
      aim: 1.3,
      isMet: true,
    },
    {
      subject: 'postgres long',
      measure: 'time of a turn, times that of a short conversation',
      value: 1,
      aim: 1.3,
      isMet: true,
    },
    { subject: 'postgres tools', measure: 'statements per journaled step', value: 2, aim: 2, isMet: true },
  ])
})

test('an aim that is missed is said to be', () => {
  const slow = samples.map((each) => (each.subject === 'long' ? { ...each, cpuMicros: each.cpuMicros * 1.2 } : each))
  expect(loopVerdicts(slow).map(({ isMet }) => isMet)).toEqual([false, true, true])
})

test('the table names what each figure is a multiple of', () => {
  expect(loopTables(samples)).toContain('1.20 (1.20 - 1.50) short')
})

function sample(part: LoopSample['part'], subject: string, round: number, cpuPerTurn: number): LoopSample {
  const cost = { turns: 8, ms: 80, cpuMicros: cpuPerTurn * 8, databaseCpuMicros: null, statements: {} }
  return { part, storage: 'postgres', subject, round, idleBefore: 1, ...cost }
}
