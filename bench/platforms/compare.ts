// From samples to what they say beside each rival, as ratios of the same round.
import { type Sample, withLinks } from '../sample.ts'
import { median, ratios, type Spread, spreadOf } from '../statistics.ts'
import { type Summary, summarize, type Verdict } from '../summary.ts'

/** By rival: how much of its CPU a message may cost us; null where nothing is aimed at. */
export type Beside = Readonly<Record<string, number | null>>

export type Compared = Summary & { readonly times: Readonly<Record<string, Spread | null>> }

export function compare(samples: readonly Sample[], rivals: readonly string[]): readonly Compared[] {
  return summarize(samples).map((summary) => {
    const cpuOf = (subject: string): readonly number[] =>
      samples
        .filter((each) => each.subject === subject && each.connections === summary.connections)
        .map((each) => each.cpuMicrosPerRequest)
    const times = rivals.map((rival) => {
      const found = ratios(cpuOf(summary.subject), cpuOf(rival))
      return [rival, found.length === 0 ? null : spreadOf(found)] as const
    })
    return { ...summary, times: Object.fromEntries(times) }
  })
}

/** Only what keeps messages is judged, unless told. */
const judged: readonly string[] = ['postgres']

export function judgeBeside(
  summaries: readonly Compared[],
  connections: number,
  beside: Beside,
  subjects = judged,
): readonly Verdict[] {
  return summaries
    .filter((each) => subjects.includes(each.subject) && each.connections === connections)
    .flatMap(({ subject, times }) =>
      Object.entries(beside).flatMap(([rival, aim]) => {
        const value = times[rival]?.median
        if (aim === null || value === undefined) return []
        return [{ subject, measure: `CPU per request, times ${rival}`, value, aim, isMet: value <= aim }]
      }),
    )
}

/** A link costs what its letters cost; the rest is for the noise between two runs of the same. */
const maxTimesWords = 1.15

/** What a message with a link costs beside one without, of the same round. */
export function judgeLinks(samples: readonly Sample[], connections: number): readonly Verdict[] {
  const cpuOf = (subject: string): readonly number[] =>
    samples
      .filter((each) => each.subject === subject && each.connections === connections)
      .map((each) => each.cpuMicrosPerRequest)
  return [...judged, 'noop'].flatMap((subject) => {
    const found = ratios(cpuOf(withLinks(subject)), cpuOf(subject))
    if (found.length === 0) return []
    const value = median(found)
    const measure = 'CPU per request with a link, times one without'
    return [{ subject, measure, value, aim: maxTimesWords, isMet: value <= maxTimesWords }]
  })
}

export function besideTable(summaries: readonly Compared[], connections: number, rivals: readonly string[]): string {
  const head = ['subject', 'CPU \u00b5s/request', ...rivals.map((rival) => `times ${rival}`)]
  const titles = [...head, 'requests/s', 'p50 ms', 'p99 ms', 'statements/event', 'PostgreSQL \u00b5s', 'RSS MB']
  const rows = summaries
    .filter((each) => each.connections === connections)
    .map((each) => [
      each.subject,
      spread(each.cpuMicrosPerRequest, 0),
      ...rivals.map((rival) => spread(each.times[rival] ?? null, 2)),
      spread(each.perSecond, 0),
      each.p50Ms.toFixed(2),
      each.p99Ms.toFixed(1),
      each.statementsPerEvent.toFixed(3),
      each.databaseCpuMicrosPerRequest?.toFixed(0) ?? '-',
      each.rssMb.toFixed(0),
    ])
  const lines = [titles, titles.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  return [`${connections} connections; median (lowest - highest) of the rounds`, '', ...lines].join('\n')
}

function spread(given: Spread | null, digits: number): string {
  if (given === null) return '-'
  return `${given.median.toFixed(digits)} (${given.min.toFixed(digits)} - ${given.max.toFixed(digits)})`
}
