// One run: a burst of signed requests at one subject, and what it cost the subject and its database.

import { type Load, runLoad } from './load.ts'
import { runMailLoad } from './mail-load.ts'
import { requestsOf } from './platforms/requests-of.ts'
import type { BenchPostgres } from './postgres.ts'
import { waitForQuiet } from './quiet.ts'
import { quantile } from './statistics.ts'
import type { SubjectProcess } from './subject-process.ts'
import type { Wire } from './subject-settings.ts'

export type Sample = {
  readonly subject: string
  readonly connections: number
  readonly round: number
  readonly requests: number
  readonly seconds: number
  readonly perSecond: number
  readonly cpuMicrosPerRequest: number
  /** CPU of the PostgreSQL server's own processes, which the subject's figure does not contain. */
  readonly databaseCpuMicrosPerRequest: number | null
  readonly p50Ms: number
  readonly p99Ms: number
  readonly statementsPerEvent: number
  readonly statements: Readonly<Record<string, number>>
  readonly sends: number
  readonly rssMb: number
  /** The idle share of the machine right before the run. */
  readonly idleBefore: number
}

export type Run = {
  readonly name: string
  readonly wire: Wire
  /** What its answers say: rivals have no word for it but the status. */
  readonly says: Load['says']
  readonly process: SubjectProcess
  readonly connections: number
  readonly round: number
  readonly seconds: number
  readonly hasLink: boolean
  /** Expected rate; decides how many requests are signed ahead. */
  readonly perSecond: number
  readonly postgres: BenchPostgres | undefined
}

/** Signed ahead and held in memory, 2.3 KB each; a run that uses them up ends early. */
const maxRequests = 60_000
const maxQuietMs = 2_000
let runs = 0

/** What a subject is called where every message has a link in it. */
export function withLinks(subject: string): string {
  return `${subject}, links`
}

export async function takeSample(run: Run): Promise<Sample> {
  runs += 1
  const count = Math.min(maxRequests, Math.ceil(run.perSecond * run.seconds))
  const { name: subject, wire, hasLink } = run
  const requests = await requestsOf(wire)({ subject, run: `${subject}-${runs}`, count, hasLink })
  const idleBefore = await waitForQuiet(run.round === 0 ? 0 : maxQuietMs)
  const before = await run.process.figures()
  const databaseBefore = await run.postgres?.cpuMicros()
  const { connections, seconds, says } = run
  const load =
    wire === 'email'
      ? await runMailLoad({ port: run.process.mailPort, requests, connections, seconds })
      : await runLoad({ port: run.process.port, requests, connections, seconds, says })
  const databaseAfter = await run.postgres?.cpuMicros()
  const after = await run.process.figures()
  const statements = difference(after.statements, before.statements)
  const hasDatabaseCpu = databaseBefore !== undefined && databaseAfter !== undefined
  return {
    subject: run.hasLink ? withLinks(run.name) : run.name,
    connections: run.connections,
    round: run.round,
    requests: load.answered,
    seconds: load.seconds,
    perSecond: load.answered / load.seconds,
    cpuMicrosPerRequest: (after.cpuMicros - before.cpuMicros) / load.answered,
    databaseCpuMicrosPerRequest: hasDatabaseCpu ? (databaseAfter - databaseBefore) / load.answered : null,
    p50Ms: quantile(load.latenciesMs, 0.5),
    p99Ms: quantile(load.latenciesMs, 0.99),
    statementsPerEvent: Object.values(statements).reduce((sum, each) => sum + each, 0) / load.answered,
    statements,
    sends: after.sends - before.sends,
    rssMb: after.rssBytes / 1024 / 1024,
    idleBefore,
  }
}

function difference(
  after: Readonly<Record<string, number>>,
  before: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> {
  const entries = Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)] as const)
  return Object.fromEntries(entries.filter(([, count]) => count > 0))
}
