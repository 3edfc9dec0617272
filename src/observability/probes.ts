// Health probes of connections, from their platforms and this process's own loops: run at the start and then on a schedule. Logged
// only when a result changes.
import type { ProbeProblem, ProbeRequest, ProbeResult } from '../contract/index.ts'
import { findWorstProblem, stateFromProbeProblems } from '../contract/probe.ts'
import { errorLogFields, type Log } from '../lib/log.ts'
import { sleep } from '../lib/time.ts'
import type { ConnectionProbeState } from './connection-health.ts'

export type Probed = {
  readonly key: string
  readonly probe: ((request: ProbeRequest) => Promise<ProbeResult>) | undefined
}

export type ProbesDeps = {
  readonly probed: readonly Probed[]
  /** What is asked about; a connection unless told. */
  readonly about?: 'connection' | 'model'
  /** What this process itself sees go wrong: a source that fails, a port that is not open. */
  readonly seenHere: (connection: string) => readonly ProbeProblem[]
  /** When the last message of a connection was stored. */
  readonly lastInboundAt: (connection: string) => Promise<number | undefined>
  /** Where the gateway's public URL leads. */
  readonly publicUrl?: ProbeRequest['publicUrl']
  /** How often a connection that is well is asked about. 0: never, not at the start either. */
  readonly everyMs: number
  /** What is known so soon after the start is reported by `first`, and is not logged too. */
  readonly reportWithinMs?: number
  readonly now: () => number
  /** Resolves after so long, or with the signal. Without it: by this machine's clock. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>
  readonly random: () => number
  readonly log: Log
}

export type RunningProbes = {
  readonly states: () => readonly ConnectionProbeState[]
  /** By connection that is asked about: resolves when it is known how it stands. */
  readonly first: ReadonlyMap<string, Promise<ConnectionProbeState>>
  readonly stop: () => Promise<void>
}

const timeoutMs = 10_000
/** What is wrong is perhaps being mended just now: asked again sooner, and then less and less often. */
const firstAgainMs = 30_000
/** So often it is looked at what this process itself sees. */
const checkEveryMs = 5_000

export function runProbes(deps: ProbesDeps): RunningProbes {
  const stopping = new AbortController()
  const results = new Map<string, { readonly result: ProbeResult; readonly at: number }>()
  const reported = new Map<string, ConnectionProbeState>()
  const reportedUntil = deps.now() + (deps.reportWithinMs ?? 0)
  const isProbed = (each: Probed): boolean => each.probe !== undefined && deps.everyMs > 0
  const updateConnectionHealth = (each: Probed): ConnectionProbeState => {
    const known = results.get(each.key)
    const state = toConnectionHealth(
      deps,
      each.key,
      isProbed(each) ? (known ?? 'unknown') : undefined,
      reported.get(each.key),
    )
    const isReportedByOther =
      state.checkedAt !== undefined && !reported.get(each.key)?.checkedAt && deps.now() < reportedUntil
    if (isStateChange(reported.get(each.key), state) && !isReportedByOther) logProbeChange(deps, state)
    reported.set(each.key, state)
    return state
  }
  for (const each of deps.probed) updateConnectionHealth(each)
  const asked = deps.probed
    .filter(isProbed)
    .map((each) => ({ each, known: Promise.withResolvers<ConnectionProbeState>() }))
  const running = asked.map(({ each, known }) =>
    probeRepeatedly(deps, each, stopping.signal, (result) => {
      if (result.retryAfterMs === undefined) results.set(each.key, { result, at: deps.now() })
      const state = updateConnectionHealth(each)
      if (state.state !== 'checking') known.resolve(state)
    }),
  )
  const checking = checkRepeatedly(deps, stopping.signal, () => void deps.probed.map(updateConnectionHealth))
  return {
    states: () => deps.probed.map(updateConnectionHealth),
    first: new Map(asked.map(({ each, known }) => [each.key, known.promise])),
    async stop() {
      stopping.abort()
      await Promise.all([...running, checking])
    },
  }
}

async function checkRepeatedly({ wait = sleep }: ProbesDeps, stop: AbortSignal, check: () => void): Promise<void> {
  while (!stop.aborted) {
    await wait(checkEveryMs, stop)
    if (!stop.aborted) check()
  }
}

async function probeRepeatedly(
  deps: ProbesDeps,
  { key, probe }: Probed,
  stop: AbortSignal,
  take: (result: ProbeResult) => void,
): Promise<void> {
  if (probe === undefined) return
  let inARow = 0
  while (!stop.aborted) {
    const result = await probeWithTimeout(deps, key, probe, stop)
    if (stop.aborted) return
    take(result)
    inARow = stateFromProbeProblems(result) === 'ok' ? 0 : inARow + 1
    const again = inARow === 0 ? deps.everyMs : Math.min(deps.everyMs, firstAgainMs * 2 ** (inARow - 1))
    // Replicas and connections that began together do not stay together.
    await (deps.wait ?? sleep)(Math.max(again * (0.8 + 0.4 * deps.random()), result.retryAfterMs ?? 0), stop)
  }
}

/** Ends in time, whatever the adapter does with its signal. */
async function probeWithTimeout(
  deps: ProbesDeps,
  key: string,
  probe: NonNullable<Probed['probe']>,
  stop: AbortSignal,
): Promise<ProbeResult> {
  const asked = new AbortController()
  const over = AbortSignal.any([stop, asked.signal])
  const late = (deps.wait ?? sleep)(timeoutMs, over).then(() => {
    asked.abort()
    return noAnswer
  })
  try {
    const lastInboundAt = await deps.lastInboundAt(key).catch(() => undefined)
    const asking = probe({
      signal: over,
      ...(lastInboundAt === undefined ? {} : { lastInboundAt }),
      ...(deps.publicUrl === undefined ? {} : { publicUrl: deps.publicUrl }),
    })
    return await Promise.race([asking, late])
  } catch (error) {
    deps.log.warn('probe_failed', { connection: key, ...errorLogFields(error, 'internal') })
    return brokenProbe
  } finally {
    asked.abort()
  }
}

const noAnswer: ProbeResult = {
  summary: '',
  problems: [
    {
      state: 'degraded',
      reason: 'no_answer',
      problem: `no answer within ${timeoutMs / 1000} s`,
      remedy: 'check the network; it is asked again',
    },
  ],
}

const brokenProbe: ProbeResult = {
  summary: '',
  problems: [
    {
      state: 'degraded',
      reason: 'probe_failed',
      problem: 'it could not be found out how it stands',
      remedy: 'look for probe_failed in the log; it is asked again',
    },
  ],
}

type Known = { readonly result: ProbeResult; readonly at: number }

/** `known` is undefined where the platform is never asked. */
function toConnectionHealth(
  { seenHere, now }: ProbesDeps,
  connection: string,
  known: Known | 'unknown' | undefined,
  before: ConnectionProbeState | undefined,
): ConnectionProbeState {
  const result = typeof known === 'object' ? known.result : undefined
  const reported = result?.problems ?? []
  // Where the platform refuses us, our own loops fail for the same reason, and know less of it.
  const seen = stateFromProbeProblems({ problems: reported }) === 'failed' ? [] : seenHere(connection)
  const problems = [...seen, ...reported].toSorted(compareFailedFirst)
  const state = known === 'unknown' && problems.length === 0 ? 'checking' : stateFromProbeProblems({ problems })
  const isSame = before?.state === state && before.problems[0]?.reason === problems[0]?.reason
  return {
    connection,
    state,
    since: isSame ? before.since : new Date(now()).toISOString(),
    ...(typeof known === 'object' ? { checkedAt: new Date(known.at).toISOString() } : {}),
    summary: result?.summary ?? '',
    problems,
  }
}

function compareFailedFirst(one: ProbeProblem, other: ProbeProblem): number {
  return Number(other.state === 'failed') - Number(one.state === 'failed')
}

/** That nothing was known before, and all is well now, is no news where nothing was asked. */
function isStateChange(before: ConnectionProbeState | undefined, now: ConnectionProbeState): boolean {
  if (now.state === 'checking') return false
  if (before === undefined || before.state === 'checking') return now.state !== 'ok' || now.checkedAt !== undefined
  return before.state !== now.state || before.problems[0]?.reason !== now.problems[0]?.reason
}

function logProbeChange({ log, about }: Pick<ProbesDeps, 'log' | 'about'>, probe: ConnectionProbeState): void {
  const { connection, state } = probe
  const worst = findWorstProblem(probe)
  const wrong = worst === undefined ? {} : { reason: worst.reason, problem: `${worst.problem}; ${worst.remedy}` }
  if (about === 'model') {
    if (worst === undefined) log.info('model_checked', { model: connection, state })
    else log.warn('model_checked', { model: connection, state, ...wrong })
  } else if (worst === undefined) log.info('connection_checked', { connection, state })
  else log.warn('connection_checked', { connection, state, ...wrong })
}
