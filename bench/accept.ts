// Scenario `accept`: what it costs to take a signed webhook in, from the first byte to the answer after the commit.
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Asked } from './arguments.ts'
import { type BenchPostgres, startPostgres } from './postgres.ts'
import { type Sample, takeSample } from './sample.ts'
import type { Say } from './scenario.ts'
import { type SubjectProcess, startSubject } from './subject-process.ts'
import { adminToken, type Storage, type SubjectSettings } from './subject-settings.ts'

type GatewayKind = { readonly storage: Storage; readonly drains: boolean }

const gateways: Readonly<Record<string, GatewayKind>> = {
  noop: { storage: 'nothing', drains: false },
  postgres: { storage: 'postgres', drains: false },
  pglite: { storage: 'pglite', drains: false },
  'postgres-drain': { storage: 'postgres', drains: true },
  'pglite-drain': { storage: 'pglite', drains: true },
}

export const acceptSubjects: readonly string[] = ['floor', ...Object.keys(gateways)]

/** Connections of a run; the aims are judged at the first. One connection can share a commit with nobody. */
export const connectionCounts = [32, 1] as const

type Results = {
  readonly samples: readonly Sample[]
  readonly postgresVersion: string | undefined
}

type Started = { readonly name: string; readonly kind: GatewayKind | undefined; readonly process: SubjectProcess }
type Stage = { readonly asked: Asked; readonly folder: string; readonly postgres: BenchPostgres | undefined }

export async function runAccept(asked: Asked, say: Say): Promise<Results> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'))
  // Also when the run is broken off: a database of a hundred megabytes lies in there.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
  const needsPostgres = asked.subjects.some((name) => gateways[name]?.storage === 'postgres')
  if (needsPostgres) say('starting PostgreSQL')
  const postgres = needsPostgres ? await startPostgres() : undefined
  const stage = { asked, folder, postgres }
  const drains = (name: string): boolean => gateways[name]?.drains === true
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
          samples.push(await sample(stage, subject, { round, connections, perSecond: rateOf(warm, subject) }))
        }
      }
    }
    for (const subject of started) await requireStored(subject, [...warm, ...samples])
    return samples
  } finally {
    for (const { process } of started) await process.stop()
  }
}

async function start({ asked, folder, postgres }: Stage, name: string): Promise<Started> {
  const kind = gateways[name]
  const settings: SubjectSettings =
    kind === undefined
      ? { kind: 'floor' }
      : {
          kind: 'gateway',
          ...kind,
          ...(kind.storage === 'postgres' && postgres !== undefined
            ? { databaseUrl: await postgres.createDatabase() }
            : {}),
          dataDir: join(folder, name),
        }
  return { name, kind, process: await startSubject({ settings, profileFolder: asked.profileFolder }) }
}

/** Until code is compiled and plans are made: so many requests, or so many runs where the machine is slow. */
const warmRequests = 12_000
const maxWarmRuns = 20

/** The figures of these are thrown away; their rate sizes the runs. */
async function warmUp(stage: Stage, started: readonly Started[], say: Say): Promise<readonly Sample[]> {
  const samples: Sample[] = []
  for (const subject of started) {
    say(`warming up ${subject.name}`)
    let requests = 0
    for (let run = 0; run < maxWarmRuns && requests < warmRequests; run += 1) {
      const warm = await sample(stage, subject, { round: 0, connections: connectionCounts[0], perSecond: 15_000 })
      requests += warm.requests
      samples.push(warm)
    }
  }
  return samples
}

type Point = { readonly round: number; readonly connections: number; readonly perSecond: number }

function sample({ asked, postgres }: Stage, { name, kind, process }: Started, point: Point): Promise<Sample> {
  const database = kind?.storage === 'postgres' ? postgres : undefined
  return takeSample({ name, process, ...point, seconds: asked.seconds, postgres: database })
}

/** Half as much again as the warm-up reached. */
function rateOf(warm: readonly Sample[], { name }: Started): number {
  return 1.5 * Math.max(...warm.filter((each) => each.subject === name).map((each) => each.perSecond))
}

/** A fast answer for a message that was not stored would be worth nothing. */
async function requireStored({ name, kind, process }: Started, samples: readonly Sample[]): Promise<void> {
  if (kind === undefined || kind.storage === 'nothing') return
  const headers = { authorization: `Bearer ${adminToken}` }
  const response = await fetch(`http://127.0.0.1:${process.port}/admin/books`, { headers })
  // The gateway's own books, in the shape its route documents.
  const { books } = (await response.json()) as { readonly books: readonly { readonly received: number }[] }
  const stored = books.reduce((sum, line) => sum + line.received, 0)
  const acknowledged = samples.filter((each) => each.subject === name).reduce((sum, each) => sum + each.requests, 0)
  if (stored !== acknowledged) throw new Error(`${name} acknowledged ${acknowledged} messages and stored ${stored}`)
}
