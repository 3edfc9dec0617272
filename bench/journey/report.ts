// From the samples of the journey to its table and to what is judged.
import { median, ratios } from '../statistics.ts'
import type { Verdict } from '../summary.ts'

/** How messages come: so many in flight, each after the reply to the last one; or at random, eight a second. */
export const loads = ['32', '1', '8/s'] as const
export type LoadName = (typeof loads)[number]

/** Per answered message, where nothing else is said. */
export type JourneySample = {
  readonly subject: string
  readonly load: LoadName
  readonly round: number
  readonly answered: number
  readonly perSecond: number
  readonly gatewayMicros: number
  /** Null where nothing is kept in a database; so are the other figures of one. */
  readonly databaseMicros: number | null
  readonly statements: number | null
  /** Counted in the gateway itself, of Parley only. */
  readonly ownStatements: number | null
  /** From pg_stat_database, which hears of them up to ten seconds later: of no use in a short run, and so not in the table. */
  readonly commits: number | null
  readonly walBytes: number | null
  readonly keptBytes: number | null
  readonly p50Ms: number
  readonly p99Ms: number
  readonly idleBefore: number
}

/** The medians of a subject's rounds; together: the sum of both. */
export type JourneySummary = Omit<JourneySample, 'round' | 'idleBefore'> & { readonly totalMicros: number }

export function summarizeJourney(samples: readonly JourneySample[]): readonly JourneySummary[] {
  const subjects = [...new Set(samples.map(({ subject }) => subject))]
  return loads.flatMap((load) =>
    subjects.flatMap((subject) => {
      const own = samples.filter((each) => each.subject === subject && each.load === load)
      if (own.length === 0) return []
      const of = (read: (sample: JourneySample) => number): number => median(own.map(read))
      const some = (read: (sample: JourneySample) => number | null): number | null => {
        const values = own.map(read).filter((value) => value !== null)
        return values.length === 0 ? null : median(values)
      }
      const gatewayMicros = of((each) => each.gatewayMicros)
      const databaseMicros = some((each) => each.databaseMicros)
      return [
        {
          subject,
          load,
          answered: own.reduce((sum, each) => sum + each.answered, 0),
          perSecond: of((each) => each.perSecond),
          gatewayMicros,
          databaseMicros,
          totalMicros: gatewayMicros + (databaseMicros ?? 0),
          statements: some((each) => each.statements),
          ownStatements: some((each) => each.ownStatements),
          commits: some((each) => each.commits),
          walBytes: some((each) => each.walBytes),
          keptBytes: some((each) => each.keptBytes),
          p50Ms: of((each) => each.p50Ms),
          p99Ms: of((each) => each.p99Ms),
        },
      ]
    }),
  )
}

function sumMicros({ gatewayMicros, databaseMicros }: JourneySample): number {
  return gatewayMicros + (databaseMicros ?? 0)
}

/** Of Parley, at the load; a rival that did not run is not compared with. */
const timesAims = [
  { beside: 'full', aim: 2 },
  { beside: 'chat-sdk', aim: 0.5 },
  { beside: 'dbos', aim: 0.25 },
] as const
const ownAims = [
  { load: '32', measure: 'statements per answered message', aim: 0.3, read: readStatements },
  { load: '1', measure: 'statements per answered message', aim: 3, read: readStatements },
  { load: '8/s', measure: 'p50 webhook to reply, ms', aim: 5, read: (each: JourneySummary) => each.p50Ms },
  { load: '8/s', measure: 'p99 webhook to reply, ms', aim: 12, read: (each: JourneySummary) => each.p99Ms },
] as const

function readStatements({ statements, ownStatements }: JourneySummary): number | null {
  return ownStatements ?? statements
}

export function judgeJourney(samples: readonly JourneySample[]): readonly Verdict[] {
  const verdict = (measure: string, value: number, aim: number): Verdict => {
    return { subject: 'parley', measure, value, aim, isMet: value <= aim }
  }
  const cpuOf = (subject: string): readonly number[] =>
    samples.filter((each) => each.subject === subject && each.load === '32').map(sumMicros)
  const times = timesAims.flatMap(({ beside, aim }) => {
    const found = ratios(cpuOf('parley'), cpuOf(beside))
    if (found.length === 0 || cpuOf(beside).length === 0) return []
    return [verdict(`CPU per answered message with 32 in flight, times ${beside}`, median(found), aim)]
  })
  const own = ownAims.flatMap(({ load, measure, aim, read }) => {
    const summary = summarizeJourney(samples).find((each) => each.subject === 'parley' && each.load === load)
    const value = summary === undefined ? null : read(summary)
    return value === null ? [] : [verdict(`${measure} (${describeLoad(load)})`, value, aim)]
  })
  return [...times, ...own]
}

function describeLoad(load: LoadName): string {
  return load === '8/s' ? '8 messages a second' : `${load} in flight`
}

const columns: readonly { readonly title: string; readonly cell: (summary: JourneySummary) => string }[] = [
  { title: 'subject', cell: ({ subject }) => `\`${subject}\`` },
  { title: 'answered/s', cell: ({ perSecond }) => perSecond.toFixed(0) },
  { title: 'gateway ms', cell: ({ gatewayMicros }) => formatMs(gatewayMicros) },
  { title: 'PostgreSQL ms', cell: ({ databaseMicros }) => formatMs(databaseMicros) },
  { title: 'together ms', cell: ({ totalMicros }) => formatMs(totalMicros) },
  { title: 'statements', cell: ({ statements }) => statements?.toFixed(2) ?? '' },
  { title: 'own count', cell: ({ ownStatements }) => ownStatements?.toFixed(2) ?? '' },
  { title: 'WAL KB', cell: ({ walBytes }) => formatKb(walBytes) },
  { title: 'kept KB', cell: ({ keptBytes }) => formatKb(keptBytes) },
  { title: 'p50 ms', cell: ({ p50Ms }) => p50Ms.toFixed(1) },
  { title: 'p99 ms', cell: ({ p99Ms }) => p99Ms.toFixed(0) },
  { title: 'messages', cell: ({ answered }) => String(answered) },
]

export function journeyTables(summaries: readonly JourneySummary[]): string {
  return loads
    .map((load) => {
      const rows = summaries.filter((each) => each.load === load)
      const cells = [columns.map(({ title }) => title), ...rows.map((row) => columns.map(({ cell }) => cell(row)))]
      const widths = columns.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
      const lines = cells.map((row) => `| ${row.map((text, column) => text.padEnd(widths[column] ?? 0)).join(' | ')} |`)
      lines.splice(1, 0, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`)
      return [`${describeLoad(load)}; per answered message, median of the rounds`, '', ...lines].join('\n')
    })
    .join('\n\n')
}

function formatMs(micros: number | null): string {
  return micros === null ? '' : (micros / 1000).toFixed(2)
}

function formatKb(bytes: number | null): string {
  return bytes === null ? '' : (bytes / 1000).toFixed(1)
}
