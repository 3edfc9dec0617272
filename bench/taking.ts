// What scenarios about taking webhooks in have in common: subjects side by side, each in a process of its own.
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Asked } from './arguments.ts'
import type { Load } from './load.ts'
import type { Zone } from './platforms/email.ts'
import { startPlatformApi } from './platforms/platform-api.ts'
import { type BenchPostgres, startPostgres } from './postgres.ts'
import { type Sample, takeSample, withLinks } from './sample.ts'
import type { Say } from './scenario.ts'
import { type SubjectProcess, startSubject } from './subject-process.ts'
import { adminToken, type Storage, type SubjectSettings, type Wire } from './subject-settings.ts'

export type GatewayKind = { readonly storage: Storage; readonly drains: boolean }

/** What is sent, and to whom. */
export type Taking = {
  readonly wire: Wire
  readonly gateways: Readonly<Record<string, GatewayKind>>
  /** Libraries of others: they answer, and keep nothing. */
  readonly rivals: readonly string[]
  /** Until code is compiled and plans are made: so many requests, or so many runs where the machine is slow. */
  readonly warmRequests: number
  /** Requests per second that are made for a subject whose rate nobody knows yet. */
  readonly firstRate?: number
  /** What the name system says. */
  readonly zone?: Zone
  /** Where those live who write, where they are asked for. */
  readonly peopleUrl?: string
  /** Answers come after their turns, so that nothing is left over for whoever is measured next. */
  readonly says?: 'completed' | 'streamed'
}

/** Connections of a run; the aims are judged at the first. One connection can share a commit with nobody. */
export const connectionCounts = [32, 1] as const

type Results = {
  readonly samples: readonly Sample[]
  readonly postgresVersion: string | undefined
}

type Started = {
  readonly name: string
  readonly kind: GatewayKind | undefined
  readonly isRival: boolean
  readonly process: SubjectProcess
}
type Stage = {
  readonly taking: Taking
  readonly asked: Asked
  readonly folder: string
  readonly postgres: BenchPostgres | undefined
  readonly apiUrl: string
}

export async function runTaking(taking: Taking, asked: Asked, say: Say): Promise<Results> {
  const { gateways } = taking
  const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'))
  // Also when the run is broken off: a database of a hundred megabytes lies in there.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
  const needsPostgres = asked.subjects.some((name) => gateways[name]?.storage === 'postgres')
  if (needsPostgres) say('starting PostgreSQL')
  const postgres = needsPostgres ? await startPostgres() : undefined
  const api = taking.rivals.length > 0 ? await startPlatformApi() : undefined
  const stage = { taking, asked, folder, postgres, apiUrl: api?.url ?? '' }
  const drains = (name: string): boolean => taking.says === undefined && gateways[name]?.drains === true
  try {
    const samples = await interleaved(
      stage,
      asked.subjects.filter((name) => !drains(name)),
      say,
    )
    // Work left over from one run would disturb the next subject's: these come last, one after the other.
    for (const name of asked.subjects.filter(drains)) samples.push(...(await interleaved(stage, [name], say)))
    return { samples, postgresVersion: postgres?.version }
  } finally {
    await postgres?.stop()
    await api?.stop()
  }
}

/** All subjects stay up and take turns, round by round, so that a slow minute of the machine meets all of them. */
async function interleaved(stage: Stage, names: readonly string[], say: Say): Promise<Sample[]> {
  const started: Started[] = []
  const samples: Sample[] = []
  try {
    for (const name of names) {
      say(`starting ${name}`)
      started.push(await start(stage, name))
    }
    const warm = await warmUp(stage, started, say)
    for (let round = 1; round <= stage.asked.rounds; round += 1) {
      for (const connections of connectionCounts) {
        for (const subject of started) {
          say(`round ${round} of ${stage.asked.rounds}, ${connections} connections, ${subject.name}`)
          const point = { round, connections, perSecond: rateOf(warm, subject) }
          samples.push(await sample(stage, subject, point))
          if (stage.asked.links) samples.push(await sample(stage, subject, { ...point, hasLink: true }))
        }
      }
    }
    for (const subject of started) await requireStored(subject, [...warm, ...samples])
    return samples
  } finally {
    for (const { process } of started) await process.stop()
  }
}

async function start({ taking, asked, folder, postgres, apiUrl }: Stage, name: string): Promise<Started> {
  const { wire } = taking
  const zone = taking.zone === undefined ? {} : { zone: taking.zone }
  const people = taking.peopleUrl === undefined ? {} : { peopleUrl: taking.peopleUrl }
  const kind = taking.gateways[name]
  const isRival = taking.rivals.includes(name)
  const databaseUrl = kind?.storage === 'postgres' ? await postgres?.createDatabase() : undefined
  const gateway =
    kind === undefined
      ? undefined
      : { kind: 'gateway' as const, wire, ...kind, ...zone, ...people, dataDir: join(folder, name) }
  const settings: SubjectSettings =
    gateway === undefined
      ? isRival
        ? { kind: 'rival', name, wire, apiUrl, ...zone }
        : { kind: 'floor' }
      : { ...gateway, ...(databaseUrl === undefined ? {} : { databaseUrl }) }
  return { name, kind, isRival, process: await startSubject({ settings, profileFolder: asked.profileFolder }) }
}

const maxWarmRuns = 20
const usualFirstRate = 15_000

/** The figures of these are thrown away; their rate sizes the runs. */
async function warmUp(stage: Stage, started: readonly Started[], say: Say): Promise<readonly Sample[]> {
  const samples: Sample[] = []
  for (const subject of started) {
    say(`warming up ${subject.name}`)
    let requests = 0
    for (let run = 0; run < maxWarmRuns && requests < stage.taking.warmRequests; run += 1) {
      const point = { round: 0, connections: connectionCounts[0], perSecond: stage.taking.firstRate ?? usualFirstRate }
      const hasLink = stage.asked.links && run % 2 === 1
      const warm = await sample(stage, subject, { ...point, hasLink })
      requests += warm.requests
      samples.push(warm)
    }
  }
  return samples
}

type Point = {
  readonly round: number
  readonly connections: number
  readonly perSecond: number
  readonly hasLink?: boolean
}

function sample(
  { taking, asked, postgres }: Stage,
  { name, kind, isRival, process }: Started,
  point: Point,
): Promise<Sample> {
  const database = kind?.storage === 'postgres' ? postgres : undefined
  return takeSample({
    name,
    wire: taking.wire,
    says: taking.says ?? usualAnswer(taking.wire, isRival),
    process,
    hasLink: false,
    ...point,
    seconds: asked.seconds,
    postgres: database,
  })
}

/** Where others read the answer or want none, it says nothing; the rows are counted by whoever has some. */
function usualAnswer(wire: Wire, isRival: boolean): Load['says'] {
  if (wire === 'activitypub') return 'taken'
  return isRival || wire === 'slack' ? 'ok' : 'accepted'
}

/** Half as much again as the warm-up reached. */
function rateOf(warm: readonly Sample[], { name }: Started): number {
  const names = [name, withLinks(name)]
  return 1.5 * Math.max(...warm.filter((each) => names.includes(each.subject)).map((each) => each.perSecond))
}

/** A fast answer for a message that was not stored would be worth nothing. */
async function requireStored({ name, kind, isRival, process }: Started, samples: readonly Sample[]): Promise<void> {
  const names = [name, withLinks(name)]
  const acknowledged = samples
    .filter((each) => names.includes(each.subject))
    .reduce((sum, each) => sum + each.requests, 0)
  if (isRival) return requireHandled(name, process, acknowledged)
  if (kind === undefined || kind.storage === 'nothing') return
  const headers = { authorization: `Bearer ${adminToken}` }
  const response = await fetch(`http://127.0.0.1:${process.port}/admin/stats`, { headers })
  // The gateway's own counts, in the shape its route documents.
  const { stats } = (await response.json()) as { readonly stats: readonly { readonly received: number }[] }
  const stored = stats.reduce((sum, line) => sum + line.received, 0)
  if (stored !== acknowledged) throw new Error(`${name} acknowledged ${acknowledged} messages and stored ${stored}`)
}

const handledWithinMs = 5_000

/** Nor would one that nobody was told of. Some answer first. */
async function requireHandled(name: string, process: SubjectProcess, acknowledged: number): Promise<void> {
  const until = performance.now() + handledWithinMs
  let { handled } = await process.figures()
  while (handled < acknowledged && performance.now() < until) ({ handled } = await process.figures())
  if (handled !== acknowledged) throw new Error(`${name} acknowledged ${acknowledged} messages and handled ${handled}`)
}
