// The request listener on Node: asks to wait until there is an app, answers plain webhooks itself, and hands everything else to
// the app.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { createApp } from '../api/app.ts'
import type { AppDeps } from '../api/deps.ts'
import { errorAnswerToProblem } from '../api/http-answers.ts'
import { answerWebhook, errorToAnswer, findConnectionByChannelAndId, screenWebhookHeaders } from '../api/webhook.ts'
import type { RequestSource } from '../contract/inbound-event.ts'
import type { RawRequest, RequestHead, TransportAnswer } from '../contract/index.ts'
import type { GatewayConnection } from '../turns/gateway-connection.ts'
import { joinedHeaders } from './incoming-request.ts'
import type { PublicUrlCheck } from './public-url-check.ts'
import { startingResponse } from './starting-responder.ts'

export type HttpListener = {
  readonly listener: RequestListener
  /** From now on the gateway answers. */
  readonly open: (deps: AppDeps) => void
}

type Handle = (request: Request, env: object) => Response | Promise<Response>

/** A request may have been refused while its body came in: what the app says afterwards comes too late. */
function replaceIfAlreadySent(
  response: Response,
  { outgoing }: { readonly outgoing: Pick<ServerResponse, 'headersSent'> },
): Response {
  return outgoing.headersSent ? RESPONSE_ALREADY_SENT : response
}

/** `answerCheck`: true where a request was for the check of the public URL, which is told before there is an app. */
export function createHttpListener(
  sourceOf: (incoming: IncomingMessage) => RequestSource,
  answerCheck: PublicUrlCheck['answer'],
): HttpListener {
  let handle: Handle = startingResponse
  let receiver: WebhookReceiver | undefined
  const answer = getRequestListener((request, env) => {
    const response = handle(request, env)
    return response instanceof Promise
      ? response.then((late) => replaceIfAlreadySent(late, env))
      : replaceIfAlreadySent(response, env)
  })
  return {
    listener(incoming, outgoing) {
      if (answerCheck?.(incoming, outgoing) === true) return
      if (receiver !== undefined && receiveWebhookDirectly(receiver, incoming, outgoing)) return
      // It answers every failure itself; its promise only tells when it is done.
      void answer(incoming, outgoing)
    },
    open(deps) {
      handle = createApp(deps).fetch
      receiver = { ...deps, sourceOf, webhooks: webhookConnectionsByPath(deps) }
    },
  }
}

// Webhooks bypass the app: making a web Request and Response of each costs more than the signature and the JSON together. Only
// the plain case is taken; whatever is unusual goes to the app, which answers the same.

type WebhookReceiver = Pick<
  AppDeps,
  'gateway' | 'rejections' | 'failpoint' | 'log' | 'maxBodyBytes' | 'newTrace' | 'now'
> & {
  readonly sourceOf: (incoming: IncomingMessage) => RequestSource
  /** By their paths. */
  readonly webhooks: ReadonlyMap<string, GatewayConnection>
}

/** Nothing escaped, nothing asked for behind it: what is read here is what the app's router would read. */
const hookPath = /^\/hooks\/([\w-]+)\/([\w-]+)$/
/** The default of a Response of a text. */
const plainText = { 'content-type': 'text/plain;charset=UTF-8' }
const length = /^\d{1,10}$/

function webhookConnectionsByPath(deps: Pick<AppDeps, 'gateway'>): ReadonlyMap<string, GatewayConnection> {
  const webhooks = new Map<string, GatewayConnection>()
  for (const { adapter, connection } of deps.gateway.connections) {
    const path = `/hooks/${adapter.channel}/${connection.id}`
    const at = findConnectionByChannelAndId(deps, adapter.channel, connection.id)
    if (at !== undefined && hookPath.test(path)) webhooks.set(path, at)
  }
  return webhooks
}

/** False: it is not a plain webhook of a known connection, and nothing was read of it. */
function receiveWebhookDirectly(
  receiver: WebhookReceiver,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): boolean {
  const at = incoming.method === 'POST' ? receiver.webhooks.get(incoming.url ?? '') : undefined
  if (at === undefined) return false
  const headers = joinedHeaders(incoming.rawHeaders)
  // A declared length is enforced by the server. Without one, or with too much, the app decides.
  const declared = headers['content-length'] ?? ''
  if (!length.test(declared) || Number(declared) > receiver.maxBodyBytes) return false
  if (headers['transfer-encoding'] !== undefined) return false
  const receivedAt = new Date(receiver.now()).toISOString()
  const head: RequestHead = { headers, receivedAt, from: receiver.sourceOf(incoming) }
  const screened = screenWebhookHeaders(receiver, at, head)
  if (screened !== undefined) {
    sendWebhookAnswer(outgoing, screened)
    return true
  }
  const chunks: Uint8Array[] = []
  incoming.on('data', (chunk: Uint8Array) => chunks.push(chunk))
  // A request that breaks off is dropped: nothing of it is taken, and no client waits for an answer.
  incoming.on('end', () => {
    const bytes = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
    void answerWebhookDirectly(receiver, at, { ...head, bytes }, outgoing)
  })
  return true
}

async function answerWebhookDirectly(
  receiver: WebhookReceiver,
  at: GatewayConnection,
  request: RawRequest,
  outgoing: ServerResponse,
): Promise<void> {
  try {
    sendWebhookAnswer(outgoing, await answerWebhook(receiver, at, request))
  } catch (error) {
    sendWebhookAnswer(outgoing, errorToAnswer(receiver, error))
  }
}

/** The head is written with the length in it and leaves with the body: one packet. */
function sendWebhookAnswer(outgoing: ServerResponse, answer: TransportAnswer): void {
  if (outgoing.headersSent || outgoing.destroyed) return
  const { status, headers, body } = answer.status < 400 ? answer : errorAnswerToProblem(answer)
  if (body === undefined) outgoing.writeHead(status, { ...headers, 'content-length': 0 }).end()
  else outgoing.writeHead(status, { ...plainText, ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
}
