// The figures of the strangers for people, and the aims they are judged by.
import type { Verdict } from '../summary.ts'
import { type Measured, maxHealthMs, maxRatio } from './measure.ts'

/** CPU seconds per megabyte that no shape may cost. A machine's own speed decides about it: it is judged at full scale only. */
const maxSecondsPerMb = { mail: 0.1, http: 0.5 } as const

const isMail = ({ shape }: Measured): boolean => shape.startsWith('mail: ')

export function judgeStrangers(measured: readonly Measured[], scale: 'ci' | 'full'): readonly Verdict[] {
  const verdicts: Verdict[] = []
  const add = (subject: string, measure: string, value: number, aim: number): void =>
    void verdicts.push({ subject, measure, value, aim, isMet: value <= aim })
  for (const [kind, own] of [
    ['mail', measured.filter(isMail)],
    ['http', measured.filter((each) => !isMail(each))],
  ] as const) {
    if (own.length === 0) continue
    const worst = own.toSorted((one, other) => other.cpuSecondsPerMb - one.cpuSecondsPerMb)[0]
    if (worst !== undefined && scale === 'full')
      add(worst.shape, 'CPU seconds per megabyte, the worst shape', worst.cpuSecondsPerMb, maxSecondsPerMb[kind])
    const grown = own.toSorted((one, other) => other.ratio - one.ratio)
    for (const each of grown.filter(({ ratio }, at) => at === 0 || ratio > maxRatio))
      add(each.shape, 'CPU of twice the bytes', each.ratio, maxRatio)
  }
  // Of what a limit turns away nothing is learnt.
  const limited = measured.filter(({ answers }) => /\b(?:421|429|450|452)\b/.test(answers))
  add(limited[0]?.shape ?? 'all shapes', 'shapes that a limit turned away', limited.length, 0)
  const slow = measured.toSorted((one, other) => other.healthMs - one.healthMs)
  for (const each of slow.filter(({ healthMs }, at) => at === 0 || healthMs > maxHealthMs))
    add(each.shape, 'slowest /healthz in ms', each.healthMs, maxHealthMs)
  return verdicts
}

/** The dearest first. */
export function strangersTable(measured: readonly Measured[]): string {
  const dearest = measured.toSorted((one, other) => other.cpuSecondsPerMb - one.cpuSecondsPerMb)
  const rows = dearest.map((each) => [
    each.shape,
    each.bytes.map((bytes) => (bytes / 1e6).toFixed(bytes < 1e5 ? 3 : 2)).join(', '),
    each.cpuMs.map((ms) => (ms / each.repeats).toFixed(1)).join(', '),
    each.ratio === 0 ? '-' : each.ratio.toFixed(2),
    each.cpuSecondsPerMb.toFixed(3),
    each.databaseSecondsPerMb.toFixed(3),
    `${each.healthMs.toFixed(0)} (${each.healthRawMs.toFixed(0)})`,
    each.answers,
  ])
  const titles = [
    'shape',
    'MB',
    'CPU ms',
    'last doubling',
    'CPU s/MB',
    'database s/MB',
    '/healthz ms (with waiting)',
    'answers',
  ]
  const cells = [titles, ...rows]
  const widths = titles.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  const lines = cells.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`)
  lines.splice(1, 0, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`)
  return [`${measured.length} shapes`, '', ...lines].join('\n')
}
