// Health of connections, for readiness, metrics, the command line and the start: as their platforms say, and as this process sees.
import type { ProbeProblem } from '../contract/index.ts'
import { findWorstProblem, type ProbeState } from '../contract/probe.ts'
import type { MetricFamily } from './prometheus.ts'

/** `checking`: not known yet. */
export type ConnectionState = ProbeState | 'checking'

export type ConnectionProbeState = {
  readonly connection: string
  readonly state: ConnectionState
  /** Since when it is in this state, for this reason. */
  readonly since: string
  /** When the platform was last asked and answered. Absent where it is never asked, or has not answered. */
  readonly checkedAt?: string
  /** Who we are there and how messages come; empty where that is not known. */
  readonly summary: string
  /** The worst first. */
  readonly problems: readonly ProbeProblem[]
}

/** `standby`: another process pulls. `failing`: tried again, nothing lost; `code` says why. */
export type SourceHealth = {
  readonly connection: string
  readonly state: 'standby' | 'pulling' | 'failing'
  readonly code?: string
  /** What it says itself, where the settings are wrong. */
  readonly problem?: string
  /** In a row, since something was pulled or a pull went on for a while. */
  readonly failures: number
}

/** `failing`: the port is not open, and is tried again; `code` says why. */
export type ListenerHealth = {
  readonly connection: string
  readonly state: 'listening' | 'failing'
  readonly address?: string
  readonly code?: string
  /** What to do about it. */
  readonly problem?: string
}

/** A platform that refuses once is asked again; one that refuses so often in a row is a fault. */
const failuresInARow = 3

/** What this process itself sees go wrong with a connection. */
export function sourceAndListenerProblems(
  connection: string,
  sources: readonly SourceHealth[],
  listeners: readonly ListenerHealth[],
): readonly ProbeProblem[] {
  return [
    ...sources.filter((each) => each.connection === connection).flatMap(messageSourceProblems),
    ...listeners.filter((each) => each.connection === connection).flatMap(listenerProblems),
  ]
}

function messageSourceProblems({ failures, code = 'internal', problem }: SourceHealth): readonly ProbeProblem[] {
  // Wrong settings do not become right by waiting.
  if (failures === 0 || (failures < failuresInARow && code !== 'config_invalid')) return []
  const [what = '', ...rest] = (problem ?? '').replace(/^\[\w+\] /, '').split('; ')
  const remedy = rest.join('; ')
  return [
    {
      state: 'failed',
      reason: 'source_failing',
      problem: what === '' ? `messages cannot be fetched (${code})` : what,
      remedy: remedy === '' ? 'look for source_failed in the log; it is tried again' : remedy,
    },
  ]
}

function listenerProblems({ state, code = 'internal', problem }: ListenerHealth): readonly ProbeProblem[] {
  if (state === 'listening') return []
  const remedy = problem ?? 'look for listener_failed in the log; it is tried again'
  return [{ state: 'failed', reason: 'port_closed', problem: `its port is not open (${code})`, remedy }]
}

/** `telegram @my_bot, polling, ok`; or what is wrong, and what to do. */
export function formatConnectionState(probe: ConnectionProbeState): string {
  const { connection, summary, state } = probe
  const name = connection.replace(/\/default$/, '')
  const who = summary === '' ? name : `${name} ${summary}`
  const worst = findWorstProblem(probe)
  if (worst === undefined) return state === 'ok' ? `${who}, ok` : `${who}: no answer yet; see parley connections list`
  const { problem, remedy } = worst
  return `${who}: ${problem}. ${remedy.charAt(0).toUpperCase()}${remedy.slice(1)}.`
}

/** A connection that is not known yet has no sample. */
export function connectionMetrics(states: readonly ConnectionProbeState[]): readonly MetricFamily[] {
  const known = states.filter(({ state }) => state !== 'checking')
  const stateSamples = (isTrue: (state: ConnectionState) => boolean): MetricFamily['samples'] =>
    known.map(({ connection, state }) => ({ labels: { connection }, value: isTrue(state) ? 1 : 0 }))
  return [
    {
      name: 'parley_connection_up',
      type: 'gauge',
      samples: stateSamples((state) => state !== 'failed'),
      help: 'Whether a connection works, as its platform and this process tell; 0: nothing comes in, or nothing goes out.',
    },
    {
      name: 'parley_connection_degraded',
      type: 'gauge',
      samples: stateSamples((state) => state === 'degraded'),
      help: 'Whether a part of a connection does not work, or its platform did not answer.',
    },
  ]
}
