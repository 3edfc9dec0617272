// Inbound events that an adapter delivers by itself, from a port or a request of its own: received like a webhook, answered in words that
// every protocol has.
import { isGatewayError, type ListenResult, type RawRequest } from '../contract/index.ts'
import type { Received } from '../inbound/receive.ts'
import type { GatewayConnection } from '../turns/deps.ts'
import type { AppDeps } from './deps.ts'
import { receiveRawRequest } from './hook.ts'
import { webhookAnswer } from './status.ts'

/** The gateway has written down what failed; the caller is told to come again, unless that could never help. */
export async function deliverInbound(
  deps: Pick<AppDeps, 'gateway' | 'rejections'>,
  at: GatewayConnection,
  arrival: RawRequest,
): Promise<ListenResult> {
  try {
    return toListenAnswer(await receiveRawRequest(deps, at, arrival))
  } catch (error) {
    if (isGatewayError(error, 'storage_refused_row')) return { kind: 'unreadable', reason: error.code }
    return { kind: 'later', reason: isGatewayError(error) ? error.code : 'internal' }
  }
}

function toListenAnswer(received: Received): ListenResult {
  switch (received.kind) {
    case 'stored':
      return {
        kind: 'stored',
        acceptances: received.acceptances,
        ...(received.isUnproven === true ? { isUnproven: true } : {}),
      }
    case 'spent':
      return { kind: 'spent', reason: received.reason, trace: received.trace, isUnproven: received.isUnproven }
    case 'handshake':
      // The adapter that delivered it may have a client to answer.
      return { kind: 'rejected', reason: 'malformed_request', answer: received.answer }
    case 'limited': {
      const { reason, trace } = received
      return { kind: 'later', reason, trace, answer: webhookAnswer(received) }
    }
    case 'rejected':
    case 'later':
      return { kind: received.kind, reason: received.reason, trace: received.trace }
    case 'turned_away': {
      const who = received.isUnproven === true ? { isUnproven: true } : {}
      return { kind: received.kind, reason: received.reason, ...who }
    }
    case 'unreadable':
      return { kind: received.kind, reason: received.reason }
  }
}
