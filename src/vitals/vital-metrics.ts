// Health samples as metrics: the same families on every runtime, since they come from the rows and not from a process.
import type { Family, Sample } from './exposition.ts'
import type { VitalSign } from './vitals-store.ts'

const messageStates = ['queued', 'in_turn', 'held', 'answered', 'merged', 'refused', 'dead', 'ignored']
const callStates = ['queued', 'sending', 'retry', 'reconciling', 'delivered', 'unknown', 'refused', 'dead', 'cancelled']
const laneStates = ['due', 'held', 'delayed', 'expired']
const retained = ['content', 'receipts', 'calls', 'turns']
const sayCode = /^[\w.:-]{1,80}$/

/** `connections` are shown from the start, with zeros; undefined signs mean that the database did not answer. */
export function vitalMetrics(signs: readonly VitalSign[] | undefined, connections: readonly string[]): Family[] {
  const up: Family = {
    name: 'parley_database_up',
    help: 'Whether the database answered when this was read; the families from its rows are missing otherwise.',
    type: 'gauge',
    samples: [{ labels: {}, value: signs === undefined ? 0 : 1 }],
  }
  return signs === undefined ? [up] : [up, ...standing(signs, connections), ...ended(signs), ...ages(signs)]
}

function standing(signs: readonly VitalSign[], connections: readonly string[]): readonly Family[] {
  const counted = (kind: VitalSign['kind'], states: readonly string[]): readonly Sample[] => {
    const zeros = connections.flatMap((connection) =>
      states.map((state) => ({ labels: { connection, state }, value: 0 })),
    )
    const ours = signs.filter((sign) => sign.kind === kind)
    return summed([...zeros, ...ours.map((sign) => ({ labels: byState(sign), value: sign.standing }))])
  }
  const byConnection = (kind: VitalSign['kind']): readonly Sample[] => [
    ...connections.map((connection) => ({ labels: { connection }, value: 0 })),
    ...signs
      .filter((sign) => sign.kind === kind)
      .map(({ connection, standing: value }) => ({ labels: { connection }, value })),
  ]
  const today = (value: 'standing' | 'ever'): readonly Sample[] =>
    signs
      .filter((sign) => sign.kind === 'stranger')
      .map((sign) => ({ labels: { connection: sign.connection, kind: sign.state }, value: sign[value] }))
  const timers = signs.filter((sign) => sign.kind === 'timer').map((sign) => ({ labels: {}, value: sign.standing }))
  return [
    gauge(
      'parley_messages',
      'The books: messages by state. queued, in_turn and held are in flight.',
      counted('message', messageStates),
    ),
    gauge('parley_lanes', 'Conversations with work; held ones are running a turn.', counted('lane', laneStates)),
    gauge('parley_calls', 'Vendor calls by state; the first four are not settled yet.', counted('call', callStates)),
    gauge(
      'parley_send_lanes',
      'Order keys with calls to send; held ones are sending.',
      counted('send_lane', laneStates),
    ),
    gauge('parley_suspects', 'Turns on which a process died, until they end.', summed(byConnection('suspect'))),
    gauge('parley_pairings', 'Strangers who wait to be let in.', summed(byConnection('pairing'))),
    gauge('parley_strangers_today', 'Messages today of senders who are not admitted.', today('standing')),
    gauge('parley_strangers_refused_today', 'Messages beyond their share of the day, not kept.', today('ever')),
    gauge('parley_timers_overdue', 'Timers that should have fired, 10000 at most.', summed(timers)),
  ]
}

/** Never fall, also when retention removes the rows: what a rate can be taken of. */
function ended(signs: readonly VitalSign[]): readonly Family[] {
  const counted = (kind: VitalSign['kind']): readonly Sample[] => {
    const ours = signs.filter((sign) => sign.kind === kind && sign.ever > 0)
    return summed(ours.map((sign) => ({ labels: { ...byState(sign), reason: codeOf(sign.reason) }, value: sign.ever })))
  }
  const deaths = signs
    .filter((sign) => sign.kind === 'death')
    .map(({ connection, ever }) => ({ labels: { connection }, value: ever }))
  const drift = signs.filter((sign) => sign.kind === 'drift').map(driftSample)
  return [
    counter('parley_messages_ended_total', 'Messages that came to an end, by state and reason.', counted('message')),
    counter('parley_calls_ended_total', 'Vendor calls that were settled, by state and reason.', counted('call')),
    counter('parley_deaths_total', 'Times a process died on a turn: killed, crashed, out of memory.', summed(deaths)),
    counter('parley_drift_total', 'Lanes found to disagree with their rows, and corrected. A fault.', summed(drift)),
  ]
}

function ages(signs: readonly VitalSign[]): readonly Family[] {
  const of = (kind: VitalSign['kind'], state?: string) =>
    signs.filter((sign) => sign.kind === kind && (state === undefined || sign.state === state))
  const oldest = (found: readonly VitalSign[]) => extremes(found, 'oldestMs', Math.max)
  const last = (found: readonly VitalSign[]) => extremes(found, 'lastMs', Math.min)
  return [
    gauge(
      'parley_oldest_waiting_message_seconds',
      'Age of the oldest message that waits for its turn.',
      oldest(of('message', 'queued')),
    ),
    gauge(
      'parley_oldest_message_in_turn_seconds',
      'Age of the oldest message whose answer is being made or sent.',
      oldest(of('message', 'in_turn')),
    ),
    gauge(
      'parley_oldest_due_call_seconds',
      'How long the oldest call that may be sent has been waiting.',
      oldest(of('call')),
    ),
    gauge(
      'parley_oldest_overdue_timer_seconds',
      'How late the latest timer is.',
      oldest(of('timer')).map(({ value }) => ({ labels: {}, value })),
    ),
    gauge(
      'parley_oldest_overdue_erasure_seconds',
      'How long the oldest row is beyond the time it is kept for.',
      retained.map((kept) => ({ labels: { kept }, value: Math.round(of('retention', kept)[0]?.oldestMs ?? 0) / 1000 })),
    ),
    gauge('parley_last_inbound_age_seconds', 'Time since the last message was stored.', last(of('message'))),
    gauge('parley_last_outbound_age_seconds', 'Time since the last call was delivered.', last(of('call', 'delivered'))),
  ]
}

/** One sample per connection that has such an age at all. */
function extremes(
  signs: readonly VitalSign[],
  field: 'oldestMs' | 'lastMs',
  pick: (a: number, b: number) => number,
): readonly Sample[] {
  const found = new Map<string, number>()
  for (const { connection, [field]: ms } of signs) {
    if (ms === null) continue
    const before = found.get(connection)
    found.set(connection, before === undefined ? ms : pick(before, ms))
  }
  return [...found].map(([connection, ms]) => ({ labels: { connection }, value: Math.max(0, Math.round(ms)) / 1000 }))
}

/** Samples with the same labels must be one. */
function summed(samples: readonly Sample[]): readonly Sample[] {
  const sums = new Map<string, Sample>()
  for (const { labels, value } of samples) {
    const key = JSON.stringify(labels)
    sums.set(key, { labels, value: (sums.get(key)?.value ?? 0) + value })
  }
  return [...sums.values()]
}

function byState({ connection, state }: VitalSign): { connection: string; state: string } {
  return { connection, state: codeOf(state) }
}

function driftSample({ connection, state, reason, ever }: VitalSign): Sample {
  return { labels: { connection, lane: codeOf(state), found: codeOf(reason) }, value: ever }
}

/** Reasons are codes. Whatever is none must not become a label. */
function codeOf(text: string): string {
  return text === '' || sayCode.test(text) ? text : 'other'
}

function gauge(name: string, help: string, samples: readonly Sample[]): Family {
  return { name, help, type: 'gauge', samples }
}

function counter(name: string, help: string, samples: readonly Sample[]): Family {
  return { name, help, type: 'counter', samples }
}
