// Scenario `journey`: what one answered message costs, from the webhook to the settled reply, beside references written by hand
// and beside the libraries of others. The run fails when an update has no reply or two.
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { cpus, loadavg, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Asked } from './arguments.ts'
import { drawJourneyChart } from './journey/chart.ts'
import {
  type DatabaseFigures,
  type DatabaseMeter,
  type DatabaseMeters,
  journeyPostgresSettings,
  openDatabaseMeters,
} from './journey/database-figures.ts'
import { type JourneyLoad, planArrivals, runArrivals, runClosedLoop, type Target } from './journey/load.ts'
import { createReplyLedger, type ReplyLedger } from './journey/replies.ts'
import {
  type JourneySample,
  type JourneySummary,
  journeyTables,
  judgeJourney,
  type LoadName,
  loads,
  summarizeJourney,
} from './journey/report.ts'
import { type PlatformApi, startPlatformApi } from './platforms/platform-api.ts'
import { startPostgres } from './postgres.ts'
import { waitForQuiet } from './quiet.ts'
import type { Say, ScenarioResults } from './scenario.ts'
import { quantile } from './statistics.ts'
import { type SubjectProcess, startSubject } from './subject-process.ts'
import type { SubjectSettings } from './subject-settings.ts'

type SubjectKind = 'gateway' | 'reference' | 'memory' | 'rival'

/** `memory`: a library that keeps nothing beyond its process; `rival`: one that keeps it in PostgreSQL. */
const subjectKinds: Readonly<Record<string, SubjectKind>> = {
  parley: 'gateway',
  bare: 'reference',
  full: 'reference',
  grammy: 'memory',
  'chat-sdk': 'memory',
  'chat-sdk-pg': 'rival',
  'graphile-worker': 'rival',
  'pg-boss': 'rival',
  dbos: 'rival',
}

export const journeySubjects: readonly string[] = Object.keys(subjectKinds)

const replyTimeoutMs = 15_000
/** What is settled after a reply has arrived belongs to it. */
const settleMs = 150
/** A second reply to the same message may still come. */
const doubledMs = 1_000
const maxQuietMs = 500
const arrivalsPerSecond = 8

/** Seconds of the warm-up and of all arrivals; the closed loops are as long as asked for. */
const scales = { full: { warmSeconds: 1.5, arrivalsSeconds: 8 }, ci: { warmSeconds: 0.3, arrivalsSeconds: 1 } } as const

type Started = {
  readonly name: string
  readonly process: SubjectProcess
  readonly api: PlatformApi
  readonly ledger: ReplyLedger
  readonly meter: DatabaseMeter | undefined
  readonly countsStatements: boolean
}

type Bench = { readonly asked: Asked; readonly folder: string }

export async function runJourney(asked: Asked, say: Say): Promise<ScenarioResults> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
  const needsPostgres = asked.subjects.some((name) => subjectKinds[name] !== 'memory')
  if (needsPostgres) say('starting PostgreSQL')
  const postgres = needsPostgres ? await startPostgres(journeyPostgresSettings) : undefined
  let meters: DatabaseMeters | undefined
  const started: Started[] = []
  try {
    for (const name of asked.subjects) {
      say(`starting ${name}`)
      const databaseUrl = subjectKinds[name] === 'memory' ? undefined : await postgres?.createDatabase()
      if (databaseUrl !== undefined) meters ??= await openDatabaseMeters(databaseUrl)
      started.push(await startJourneySubject({ asked, folder }, name, databaseUrl, meters))
    }
    const samples = await takeSamples(started, asked, say)
    await new Promise((resolve) => setTimeout(resolve, doubledMs))
    const summaries = summarizeJourney(samples)
    const chartFile = await writeChart(asked, summaries)
    say(`picture: ${chartFile}`)
    return {
      samples,
      summaries,
      verdicts: judgeJourney(samples),
      tables: journeyTables(summaries),
      postgresVersion: postgres?.version,
      failures: started.flatMap(describeFailures),
    }
  } finally {
    for (const { process: child, api } of started) {
      await child.stop()
      await api.stop()
    }
    await meters?.close()
    await postgres?.stop()
  }
}

/** Every subject has a stand-in of its own, so that no reply is counted for another. */
async function startJourneySubject(
  { asked, folder }: Bench,
  name: string,
  databaseUrl: string | undefined,
  meters: DatabaseMeters | undefined,
): Promise<Started> {
  const ledger = createReplyLedger(replyTimeoutMs)
  const api = await startPlatformApi(ledger.recordReply)
  try {
    const settings = settingsOf(name, { apiUrl: api.url, databaseUrl, dataDir: join(folder, name) })
    const child = await startSubject({ settings, profileFolder: asked.profileFolder })
    const meter = databaseUrl === undefined ? undefined : meters?.meterDatabase(databaseUrl)
    return { name, process: child, api, ledger, meter, countsStatements: settings.kind === 'gateway' }
  } catch (error) {
    await api.stop()
    throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

type Surroundings = {
  readonly apiUrl: string
  readonly databaseUrl: string | undefined
  readonly dataDir: string
}

function settingsOf(name: string, { apiUrl, databaseUrl, dataDir }: Surroundings): SubjectSettings {
  const database = databaseUrl === undefined ? {} : { databaseUrl }
  if (subjectKinds[name] === 'gateway')
    return { kind: 'gateway', wire: 'telegram', storage: 'postgres', drains: true, dataDir, apiUrl, ...database }
  if (subjectKinds[name] === 'reference' && databaseUrl !== undefined)
    return { kind: 'reference', name, apiUrl, databaseUrl }
  return { kind: 'rival', name, wire: 'telegram', apiUrl, answers: true, ...database }
}

/** All subjects stay up and take turns; arrivals come last, and once: they take long and hold few messages. */
async function takeSamples(started: readonly Started[], asked: Asked, say: Say): Promise<readonly JourneySample[]> {
  const { warmSeconds, arrivalsSeconds } = scales[asked.scale]
  for (const subject of started) {
    say(`warming up ${subject.name}`)
    await runClosedLoop(targetOf(subject), 32, warmSeconds)
    await runClosedLoop(targetOf(subject), 1, warmSeconds / 2)
  }
  const samples: JourneySample[] = []
  const sample = async (subject: Started, load: LoadName, round: number): Promise<void> => {
    say(`round ${round} of ${asked.rounds}, ${load}, ${subject.name}`)
    const target = targetOf(subject)
    const run = (): Promise<JourneyLoad> =>
      load === '8/s'
        ? runArrivals(target, planArrivals(arrivalsPerSecond, arrivalsSeconds, Math.random))
        : runClosedLoop(target, Number(load), asked.seconds)
    samples.push(await measure(subject, { load, round, run }))
    // What waits for replies that do not come takes long: no further run of it.
    const { lost } = subject.ledger.countReplies()
    if (lost > 0) throw new Error(`${subject.name}: ${lost} messages without a reply within ${replyTimeoutMs} ms`)
  }
  for (let round = 1; round <= asked.rounds; round += 1)
    for (const load of loads.filter((each) => each !== '8/s'))
      for (const subject of started) await sample(subject, load, round)
  for (const subject of started) await sample(subject, '8/s', asked.rounds)
  return samples
}

type Run = { readonly load: LoadName; readonly round: number; readonly run: () => Promise<JourneyLoad> }

async function measure(subject: Started, { load, round, run }: Run): Promise<JourneySample> {
  const { name, meter, countsStatements } = subject
  const idleBefore = await waitForQuiet(maxQuietMs)
  const databaseBefore = await meter?.read()
  const stopWatching = meter?.watch()
  const before = await subject.process.figures()
  const { answered, seconds, latenciesMs } = await run()
  await new Promise((resolve) => setTimeout(resolve, settleMs))
  const after = await subject.process.figures()
  await stopWatching?.()
  const databaseAfter = await meter?.read()
  const database = (read: (figures: DatabaseFigures) => number): number | null =>
    databaseBefore === undefined || databaseAfter === undefined
      ? null
      : (read(databaseAfter) - read(databaseBefore)) / answered
  const ownStatements = sumOf(after.statements) - sumOf(before.statements)
  return {
    subject: name,
    load,
    round,
    answered,
    perSecond: answered / seconds,
    gatewayMicros: (after.cpuMicros - before.cpuMicros) / answered,
    databaseMicros: database((figures) => figures.cpuMicros),
    statements: database((figures) => figures.statements),
    ownStatements: countsStatements ? ownStatements / answered : null,
    commits: database((figures) => figures.commits),
    walBytes: database((figures) => figures.walBytes),
    keptBytes: database((figures) => figures.keptBytes),
    p50Ms: quantile(latenciesMs, 0.5),
    p99Ms: quantile(latenciesMs, 0.99),
    idleBefore,
  }
}

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, each) => sum + each, 0)
}

/** A person has one message under way at a time; the same ones write in every run. */
function targetOf({ process: { port }, ledger }: Started): Target {
  return { port, ledger, person: 1 }
}

function describeFailures({ name, ledger }: Started): readonly string[] {
  const { lost, doubled } = ledger.countReplies()
  return lost === 0 && doubled === 0 ? [] : [`${name}: ${lost} lost, ${doubled} doubled`]
}

const usualChart = fileURLToPath(new URL('../bench/results/journey.svg', import.meta.url))

async function writeChart({ chartFile = usualChart, rounds, seconds }: Asked, summaries: readonly JourneySummary[]) {
  const bars = summaries
    .filter(({ load }) => load === '32')
    .map(({ subject, gatewayMicros, databaseMicros }) => ({
      label: subject,
      gatewayMs: gatewayMicros / 1000,
      databaseMs: (databaseMicros ?? 0) / 1000,
    }))
  const day = new Date().toISOString().slice(0, 10)
  const load = loadavg()[0]?.toFixed(1) ?? 'unknown'
  const caption = `${day}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}, load average ${load}, median of rounds: ${rounds} of ${seconds} s`
  await mkdir(dirname(chartFile), { recursive: true })
  await writeFile(chartFile, drawJourneyChart(bars, caption))
  return chartFile
}
