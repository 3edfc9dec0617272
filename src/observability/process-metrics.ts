// Metrics of this process: slots, the HTTP listener, threads, MCP servers.

import type { OffloadFailure } from '../contract/channel.ts'
import type { MetricFamily } from './prometheus.ts'

export type SlotHolder = {
  readonly agent: string
  readonly connection: string
  readonly used: number
  /** How long the turn that has held one longest has been running. */
  readonly oldestMs: number
  /** How long it has held all it may, while others may have more; null: it may have more. */
  readonly fullMs: number | null
}

export type SlotUse = {
  readonly slots: number
  readonly used: number
  /** How long no slot has been free, not even for a moment; null: one is free. */
  readonly fullMs: number | null
  /** The one that holds most comes first. */
  readonly holders: readonly SlotHolder[]
}

/** A slot that becomes free between two turns is work going on; so long without one is a standstill. */
const standstillMs = 3_000

export function areSlotsFullTooLong({ fullMs }: Pick<SlotUse, 'fullMs'>): boolean {
  return fullMs !== null && fullMs > standstillMs
}

export function slotMetrics({ slots, used, fullMs, holders }: SlotUse): readonly MetricFamily[] {
  const gaugeFamily = (name: string, help: string, samples: MetricFamily['samples']): MetricFamily => ({
    name,
    help,
    type: 'gauge',
    samples,
  })
  const samplesByHolder = (value: (holder: SlotHolder) => number): MetricFamily['samples'] =>
    holders.map((holder) => ({ labels: { connection: holder.connection, agent: holder.agent }, value: value(holder) }))
  return [
    gaugeFamily('parley_slots', 'Turns that may run at once in this process.', [{ labels: {}, value: slots }]),
    gaugeFamily(
      'parley_slots_used',
      'Turns that run now, by agent and connection.',
      samplesByHolder((holder) => holder.used),
    ),
    gaugeFamily('parley_slots_free', 'Slots that no turn runs in.', [{ labels: {}, value: Math.max(0, slots - used) }]),
    gaugeFamily(
      'parley_slots_oldest_seconds',
      'How long the turn that has run longest has been running.',
      samplesByHolder((holder) => Math.round(holder.oldestMs) / 1000),
    ),
    gaugeFamily('parley_slots_full_seconds', 'How long no slot has been free; 0: one is.', [
      { labels: {}, value: Math.round(fullMs ?? 0) / 1000 },
    ]),
  ]
}

// What the HTTP listener holds for its callers, and what it refused before anything was read.

export type HttpListenerUse = {
  readonly bodies: { readonly bytes: number; readonly bodies: number; readonly limitBytes: number }
  readonly connections: { readonly open: number; readonly halfOpen: number; readonly idle: number }
  /** By reason. */
  readonly refused: ReadonlyMap<string, number>
}

export function httpListenerMetrics({ bodies, connections, refused }: HttpListenerUse): readonly MetricFamily[] {
  const gaugeFamily = (name: string, help: string, samples: MetricFamily['samples']): MetricFamily => ({
    name,
    help,
    type: 'gauge',
    samples,
  })
  const unlabelledSample = (value: number): MetricFamily['samples'] => [{ labels: {}, value }]
  return [
    gaugeFamily(
      'parley_http_body_bytes',
      'Bytes of request bodies that are held for callers not known yet.',
      unlabelledSample(bodies.bytes),
    ),
    gaugeFamily('parley_http_body_bytes_limit', 'How many there may be.', unlabelledSample(bodies.limitBytes)),
    gaugeFamily('parley_http_bodies', 'Request bodies that are being read or judged.', unlabelledSample(bodies.bodies)),
    gaugeFamily('parley_http_connections', 'Open connections of the listener, by state.', [
      { labels: { state: 'half_open' }, value: connections.halfOpen },
      { labels: { state: 'idle' }, value: connections.idle },
      { labels: { state: 'busy' }, value: connections.open - connections.halfOpen - connections.idle },
    ]),
    {
      name: 'parley_http_refused_total',
      help: 'Requests and connections that were refused by their head, size or pace.',
      type: 'counter',
      samples: [...refused].map(([reason, value]) => ({ labels: { reason }, value })),
    },
  ]
}

// Jobs that are computed in threads: how many run and wait, and how they ended.

export type JobOutcome = 'done' | 'failed' | OffloadFailure

export type JobUse = {
  readonly running: number
  readonly waiting: number
  /** Since the start, of all jobs together. */
  readonly waitedMs: number
  readonly ended: readonly { readonly job: string; readonly outcome: JobOutcome; readonly count: number }[]
}

export function jobMetrics({ running, waiting, waitedMs, ended }: JobUse): readonly MetricFamily[] {
  return [
    {
      name: 'parley_thread_jobs',
      help: 'Jobs that are computed in threads, such as proofs of mail, by state.',
      type: 'gauge',
      samples: [
        { labels: { state: 'running' }, value: running },
        { labels: { state: 'waiting' }, value: waiting },
      ],
    },
    {
      name: 'parley_thread_jobs_waited_seconds_total',
      help: 'Time that jobs waited for a thread.',
      type: 'counter',
      samples: [{ labels: {}, value: Math.round(waitedMs) / 1000 }],
    },
    {
      name: 'parley_thread_jobs_ended_total',
      help: 'Jobs by what became of them; busy: refused before it began, timeout and crashed: its thread was ended.',
      type: 'counter',
      samples: ended.map(({ job, outcome, count }) => ({ labels: { job, outcome }, value: count })),
    },
  ]
}

// An MCP server that is missing takes its tools from every turn.

type ServerState = { readonly server: string; readonly agent: string; readonly isThere: boolean }

export function toolServerMetrics(states: readonly ServerState[]): readonly MetricFamily[] {
  const samples = states.map(({ server, agent, isThere }) => ({ labels: { agent, server }, value: isThere ? 1 : 0 }))
  const help = 'Whether the MCP server of an agent is connected and has listed its tools.'
  return samples.length === 0 ? [] : [{ name: 'parley_mcp_server_up', help, type: 'gauge', samples }]
}
