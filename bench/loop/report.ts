// The figures of the scenario `loop` for people, and its aims.
import { median, ratios, type Spread, spreadOf } from '../statistics.ts'
import type { Verdict } from '../summary.ts'
import type { Cost } from './gateway.ts'

export type LoopSample = Cost & {
  readonly part: 'alone' | 'turns' | 'lengths'
  readonly storage: string
  readonly subject: string
  readonly round: number
  /** The idle share of the machine right before. */
  readonly idleBefore: number
}

/** A turn in a conversation of ten thousand messages, as a multiple of one in a conversation of ten. */
const maxLengthRatio = 1.3
/** Started and finished. */
const statementsPerStep = 2

type Row = {
  readonly part: LoopSample['part']
  readonly storage: string
  readonly subject: string
  readonly cpu: Spread
  readonly ms: Spread
  /** CPU as a multiple of `base` in the same round. */
  readonly times: Spread | null
  readonly timesMs: Spread | null
  readonly base: string | null
  readonly databaseCpu: number | null
  readonly statements: number
  readonly journal: number
}

/** What each is compared with. */
const bases: Readonly<Record<string, string>> = {
  loop: 'sdk',
  'loop-tools': 'sdk-tools',
  answer: 'function',
  tools: 'function',
  long: 'short',
}

export function loopTables(samples: readonly LoopSample[]): string {
  const rows = rowsOf(samples)
  const cells = [columns.map(({ title }) => title), ...rows.map((row) => columns.map(({ cell }) => cell(row)))]
  const widths = columns.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  const lines = cells.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`)
  lines.splice(1, 0, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`)
  return ['per run or turn; median (lowest - highest) of the rounds', '', ...lines].join('\n')
}

export function loopVerdicts(samples: readonly LoopSample[]): readonly Verdict[] {
  return rowsOf(samples).flatMap(({ storage, subject, times, timesMs, journal }) => {
    const verdict = (measure: string, value: number, aim: number): Verdict => ({
      subject: `${storage} ${subject}`,
      measure,
      value,
      aim,
      isMet: value <= aim,
    })
    if (subject === 'long' && times !== null && timesMs !== null)
      return [
        verdict('CPU of a turn, times that of a short conversation', times.median, maxLengthRatio),
        verdict('time of a turn, times that of a short conversation', timesMs.median, maxLengthRatio),
      ]
    // Two answers of the model and three calls.
    return subject === 'tools' ? [verdict('statements per journaled step', journal / 5, statementsPerStep)] : []
  })
}

const columns: readonly { readonly title: string; readonly cell: (row: Row) => string }[] = [
  { title: 'database', cell: ({ storage }) => storage },
  { title: 'subject', cell: ({ subject }) => subject },
  { title: 'CPU µs', cell: ({ cpu }) => spread(cpu, 0) },
  { title: 'ms', cell: ({ ms }) => spread(ms, 2) },
  {
    title: 'CPU, times',
    cell: ({ times, base }) => (times === null ? '-' : `${spread(times, 2)} ${base}`),
  },
  { title: 'statements', cell: ({ statements }) => (statements === 0 ? '-' : statements.toFixed(1)) },
  { title: 'of the journal', cell: ({ journal }) => (journal === 0 ? '-' : journal.toFixed(1)) },
  { title: 'PostgreSQL µs', cell: ({ databaseCpu }) => (databaseCpu === null ? '-' : databaseCpu.toFixed(0)) },
]

function rowsOf(samples: readonly LoopSample[]): readonly Row[] {
  const keys = new Map(samples.map((each) => [`${each.part} ${each.storage} ${each.subject}`, each]))
  return [...keys.values()].map(({ part, storage, subject }) => {
    const of = (name: string | undefined): readonly LoopSample[] =>
      samples.filter((each) => each.part === part && each.storage === storage && each.subject === name)
    const own = of(subject)
    const base = of(bases[subject])
    const compared = (read: (sample: LoopSample) => number): Spread | null =>
      base.length === 0 ? null : spreadOf(ratios(own.map(read), base.map(read)))
    return {
      part,
      storage,
      subject,
      cpu: spreadOf(own.map(cpuPerTurn)),
      ms: spreadOf(own.map(msPerTurn)),
      times: compared(cpuPerTurn),
      timesMs: compared(msPerTurn),
      base: bases[subject] ?? null,
      databaseCpu: databaseCpuPerTurn(own),
      statements: median(own.map((each) => sum(each.statements) / each.turns)),
      journal: median(own.map((each) => journalOf(each.statements) / each.turns)),
    }
  })
}

function cpuPerTurn({ cpuMicros, turns }: LoopSample): number {
  return cpuMicros / turns
}

function msPerTurn({ ms, turns }: LoopSample): number {
  return ms / turns
}

/** Over all rounds: the system counts in hundredths of a second. */
function databaseCpuPerTurn(samples: readonly LoopSample[]): number | null {
  const known = samples.filter((each) => each.databaseCpuMicros !== null)
  if (known.length === 0) return null
  const [micros, turns] = known.reduce(
    ([all, count], each) => [all + (each.databaseCpuMicros ?? 0), count + each.turns],
    [0, 0],
  )
  return micros / turns
}

function journalOf(statements: LoopSample['statements']): number {
  return (statements['begin_step'] ?? 0) + (statements['finish_step'] ?? 0)
}

function sum(statements: LoopSample['statements']): number {
  return Object.values(statements).reduce((total, each) => total + each, 0)
}

function spread({ median: middle, min, max }: Spread, digits: number): string {
  return `${middle.toFixed(digits)} (${min.toFixed(digits)} - ${max.toFixed(digits)})`
}
