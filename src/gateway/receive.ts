// Hops 2-4: verify, normalize, accept. Ends with stored rows; only then may the transport be answered.
import {
  type Acceptance,
  type ArrivalOutcome,
  type Arrived,
  type ArrivedMessage,
  failureFacts,
  type JsonObject,
  type NormalizedMessage,
  type RawArrival,
  type Reception,
  type RejectReason,
  type TransportAnswer,
  textOf,
  validateMessage,
} from '../contract/index.ts'
import { type AcceptContext, acceptMessage, acceptRemains } from '../inbound/accept.ts'
import { cleanMessage } from '../inbound/clean-message.ts'
import { controlCommandOf } from '../inbound/control-command.ts'
import { controlNames } from './commands/table.ts'
import type { GatewayConnection, GatewayDeps } from './deps.ts'
import { claimFiles, hasFiles } from './files/claim-files.ts'
import { withForwarded } from './forwarded.ts'
import { routeArrival } from './route-arrival.ts'
import { newTraceId, traceIdOf } from './trace-id.ts'

export type Received =
  /** `trace`: what whoever was turned away can ask by. */
  | { readonly kind: 'rejected'; readonly reason: RejectReason; readonly challenge?: string; readonly trace: string }
  | { readonly kind: 'handshake'; readonly answer: TransportAnswer }
  | {
      readonly kind: 'unreadable'
      readonly reason: string
      readonly remedy?: string
      readonly acceptances: readonly Acceptance[]
    }
  | { readonly kind: 'stored'; readonly acceptances: readonly Acceptance[] }

/** Whose trace an arrival belongs to, and since when we look at it. */
export type Entry = { readonly trace: string; readonly startedAt: number }

export async function receive(deps: GatewayDeps, at: GatewayConnection, arrival: RawArrival): Promise<Received> {
  const entry = enter(deps, arrival.headers['traceparent'])
  return observed(deps, at, entry, () => judge(deps, at, arrival, entry))
}

/** Somebody is at the door, as part of the trace that they named, if they did. */
export function enter(deps: GatewayDeps, traceparent: string | undefined): Entry {
  return { trace: traceIdOf(traceparent) ?? newTraceId(deps), startedAt: deps.monotonicMs() }
}

/** Hop 4 for channels that answer their own requests: the adapter has verified and read what is taken here. */
export function take(
  deps: GatewayDeps,
  at: GatewayConnection,
  messages: readonly ArrivedMessage[],
  entry: Entry,
): Promise<readonly Acceptance[]> {
  return observed(deps, at, entry, async () => {
    const claimed = await claimFiles(deps, at, messages)
    if (claimed.kind !== 'claimed') return [{ kind: 'refused', reason: claimed.code }]
    return storeArrivals(deps, at, claimed.arrivals, entry)
  })
}

/** Nothing is stored about whoever is turned away. */
export function turnAway(deps: GatewayDeps, at: GatewayConnection, reason: RejectReason, { trace }: Entry): void {
  deps.log.warn('arrival_rejected', { connection: at.key, trace, reason })
  deps.meter.arrived(at.key, 'rejected', reason)
}

async function observed<T>(deps: GatewayDeps, at: GatewayConnection, entry: Entry, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const facts = failureFacts(error, 'internal')
    deps.log.warn('arrival_failed', { connection: at.key, trace: entry.trace, ...facts })
    deps.meter.arrived(at.key, 'failed', facts.code ?? '')
    throw error
  }
}

async function judge(deps: GatewayDeps, at: GatewayConnection, arrival: RawArrival, entry: Entry): Promise<Received> {
  const reception = await at.adapter.receive(arrival, at.connection)
  switch (reception.kind) {
    case 'rejected':
      turnAway(deps, at, reception.reason, entry)
      return { ...reception, trace: entry.trace }
    case 'handshake':
      deps.meter.arrived(at.key, 'handshake', '')
      return reception
    case 'unreadable': {
      const acceptance = await keepUnreadable(deps, at, arrival, { reception, entry })
      const { reason, remedy } = reception
      return { kind: 'unreadable', reason, ...(remedy === undefined ? {} : { remedy }), acceptances: [acceptance] }
    }
    case 'read':
      return takeIn(deps, at, arrival, { arrivals: reception.arrivals, entry })
  }
}

/** What refers to files that are not the sender's is not taken, and nothing of it is kept. */
async function takeIn(
  deps: GatewayDeps,
  at: GatewayConnection,
  arrival: RawArrival,
  { arrivals, entry }: { readonly arrivals: readonly Arrived[]; readonly entry: Entry },
): Promise<Received> {
  // Most messages have no file, and what needs no waiting is not waited for: each wait is a round through the runtime's queue.
  if (!arrivals.some(hasFiles)) return { kind: 'stored', acceptances: await storeArrivals(deps, at, arrivals, entry) }
  const claimed = await claimFiles(deps, at, arrivals)
  if (claimed.kind === 'claimed')
    return { kind: 'stored', acceptances: await storeArrivals(deps, at, claimed.arrivals, entry) }
  const { code: reason, remedy } = claimed
  const { subject, deliveryId } = claimed.of
  const facts = { ...(subject === undefined ? {} : { subject }), ...(deliveryId === undefined ? {} : { deliveryId }) }
  const reception: Unreadable = { kind: 'unreadable', reason, remedy, isFinal: true, ...facts }
  const acceptance = await keepUnreadable(deps, at, arrival, { reception, entry })
  return { kind: 'unreadable', reason, remedy, acceptances: [acceptance] }
}

export async function storeArrivals(
  deps: GatewayDeps,
  at: GatewayConnection,
  arrivals: readonly Arrived[],
  entry: Entry,
): Promise<readonly Acceptance[]> {
  const acceptances = await Promise.all(arrivals.map((arrived) => acceptArrived(deps, at, arrived, entry)))
  return acceptances.filter((acceptance) => acceptance !== undefined)
}

async function acceptArrived(
  deps: GatewayDeps,
  at: GatewayConnection,
  arrived: Arrived,
  entry: Entry,
): Promise<Acceptance | undefined> {
  const context = acceptContext(at, entry)
  const tell = arrivalTeller(deps, context, entry)
  if (arrived.kind === 'ignored') {
    // Before it is acknowledged; said again it changes nothing.
    if (arrived.reach !== undefined) await at.notePlace(arrived.reach, arrived.subject ?? null)
    if (!arrived.isNoise) {
      const remains = { ...arrived, state: 'ignored', content: '', subject: arrived.subject ?? null } as const
      const acceptance = tell('ignored', arrived.reason, await acceptRemains(deps, remains, context))
      if (acceptance.kind === 'accepted') showOpened(deps, at, arrived.opened)
      return acceptance
    }
    deps.meter.arrived(at.key, 'ignored', arrived.reason)
    showOpened(deps, at, arrived.opened)
    return undefined
  }
  const checked = checkArrived(deps, arrived.forwarded === undefined ? arrived : await withForwarded(deps, arrived))
  if (checked.kind === 'message') {
    const acceptance = await acceptMessage(deps, checked.arrived, context, routeArrival(deps, at, checked.arrived))
    // A command is not to wait for a slot, even where every turn is taken.
    if (acceptance.kind === 'accepted') deps.bells.turns.ring(isCommand(checked.arrived.message))
    return tell(acceptance.kind, 'reason' in acceptance ? acceptance.reason : '', acceptance)
  }
  const { state, reason, path } = checked
  if (path !== undefined)
    deps.log.warn('message_invalid', { connection: at.key, trace: entry.trace, code: reason, path })
  const { semanticId: deliveryId, subject = null } = arrived
  // The chain it named stands beside its original, which read again would be the beginning of one.
  const raw = arrived.message.channel?.caller === undefined ? arrived.message.raw : null
  const remains = { state, reason, deliveryId, raw, content: '', subject }
  return tell(state === 'dead' ? 'unreadable' : 'ignored', reason, await acceptRemains(deps, remains, context))
}

/** Nobody waits for it: the arrival is answered meanwhile. */
function showOpened(
  deps: Pick<GatewayDeps, 'signs' | 'agents'>,
  at: GatewayConnection,
  to: JsonObject | undefined,
): void {
  const starters = deps.agents.get(at.connection.agent)?.starters ?? []
  if (to !== undefined) void deps.signs.show(at.adapter, to, 'opened', { starters })
}

export type CheckedArrival =
  | { readonly kind: 'message'; readonly arrived: ArrivedMessage }
  /** `path`: where it is invalid. */
  | { readonly kind: 'remains'; readonly state: 'dead' | 'ignored'; readonly reason: string; readonly path?: string }

/** What an adapter made of an arrival, as the gateway takes it: valid, cleaned, and saying something. */
export function checkArrived(deps: Pick<GatewayDeps, 'validation'>, arrived: ArrivedMessage): CheckedArrival {
  const checked = validateMessage(arrived.message, deps.validation)
  if (!checked.ok) {
    return { kind: 'remains', state: 'dead', reason: checked.code, path: checked.path }
  }
  if (saysNothing(checked.message)) return { kind: 'remains', state: 'ignored', reason: 'empty_message' }
  return { kind: 'message', arrived: { ...arrived, message: cleanMessage(checked.message) } }
}

type Tell = (outcome: ArrivalOutcome, reason: string, acceptance: Acceptance) => Acceptance

/** One line and one count per arrival, once it is committed. What was there before is a duplicate, whatever it holds. */
function arrivalTeller(deps: GatewayDeps, context: AcceptContext, { startedAt }: Entry): Tell {
  const { connectionKey: connection, traceId: trace } = context
  return (meant, reason, acceptance) => {
    const outcome = acceptance.kind === 'accepted' ? meant : acceptance.kind
    const ms = Math.round(deps.monotonicMs() - startedAt)
    const inbox = 'inboxId' in acceptance ? acceptance.inboxId : null
    deps.log.info('message_arrived', { connection, trace, inbox, outcome, reason: reason === '' ? null : reason, ms })
    deps.meter.arrived(connection, outcome, reason)
    deps.meter.committed(connection, deps.monotonicMs() - startedAt)
    return acceptance
  }
}

function isCommand(message: NormalizedMessage): boolean {
  return controlCommandOf(message, controlNames) !== undefined
}

/** Blank text and nothing else. A file without words is a message; so is the withdrawal of one. */
function saysNothing({ parts, channel }: NormalizedMessage): boolean {
  return channel?.event !== 'delete' && parts.every((part) => part.kind === 'text') && textOf(parts).trim() === ''
}

type Unreadable = Extract<Reception, { kind: 'unreadable' }>

/** Nothing authenticated vanishes: what cannot be read is kept as it came, for a release that can. */
async function keepUnreadable(
  deps: GatewayDeps,
  at: GatewayConnection,
  arrival: RawArrival,
  { reception, entry }: { readonly reception: Unreadable; readonly entry: Entry },
): Promise<Acceptance> {
  const text = new TextDecoder().decode(arrival.bytes.subarray(0, 16_384))
  const { reason, subject = null, deliveryId = 'unreadable', isFinal = false } = reception
  // Told apart by what they say and who said it: a name its sender chose must not hide another's.
  const content = subject === null ? text : JSON.stringify([subject, reason, text])
  const raw = isFinal ? null : { text }
  const remains = { state: 'dead', reason, deliveryId, key: 'unreadable', raw, content, subject } as const
  const context = acceptContext(at, entry)
  return arrivalTeller(deps, context, entry)('unreadable', reason, await acceptRemains(deps, remains, context))
}

function acceptContext(at: GatewayConnection, { trace }: Entry): AcceptContext {
  return {
    connection: at.connection,
    connectionKey: at.key,
    horizonMs: at.adapter.capabilities.horizonMs,
    traceId: trace,
    controlNames,
  }
}
