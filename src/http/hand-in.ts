// What comes by another transport than HTTP: received like a webhook, and what became of it in words that its own protocol can answer.
import { isGatewayError, type ListenAnswer, type RawArrival } from '../contract/index.ts'
import type { GatewayConnection } from '../gateway/deps.ts'
import type { Received } from '../gateway/receive.ts'
import type { AppDeps } from './deps.ts'
import { receiveArrival } from './hook.ts'

/** The gateway has written down what failed; whoever called is told to come again, unless that could never help. */
export async function handIn(
  deps: Pick<AppDeps, 'gateway' | 'rejections'>,
  at: GatewayConnection,
  arrival: RawArrival,
): Promise<ListenAnswer> {
  try {
    return answerOf(await receiveArrival(deps, at, arrival))
  } catch (error) {
    if (isGatewayError(error, 'storage_refused_row')) return { kind: 'unreadable', reason: error.code }
    return { kind: 'later', reason: isGatewayError(error) ? error.code : 'internal' }
  }
}

function answerOf(received: Received): ListenAnswer {
  switch (received.kind) {
    case 'stored':
      return { kind: 'stored', acceptances: received.acceptances }
    case 'handshake':
      // There is nobody here whom it could be answered to.
      return { kind: 'rejected', reason: 'malformed_request' }
    case 'rejected':
    case 'later':
    case 'turned_away':
    case 'unreadable':
      return { kind: received.kind, reason: received.reason }
  }
}
