// From samples to what they say: per subject the medians over the rounds, ratios to the floor, and whether the aims are met.
import type { Sample } from './sample.ts'
import { median, ratios, type Spread, spreadOf } from './statistics.ts'

export type Summary = {
  readonly subject: string
  readonly connections: number
  readonly cpuMicrosPerRequest: Spread
  /** CPU per request as a multiple of the floor's in the same round. */
  readonly timesFloor: Spread | null
  readonly perSecond: Spread
  readonly p50Ms: number
  readonly p99Ms: number
  readonly databaseCpuMicrosPerRequest: number | null
  readonly statementsPerEvent: number
  readonly sendsPerEvent: number
  readonly rssMb: number
}

export type Verdict = {
  readonly subject: string
  readonly measure: string
  readonly value: number
  readonly aim: number
  readonly isMet: boolean
}

type Aims = { readonly timesFloor: number; readonly statementsPerEvent?: number }

/** Judged where several connections share a commit; what only pretends to store has no statements to count. */
const aims: Readonly<Record<string, Aims>> = {
  noop: { timesFloor: 3 },
  postgres: { timesFloor: 5, statementsPerEvent: 1 },
}

export function summarize(samples: readonly Sample[]): readonly Summary[] {
  const keys = new Map(
    samples.map(({ subject, connections }) => [`${connections} ${subject}`, { subject, connections }]),
  )
  return [...keys.values()].map(({ subject, connections }) => {
    const own = samples.filter((each) => each.subject === subject && each.connections === connections)
    const floor = samples.filter((each) => each.subject === 'floor' && each.connections === connections)
    const of = (read: (sample: Sample) => number): readonly number[] => own.map(read)
    const cpu = of((each) => each.cpuMicrosPerRequest)
    const times = ratios(
      cpu,
      floor.map((each) => each.cpuMicrosPerRequest),
    )
    const databaseCpu = own.map((each) => each.databaseCpuMicrosPerRequest).filter((each) => each !== null)
    return {
      subject,
      connections,
      cpuMicrosPerRequest: spreadOf(cpu),
      timesFloor: times.length > 0 ? spreadOf(times) : null,
      perSecond: spreadOf(of((each) => each.perSecond)),
      p50Ms: median(of((each) => each.p50Ms)),
      p99Ms: median(of((each) => each.p99Ms)),
      databaseCpuMicrosPerRequest: databaseCpu.length > 0 ? median(databaseCpu) : null,
      statementsPerEvent: median(of((each) => each.statementsPerEvent)),
      sendsPerEvent: median(of((each) => each.sends / each.requests)),
      rssMb: median(of((each) => each.rssMb)),
    }
  })
}

/** Judged at `connections`; subjects that did not run are not judged. */
export function judge(summaries: readonly Summary[], connections: number): readonly Verdict[] {
  return summaries.flatMap((summary) => {
    const aim = aims[summary.subject]
    if (aim === undefined || summary.connections !== connections || summary.timesFloor === null) return []
    const { subject, timesFloor, statementsPerEvent } = summary
    const verdict = (measure: string, value: number, limit: number): Verdict => ({
      subject,
      measure,
      value,
      aim: limit,
      isMet: value <= limit,
    })
    const cpu = verdict('CPU per request, times the floor', timesFloor.median, aim.timesFloor)
    if (aim.statementsPerEvent === undefined) return [cpu]
    return [cpu, verdict('statements per event', statementsPerEvent, aim.statementsPerEvent)]
  })
}
