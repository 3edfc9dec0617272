// What the HTTP listener of this process holds for its callers, and what it refused before anything was read. In the metrics.
import type { Family } from './exposition.ts'

export type EdgeUse = {
  readonly bodies: { readonly bytes: number; readonly bodies: number; readonly limitBytes: number }
  readonly connections: { readonly open: number; readonly halfOpen: number; readonly idle: number }
  /** By reason. */
  readonly refused: ReadonlyMap<string, number>
}

export function edgeMetrics({ bodies, connections, refused }: EdgeUse): readonly Family[] {
  const gauge = (name: string, help: string, samples: Family['samples']): Family => ({
    name,
    help,
    type: 'gauge',
    samples,
  })
  const alone = (value: number): Family['samples'] => [{ labels: {}, value }]
  return [
    gauge(
      'parley_http_body_bytes',
      'Bytes of request bodies that are held for callers not known yet.',
      alone(bodies.bytes),
    ),
    gauge('parley_http_body_bytes_limit', 'How many there may be.', alone(bodies.limitBytes)),
    gauge('parley_http_bodies', 'Request bodies that are being read or judged.', alone(bodies.bodies)),
    gauge('parley_http_connections', 'Open connections of the listener, by state.', [
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
