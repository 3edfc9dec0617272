// Readiness: whether messages can be stored and are being worked on here, with the reasons why not. Silence of a channel is shown,
// not judged.

import type { WorkerLoopName } from '../contract/metrics.ts'
import { findWorstProblem, type PublicUrlState } from '../contract/probe.ts'
import type { StorageFault } from '../db/client.ts'
import type { HealthSample } from '../db/health.ts'
import { isGatewayError } from '../lib/errors.ts'
import type { ConnectionProbeState, ConnectionState, ListenerHealth, SourceHealth } from './connection-health.ts'
import { withDatabaseTimeout } from './database-timeout.ts'
import { areSlotsFullTooLong, type SlotUse } from './process-metrics.ts'

export type ProblemCode =
  | 'storage_unavailable'
  | 'db_unresponsive'
  | 'worker_stalled'
  | 'leases_stalled'
  | 'slots_full'
  | 'connection_failed'
  | 'connection_degraded'
  | 'model_failed'
  | 'disk_low'
  | 'disk_full'
  | 'strangers_spent'

/** `connection` is for those who may see names. */
export type Problem = { readonly code: ProblemCode; readonly remedy: string; readonly connection?: string }

/** How it stands, as its platform and this process tell. */
type ConnectionStanding = {
  readonly state: ConnectionState
  readonly since: string
  readonly checkedAt: string
  /** Who we are there and how messages come. */
  readonly summary: string
  /** Of the worst of what is wrong: a code, words, and what to do. */
  readonly reason: string
  readonly problem: string
  readonly remedy: string
}

/** Ages in seconds by the database's clock; null where there is nothing. */
export type ConnectionHealth = Partial<ConnectionStanding> & {
  readonly connection: string
  readonly lastInboundAge: number | null
  readonly lastOutboundAge: number | null
  readonly waiting: number
  readonly oldestWaitingAge: number | null
  readonly openCalls: number
  readonly oldestDueCallAge: number | null
}

export type SlotHealth = {
  readonly total: number
  readonly used: number
  readonly full: number | null
  readonly holders: readonly {
    readonly agent: string
    readonly connection: string
    readonly used: number
    readonly oldest: number
    readonly full: number | null
  }[]
}

export type PublicUrlHealth = {
  readonly state: PublicUrlState
  readonly remedy?: string
  /** Names of headers by which a request tells that it was passed on. */
  readonly forwardedBy?: readonly string[]
  /** Whether the name it was called by is the one that arrives. */
  readonly host?: 'passed_on' | 'replaced'
}

export type Readiness = {
  readonly problems: readonly Problem[]
  /** It works, and something should be looked at. */
  readonly warnings: readonly Problem[]
  readonly detail: {
    readonly database: { readonly answers: boolean; readonly ms: number }
    /** Seconds since the last round of each loop; null: not running in this process. */
    readonly loops: Readonly<Record<WorkerLoopName | 'leases', number | null>>
    /** Who holds the slots of this process. Times in seconds; `full`: how long none has been free. */
    readonly slots?: SlotHealth
    /** Of all connections: the latest in and out, and the oldest work that is due. Null: unknown or none. */
    readonly lastInboundAge: number | null
    readonly lastOutboundAge: number | null
    readonly lag: number | null
    readonly connections: readonly ConnectionHealth[]
    /** Connections that pull, as this process sees them. */
    readonly sources?: readonly SourceHealth[]
    /** Connections with a port of their own, as this process sees them. */
    readonly listeners?: readonly ListenerHealth[]
    /** Models whose servers are asked, by their names, such as `model gpt-x at api.example.org`. */
    readonly models?: readonly (Partial<ConnectionStanding> & { readonly model: string })[]
    /** Where the public URL leads, as this process found. */
    readonly publicUrl?: PublicUrlHealth
  }
}

export type ReadinessDeps = {
  /** Writes to the database on the connections that store messages. */
  readonly probe: () => Promise<unknown>
  /** What keeps failing in real work: accepting messages, taking turns, sending. */
  readonly faults: () => readonly StorageFault[]
  readonly isCommitAnswered: () => boolean
  readonly readHealthSamples: () => Promise<readonly HealthSample[]>
  /** Milliseconds since the last round; null: there is no such loop here. */
  readonly loops: () => Readonly<Record<WorkerLoopName | 'leases', number | null>>
  /** What the disk has room for. Absent where nothing is kept on one. */
  readonly room?: () => Promise<'low' | 'full' | undefined>
  /** Absent where no turns run. */
  readonly slots?: () => SlotUse
  readonly connections: readonly string[]
  /** How they stand. Absent where no process stays to look. */
  readonly connectionProbes?: () => readonly ConnectionProbeState[]
  /** How the models stand with their servers. */
  readonly modelProbes?: () => readonly ConnectionProbeState[]
  readonly sources?: () => readonly SourceHealth[]
  readonly listeners?: () => readonly ListenerHealth[]
  readonly publicUrl?: () => PublicUrlHealth | undefined
  readonly monotonicMs: () => number
  /** Longest silence of a loop that still counts as work. */
  readonly patienceMs: number
}

const answerMs = 1_500

export async function readReadiness(deps: ReadinessDeps): Promise<Readiness> {
  const startedAt = deps.monotonicMs()
  const [storage, samples, room] = await Promise.all([
    storageProblems(deps),
    undefinedOnErrorOrTimeout(deps.readHealthSamples()),
    undefinedOnErrorOrTimeout(deps.room?.() ?? Promise.resolve(undefined)),
  ])
  const loops = deps.loops()
  const sources = deps.sources?.() ?? []
  const listeners = deps.listeners?.() ?? []
  const stalled = Object.entries(loops).filter(([, age]) => age !== null && age > deps.patienceMs)
  const slots = deps.slots?.()
  const publicUrl = deps.publicUrl?.()
  const stands = deps.connectionProbes?.() ?? []
  const models = deps.modelProbes?.() ?? []
  const lines = deps.connections.map((connection) => ({
    ...connectionHealth(samples ?? [], connection),
    ...connectionStateFields(stands.find((each) => each.connection === connection)),
  }))
  return {
    problems: [...storage, ...stalled.map(([loop]) => stalledLoopProblem(loop)), ...slotProblems(slots, samples ?? [])],
    // Others are answered: a load balancer that took this process away for one account would take all of them away.
    warnings: [
      ...stands.flatMap(connectionWarnings),
      ...models.flatMap(modelWarnings),
      ...diskSpaceWarnings(room),
      ...(samples ?? []).filter(isStrangerDayLimitSpent).map(strangerDayLimitProblem),
    ],
    detail: {
      database: { answers: storage.length === 0, ms: Math.round(deps.monotonicMs() - startedAt) },
      loops: agesInSeconds(loops),
      ...(slots === undefined ? {} : { slots: toSlotHealth(slots) }),
      lastInboundAge: pickExtremeAge(
        Math.min,
        lines.map((line) => line.lastInboundAge),
      ),
      lastOutboundAge: pickExtremeAge(
        Math.min,
        lines.map((line) => line.lastOutboundAge),
      ),
      lag: pickExtremeAge(
        Math.max,
        lines.flatMap((line) => [line.oldestWaitingAge, line.oldestDueCallAge]),
      ),
      connections: lines,
      ...(sources.length === 0 ? {} : { sources }),
      ...(listeners.length === 0 ? {} : { listeners }),
      ...(models.length === 0
        ? {}
        : { models: models.map((sample) => ({ model: sample.connection, ...connectionStateFields(sample) })) }),
      ...(publicUrl === undefined ? {} : { publicUrl }),
    },
  }
}

const roomRemedies = {
  low: 'the disk of the data folder is running out: nothing of senders who are not admitted is stored; free some of it, or set disk.lowBytes lower',
  full: 'the disk of the data folder is nearly full: no mail and no file is taken; free some of it, or set disk.fullBytes lower',
} as const

function diskSpaceWarnings(room: 'low' | 'full' | undefined): readonly Problem[] {
  return room === undefined ? [] : [{ code: `disk_${room}`, remedy: roomRemedies[room] }]
}

function isStrangerDayLimitSpent({ kind, total }: HealthSample): boolean {
  return kind === 'stranger' && total > 0
}

function strangerDayLimitProblem({ connection, total, state }: HealthSample): Problem {
  const who = state === 'unproven' ? 'senders who proved nothing' : 'senders who are not admitted'
  const remedy = `${who} have had their share of the day, and ${total} more were refused until midnight UTC; admitted people are not concerned; see strangers of the connection`
  return { code: 'strangers_spent', connection, remedy }
}

/** The probe says what would become of the next message, the faults what became of the last ones. */
async function storageProblems({ isCommitAnswered, probe, faults }: ReadinessDeps): Promise<readonly Problem[]> {
  if (!isCommitAnswered()) {
    const remedy = 'the database takes commits and does not answer; look at its locks and disk'
    return [{ code: 'db_unresponsive', remedy }]
  }
  const found = await withDatabaseTimeout(answerMs, probe()).then(
    () => [],
    (error: unknown) => [
      isGatewayError(error) ? error.message : 'check that the database is up and its address is right',
    ],
  )
  const reported = faults().map(
    ({ statement, sqlstate, remedy }) => `[storage] ${statement} failed (${sqlstate || 'no code'}); ${remedy}`,
  )
  return [...new Set([...found, ...reported])].map((remedy) => ({ code: 'storage_unavailable', remedy }))
}

function connectionWarnings(sample: ConnectionProbeState): readonly Problem[] {
  const worst = findWorstProblem(sample)
  if (worst === undefined) return []
  const code = worst.state === 'failed' ? 'connection_failed' : 'connection_degraded'
  return [{ code, connection: sample.connection, remedy: `${worst.problem}; ${worst.remedy}` }]
}

function modelWarnings(sample: ConnectionProbeState): readonly Problem[] {
  const worst = findWorstProblem(sample)
  if (worst === undefined) return []
  return [{ code: 'model_failed', remedy: `${sample.connection}: ${worst.problem}; ${worst.remedy}` }]
}

/** Nothing, where this process does not look. */
function connectionStateFields(sample: ConnectionProbeState | undefined): Partial<ConnectionStanding> {
  if (sample === undefined) return {}
  const { state, since, checkedAt, summary } = sample
  const worst = findWorstProblem(sample)
  return {
    state,
    since,
    ...(checkedAt === undefined ? {} : { checkedAt }),
    ...(summary === '' ? {} : { summary }),
    ...(worst === undefined ? {} : { reason: worst.reason, problem: worst.problem, remedy: worst.remedy }),
  }
}

function stalledLoopProblem(loop: string): Problem {
  const code = loop === 'leases' ? 'leases_stalled' : 'worker_stalled'
  return {
    code,
    remedy: `the ${loop} loop of this process has stopped; restart it, nothing is lost, and report its log`,
  }
}

/** Red only where something waits: a gateway that is full and has nothing else to do is ready for what comes. */
function slotProblems(slots: SlotUse | undefined, samples: readonly HealthSample[]): readonly Problem[] {
  if (slots === undefined) return []
  const isDueLane = ({ kind, state }: HealthSample): boolean =>
    kind === 'lane' && (state === 'due' || state === 'expired')
  const due = samples.filter(isDueLane)
  if (sumCurrentCounts(due) === 0) return []
  if (!areSlotsFullTooLong(slots)) return slotShareProblems(slots, due)
  const [most] = slots.holders
  const holder = most === undefined ? '' : `; agent ${most.agent} on ${most.connection} has ${most.used} of them`
  const remedy = `all ${slots.slots} slots are taken since ${Math.round((slots.fullMs ?? 0) / 1000)} s and messages wait${holder}: look at what its turns wait for, or raise turns.slots`
  return [{ code: 'slots_full', remedy }]
}

/** Others are answered; people at this agent on this connection are not. */
function slotShareProblems({ slots, holders }: SlotUse, due: readonly HealthSample[]): readonly Problem[] {
  const stuck = holders.find(
    (holder) => areSlotsFullTooLong(holder) && due.some(({ connection }) => connection === holder.connection),
  )
  if (stuck === undefined) return []
  const { agent, connection, used, fullMs } = stuck
  const remedy = `agent ${agent} on ${connection} holds ${used} of ${slots} slots, all it may, since ${Math.round((fullMs ?? 0) / 1000)} s, and messages wait there: look at what its turns wait for, or raise turns.slots`
  return [{ code: 'slots_full', remedy }]
}

function toSlotHealth({ slots, used, fullMs, holders }: SlotUse): SlotHealth {
  return {
    total: slots,
    used,
    full: toSeconds(fullMs),
    holders: holders.map(({ oldestMs, fullMs: full, ...holder }) => ({
      ...holder,
      oldest: Math.round(oldestMs) / 1000,
      full: toSeconds(full),
    })),
  }
}

function connectionHealth(samples: readonly HealthSample[], connection: string): ConnectionHealth {
  const ours = samples.filter((sample) => sample.connection === connection)
  const messages = ours.filter((sample) => sample.kind === 'message')
  const waiting = messages.filter((sample) => sample.state === 'queued')
  const calls = ours.filter((sample) => sample.kind === 'call')
  const open = calls.filter((sample) => ['queued', 'sending', 'retry', 'reconciling'].includes(sample.state))
  const delivered = calls.filter((sample) => sample.state === 'delivered')
  return {
    connection,
    lastInboundAge: toSeconds(
      pickExtremeAge(
        Math.min,
        messages.map((sample) => sample.lastMs),
      ),
    ),
    lastOutboundAge: toSeconds(
      pickExtremeAge(
        Math.min,
        delivered.map((sample) => sample.lastMs),
      ),
    ),
    waiting: sumCurrentCounts(waiting),
    oldestWaitingAge: toSeconds(
      pickExtremeAge(
        Math.max,
        waiting.map((sample) => sample.oldestMs),
      ),
    ),
    openCalls: sumCurrentCounts(open),
    oldestDueCallAge: toSeconds(
      pickExtremeAge(
        Math.max,
        open.map((sample) => sample.oldestMs),
      ),
    ),
  }
}

/** Milliseconds since the latest message of each connection. */
export function lastInboundAges(samples: readonly HealthSample[]): ReadonlyMap<string, number | null> {
  const messages = samples.filter((sample) => sample.kind === 'message')
  const connections = [...new Set(messages.map(({ connection }) => connection))]
  return new Map(
    connections.map((connection) => [
      connection,
      pickExtremeAge(
        Math.min,
        messages.filter((sample) => sample.connection === connection).map((sample) => sample.lastMs),
      ),
    ]),
  )
}

function sumCurrentCounts(samples: readonly HealthSample[]): number {
  return samples.reduce((sum, sample) => sum + sample.current, 0)
}

function pickExtremeAge(pick: (...values: number[]) => number, values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : pick(...known)
}

function agesInSeconds<Name extends string>(ages: Readonly<Record<Name, number | null>>): Record<Name, number | null> {
  const entries = Object.entries<number | null>(ages).map(([name, ms]) => [name, toSeconds(ms)])
  // The names are those that came in.
  return Object.fromEntries(entries) as Record<Name, number | null>
}

function toSeconds(ms: number | null): number | null {
  return ms === null ? null : Math.max(0, Math.round(ms)) / 1000
}

/** Undefined when it failed or took too long. */
function undefinedOnErrorOrTimeout<T>(work: Promise<T>): Promise<T | undefined> {
  return withDatabaseTimeout(answerMs, work).catch(() => undefined)
}
