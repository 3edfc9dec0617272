// Health samples as metrics: the same families on every runtime, since they come from the rows and not from a process.

import type { HealthSample } from '../db/health.ts'
import type { MetricFamily, MetricSample } from './prometheus.ts'

const messageStates = ['queued', 'in_turn', 'held', 'answered', 'merged', 'refused', 'dead', 'ignored']
const callStates = ['queued', 'sending', 'retry', 'reconciling', 'delivered', 'unknown', 'refused', 'dead', 'cancelled']
const laneStates = ['due', 'held', 'delayed', 'expired']
const retained = ['content', 'receipts', 'calls', 'turns']
const sayCode = /^[\w.:-]{1,80}$/

/** `connections` are shown from the start, with zeros; undefined signs mean that the database did not answer. */
export function healthMetrics(
  samples: readonly HealthSample[] | undefined,
  connections: readonly string[],
): MetricFamily[] {
  const up: MetricFamily = {
    name: 'parley_database_up',
    help: 'Whether the database answered when this was read; the families from its rows are missing otherwise.',
    type: 'gauge',
    samples: [{ labels: {}, value: samples === undefined ? 0 : 1 }],
  }
  return samples === undefined
    ? [up]
    : [up, ...currentCountFamilies(samples, connections), ...endedCountFamilies(samples), ...ageFamilies(samples)]
}

function currentCountFamilies(
  samples: readonly HealthSample[],
  connections: readonly string[],
): readonly MetricFamily[] {
  const countByState = (kind: HealthSample['kind'], states: readonly string[]): readonly MetricSample[] => {
    const zeros = connections.flatMap((connection) =>
      states.map((state) => ({ labels: { connection, state }, value: 0 })),
    )
    const ours = samples.filter((sample) => sample.kind === kind)
    return sumByLabels([...zeros, ...ours.map((sample) => ({ labels: stateLabels(sample), value: sample.current }))])
  }
  const countSamplesByConnection = (kind: HealthSample['kind']): readonly MetricSample[] => [
    ...connections.map((connection) => ({ labels: { connection }, value: 0 })),
    ...samples
      .filter((sample) => sample.kind === kind)
      .map(({ connection, current: value }) => ({ labels: { connection }, value })),
  ]
  const strangerSamplesOfToday = (value: 'current' | 'total'): readonly MetricSample[] =>
    samples
      .filter((sample) => sample.kind === 'stranger')
      .map((sample) => ({ labels: { connection: sample.connection, kind: sample.state }, value: sample[value] }))
  const timers = samples
    .filter((sample) => sample.kind === 'timer')
    .map((sample) => ({ labels: {}, value: sample.current }))
  return [
    gaugeFamily(
      'parley_messages',
      'Messages by state. queued, in_turn and held are in flight.',
      countByState('message', messageStates),
    ),
    gaugeFamily(
      'parley_lanes',
      'Conversations with work; held ones are running a turn.',
      countByState('lane', laneStates),
    ),
    gaugeFamily(
      'parley_calls',
      'Vendor calls by state; the first four are not settled yet.',
      countByState('call', callStates),
    ),
    gaugeFamily(
      'parley_send_lanes',
      'Order keys with calls to send; held ones are sending.',
      countByState('send_lane', laneStates),
    ),
    gaugeFamily(
      'parley_suspect_turns',
      'Turns on which a process died, until they end.',
      sumByLabels(countSamplesByConnection('suspect')),
    ),
    gaugeFamily(
      'parley_pairings',
      'Strangers who wait to be let in.',
      sumByLabels(countSamplesByConnection('pairing')),
    ),
    gaugeFamily(
      'parley_strangers_today',
      'Messages today of senders who are not admitted.',
      strangerSamplesOfToday('current'),
    ),
    gaugeFamily(
      'parley_strangers_refused_today',
      'Messages beyond their share of the day, not kept.',
      strangerSamplesOfToday('total'),
    ),
    gaugeFamily('parley_timers_overdue', 'Timers that should have fired, 10000 at most.', sumByLabels(timers)),
  ]
}

/** Never fall, also when retention removes the rows: what a rate can be taken of. */
function endedCountFamilies(samples: readonly HealthSample[]): readonly MetricFamily[] {
  const endedCountSamples = (kind: HealthSample['kind']): readonly MetricSample[] => {
    const ours = samples.filter((sample) => sample.kind === kind && sample.total > 0)
    return sumByLabels(
      ours.map((sample) => ({
        labels: { ...stateLabels(sample), reason: codeOrOther(sample.reason) },
        value: sample.total,
      })),
    )
  }
  const crashes = samples
    .filter((sample) => sample.kind === 'crash')
    .map(({ connection, total }) => ({ labels: { connection }, value: total }))
  const drift = samples.filter((sample) => sample.kind === 'drift').map(laneDriftSample)
  return [
    counterFamily(
      'parley_messages_ended_total',
      'Messages that came to an end, by state and reason.',
      endedCountSamples('message'),
    ),
    counterFamily(
      'parley_calls_ended_total',
      'Vendor calls that were settled, by state and reason.',
      endedCountSamples('call'),
    ),
    counterFamily(
      'parley_turn_crashes_total',
      'Times a process died on a turn: killed, crashed, out of memory.',
      sumByLabels(crashes),
    ),
    counterFamily(
      'parley_drift_total',
      'Lanes found to disagree with their rows, and corrected. A fault.',
      sumByLabels(drift),
    ),
  ]
}

function ageFamilies(samples: readonly HealthSample[]): readonly MetricFamily[] {
  const samplesOfKind = (kind: HealthSample['kind'], state?: string) =>
    samples.filter((sample) => sample.kind === kind && (state === undefined || sample.state === state))
  const oldestAgeSamples = (found: readonly HealthSample[]) => extremeAgeSamples(found, 'oldestMs', Math.max)
  const lastAgeSamples = (found: readonly HealthSample[]) => extremeAgeSamples(found, 'lastMs', Math.min)
  return [
    gaugeFamily(
      'parley_oldest_waiting_message_seconds',
      'Age of the oldest message that waits for its turn.',
      oldestAgeSamples(samplesOfKind('message', 'queued')),
    ),
    gaugeFamily(
      'parley_oldest_message_in_turn_seconds',
      'Age of the oldest message whose answer is being made or sent.',
      oldestAgeSamples(samplesOfKind('message', 'in_turn')),
    ),
    gaugeFamily(
      'parley_oldest_due_call_seconds',
      'How long the oldest call that may be sent has been waiting.',
      oldestAgeSamples(samplesOfKind('call')),
    ),
    gaugeFamily(
      'parley_oldest_overdue_timer_seconds',
      'How late the latest timer is.',
      oldestAgeSamples(samplesOfKind('timer')).map(({ value }) => ({ labels: {}, value })),
    ),
    gaugeFamily(
      'parley_oldest_overdue_erasure_seconds',
      'How long the oldest row is beyond the time it is kept for.',
      retained.map((kept) => ({
        labels: { kept },
        value: Math.round(samplesOfKind('retention', kept)[0]?.oldestMs ?? 0) / 1000,
      })),
    ),
    gaugeFamily(
      'parley_last_inbound_age_seconds',
      'Time since the last message was stored.',
      lastAgeSamples(samplesOfKind('message')),
    ),
    gaugeFamily(
      'parley_last_outbound_age_seconds',
      'Time since the last call was delivered.',
      lastAgeSamples(samplesOfKind('call', 'delivered')),
    ),
  ]
}

/** One sample per connection that has such an age at all. */
function extremeAgeSamples(
  samples: readonly HealthSample[],
  field: 'oldestMs' | 'lastMs',
  pick: (a: number, b: number) => number,
): readonly MetricSample[] {
  const found = new Map<string, number>()
  for (const { connection, [field]: ms } of samples) {
    if (ms === null) continue
    const before = found.get(connection)
    found.set(connection, before === undefined ? ms : pick(before, ms))
  }
  return [...found].map(([connection, ms]) => ({ labels: { connection }, value: Math.max(0, Math.round(ms)) / 1000 }))
}

/** Samples with the same labels must be one. */
function sumByLabels(samples: readonly MetricSample[]): readonly MetricSample[] {
  const sums = new Map<string, MetricSample>()
  for (const { labels, value } of samples) {
    const key = JSON.stringify(labels)
    sums.set(key, { labels, value: (sums.get(key)?.value ?? 0) + value })
  }
  return [...sums.values()]
}

function stateLabels({ connection, state }: HealthSample): { connection: string; state: string } {
  return { connection, state: codeOrOther(state) }
}

function laneDriftSample({ connection, state, reason, total }: HealthSample): MetricSample {
  return { labels: { connection, lane: codeOrOther(state), found: codeOrOther(reason) }, value: total }
}

/** Reasons are codes. Whatever is none must not become a label. */
function codeOrOther(text: string): string {
  return text === '' || sayCode.test(text) ? text : 'other'
}

function gaugeFamily(name: string, help: string, samples: readonly MetricSample[]): MetricFamily {
  return { name, help, type: 'gauge', samples }
}

function counterFamily(name: string, help: string, samples: readonly MetricSample[]): MetricFamily {
  return { name, help, type: 'counter', samples }
}
