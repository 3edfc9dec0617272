// Hops 2-4: verify, normalize, accept. Ends with stored rows; only then may the transport be answered.
import {
  type Acceptance,
  type Arrived,
  type ArrivedMessage,
  type NormalizedMessage,
  type RawArrival,
  type RejectReason,
  type TransportAnswer,
  textOf,
  validateMessage,
} from '../contract/index.ts'
import { type AcceptContext, acceptMessage, acceptRemains } from '../inbound/accept.ts'
import { cleanMessage } from '../inbound/clean-message.ts'
import type { GatewayConnection, GatewayDeps } from './deps.ts'

export type Received =
  | { readonly kind: 'rejected'; readonly reason: RejectReason }
  | { readonly kind: 'handshake'; readonly answer: TransportAnswer }
  | { readonly kind: 'unreadable'; readonly reason: string; readonly acceptances: readonly Acceptance[] }
  | { readonly kind: 'stored'; readonly acceptances: readonly Acceptance[] }

export async function receive(deps: GatewayDeps, at: GatewayConnection, arrival: RawArrival): Promise<Received> {
  const reception = await at.adapter.receive(arrival, at.connection)
  switch (reception.kind) {
    case 'rejected':
      deps.log.warn('arrival_rejected', { connection: at.key, reason: reception.reason })
      return reception
    case 'handshake':
      return reception
    case 'unreadable': {
      const acceptance = await keepUnreadable(deps, at, arrival, reception.reason)
      return { kind: 'unreadable', reason: reception.reason, acceptances: [acceptance] }
    }
    case 'read': {
      return { kind: 'stored', acceptances: await storeArrivals(deps, at, reception.arrivals) }
    }
  }
}

export async function storeArrivals(
  deps: GatewayDeps,
  at: GatewayConnection,
  arrivals: readonly Arrived[],
): Promise<readonly Acceptance[]> {
  const acceptances = await Promise.all(arrivals.map((arrived) => acceptArrived(deps, at, arrived)))
  if (acceptances.some((acceptance) => acceptance?.kind === 'accepted')) deps.bells.turns.ring()
  return acceptances.filter((acceptance) => acceptance !== undefined)
}

async function acceptArrived(
  deps: GatewayDeps,
  at: GatewayConnection,
  arrived: Arrived,
): Promise<Acceptance | undefined> {
  const context = acceptContext(deps, at)
  if (arrived.kind === 'ignored') {
    return arrived.isNoise ? undefined : acceptRemains(deps, { ...arrived, state: 'ignored', content: '' }, context)
  }
  const checked = validateMessage(arrived.message, deps.validation)
  if (!checked.ok) {
    const { message, semanticId } = arrived
    deps.log.warn('message_invalid', { connection: at.key, code: checked.code, path: checked.path })
    const remains = {
      state: 'dead',
      reason: checked.code,
      deliveryId: semanticId,
      raw: message.raw,
      content: '',
    } as const
    return acceptRemains(deps, remains, context)
  }
  if (saysNothing(checked.message)) {
    const remains = {
      state: 'ignored',
      reason: 'empty_message',
      deliveryId: arrived.semanticId,
      raw: arrived.message.raw,
      content: '',
    } as const
    return acceptRemains(deps, remains, context)
  }
  const message: ArrivedMessage = { ...arrived, message: cleanMessage(checked.message) }
  return acceptMessage(deps, message, context)
}

/** Blank text and nothing else. A file without words is a message; so is the withdrawal of one. */
function saysNothing({ parts, channel }: NormalizedMessage): boolean {
  return channel?.event !== 'delete' && parts.every((part) => part.kind === 'text') && textOf(parts).trim() === ''
}

/** Nothing authenticated vanishes: what cannot be read is kept as it came, for a release that can. */
async function keepUnreadable(
  deps: GatewayDeps,
  at: GatewayConnection,
  arrival: RawArrival,
  reason: string,
): Promise<Acceptance> {
  const text = new TextDecoder().decode(arrival.bytes.subarray(0, 16_384))
  const remains = { state: 'dead', reason, deliveryId: 'unreadable', raw: { text }, content: text } as const
  return acceptRemains(deps, remains, acceptContext(deps, at))
}

function acceptContext(deps: GatewayDeps, at: GatewayConnection): AcceptContext {
  return {
    connection: at.connection,
    connectionKey: at.key,
    horizonMs: at.adapter.capabilities.horizonMs,
    traceId: deps.newId().replaceAll('-', ''),
  }
}
