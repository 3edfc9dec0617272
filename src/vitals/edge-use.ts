// What the HTTP listener of this process holds for its callers, and what it refused before anything was read. In the metrics.
import type { MetricFamily } from './exposition.ts'

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
