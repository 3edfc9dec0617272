// Answers webhooks and other inbound requests once their body is read: received by the gateway, and the result as an answer. The
// same for every ingress.

import type { RawRequest, ReceiveResult, RequestHead, TransportAnswer } from '../contract/index.ts'
import { isGatewayError } from '../lib/errors.ts'
import { errorLogFields } from '../lib/log.ts'
import type { GatewayConnection } from '../turns/gateway-connection.ts'
import type { AppDeps } from './deps.ts'
import { errorCodeAnswer, webhookAnswer } from './http-answers.ts'

type WebhookReceiveDeps = Pick<AppDeps, 'gateway' | 'rejections' | 'failpoint'>

export function findConnectionByChannelAndId(
  { gateway }: Pick<AppDeps, 'gateway'>,
  channel: string,
  id: string,
): GatewayConnection | undefined {
  return gateway.connections.find((each) => each.connection.id === id && each.adapter.channel === channel)
}

/** Rejected by its headers, and nothing of the body was read. Undefined: the body is worth reading. */
export function screenWebhookHeaders(
  deps: Pick<AppDeps, 'gateway' | 'rejections'>,
  at: GatewayConnection,
  head: RequestHead,
): TransportAnswer | undefined {
  const screened = at.adapter.screenHeaders?.(head)
  if (screened === undefined) return undefined
  const entry = deps.gateway.enter(head.headers['traceparent'])
  const { reason } = screened
  const { trace } = entry
  deps.gateway.logRejection(at, reason, entry)
  deps.rejections.add({
    at: head.receivedAt,
    connection: at.key,
    isLocal: head.from !== 'remote',
    bytes: null,
    reason,
    trace,
  })
  return webhookAnswer({ ...screened, trace })
}

export async function answerWebhook(
  deps: WebhookReceiveDeps,
  at: GatewayConnection,
  rawRequest: RawRequest,
): Promise<TransportAnswer> {
  const received = await receiveRawRequest(deps, at, rawRequest)
  if (deps.failpoint !== undefined) await deps.failpoint('before:answer')
  return acknowledgementAnswer(at, received)
}

/** What is stored may be answered by the adapter, whatever became of it; the rest by the table. */
export function acknowledgementAnswer({ adapter }: GatewayConnection, received: ReceiveResult): TransportAnswer {
  const isKept = received.kind === 'stored' || received.kind === 'rejected_event'
  return (isKept ? adapter.acknowledge?.(received.acceptances, undefined) : undefined) ?? webhookAnswer(received)
}

/** A rejected request leaves no row; it can be asked about for a while all the same. */
export async function receiveRawRequest(
  deps: Pick<AppDeps, 'gateway' | 'rejections'>,
  at: GatewayConnection,
  rawRequest: RawRequest,
): Promise<ReceiveResult> {
  const received = await deps.gateway.receive(at, rawRequest)
  if (received.kind === 'rejected' || received.kind === 'limited' || received.kind === 'spent') {
    const { reason, trace } = received
    const { receivedAt, from, bytes } = rawRequest
    const rejection = { at: receivedAt, connection: at.key, isLocal: from !== 'remote', bytes: bytes.byteLength }
    deps.rejections.add({ ...rejection, reason, trace })
  }
  return received
}

/** The one place where exceptions become answers: a code and a remedy, never a stack. */
export function errorToAnswer(deps: Pick<AppDeps, 'log' | 'newTrace'>, error: unknown): TransportAnswer {
  const trace = deps.newTrace()
  if (isGatewayError(error)) {
    deps.log.warn('request_failed', { ...errorLogFields(error, 'internal'), trace })
    return errorCodeAnswer(error.code, error.message, trace)
  }
  deps.log.error('request_crashed', { ...errorLogFields(error, 'internal'), trace })
  return errorCodeAnswer('internal', 'the gateway failed on this request; its log says where', trace)
}

// Inbound events that an adapter delivers by itself, from a port or a request of its own, are received like a webhook, answered
// in words that every protocol has.

/** The gateway has written down what failed; the caller is told to come again, unless that could never help. */
export async function deliverInbound(
  deps: Pick<AppDeps, 'gateway' | 'rejections'>,
  at: GatewayConnection,
  rawRequest: RawRequest,
): Promise<ReceiveResult> {
  try {
    return await receiveRawRequest(deps, at, rawRequest)
  } catch (error) {
    if (isGatewayError(error, 'storage_refused_row')) return { kind: 'unreadable', reason: error.code, acceptances: [] }
    return { kind: 'later', reason: isGatewayError(error) ? error.code : 'internal' }
  }
}
