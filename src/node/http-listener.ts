// The request listener on Node: asks to wait until there is an app, answers plain webhooks itself, and hands everything else to
// the app.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { createApp } from '../api/app.ts'
import type { AppDeps } from '../api/deps.ts'
import { asProblem } from '../api/http-answers.ts'
import { answerWebhook, errorToAnswer, findConnection, screenWebhook } from '../api/webhook.ts'
import type { RequestSource } from '../contract/inbound-event.ts'
import type { RequestHead, TransportAnswer } from '../contract/index.ts'
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
function unlessAlreadySent(
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
  const answer = getRequestListener((request, env) => {
    const response = handle(request, env)
    return response instanceof Promise
      ? response.then((late) => unlessAlreadySent(late, env))
      : unlessAlreadySent(response, env)
  })
  // It answers every failure itself; its promise only tells when it is done.
  const serve: RequestListener = (incoming, outgoing) => void answer(incoming, outgoing)
  let listen = serve
  return {
    listener: (incoming, outgoing) => {
      if (!answerCheck(incoming, outgoing)) listen(incoming, outgoing)
    },
    open(deps) {
      handle = createApp(deps).fetch
      listen = createWebhookListener({ ...deps, sourceOf }, serve)
    },
  }
}

// Webhooks bypass the app: making a web Request and Response of each costs more than the signature and the JSON together. Only
// the plain case is taken; whatever is unusual goes to the app, which answers the same.

type WebhookListenerDeps = Pick<
  AppDeps,
  'gateway' | 'rejections' | 'failpoint' | 'log' | 'maxBodyBytes' | 'newTrace' | 'now'
> & {
  readonly sourceOf: (incoming: IncomingMessage) => RequestSource
}

/** Nothing escaped, nothing asked for behind it: what is read here is what the app's router would read. */
const hookPath = /^\/hooks\/([\w-]+)\/([\w-]+)$/
/** The default of a Response of a text. */
const plainText = { 'content-type': 'text/plain;charset=UTF-8' }
const length = /^\d{1,10}$/

/** `rest` serves everything that is not a plain webhook of a known connection. */
function createWebhookListener(deps: WebhookListenerDeps, rest: RequestListener): RequestListener {
  const known = new Map<string, GatewayConnection | undefined>()
  for (const { adapter, connection } of deps.gateway.connections) {
    const path = `/hooks/${adapter.channel}/${connection.id}`
    if (hookPath.test(path)) known.set(path, findConnection(deps, adapter.channel, connection.id))
  }
  return (incoming, outgoing) => {
    const at = incoming.method === 'POST' ? known.get(incoming.url ?? '') : undefined
    const headers = at === undefined ? {} : joinedHeaders(incoming.rawHeaders)
    if (at === undefined || !isPlainWebhook(headers, deps.maxBodyBytes)) return rest(incoming, outgoing)
    const receivedAt = new Date(deps.now()).toISOString()
    const head: RequestHead = { headers, receivedAt, from: deps.sourceOf(incoming) }
    const screened = screenWebhook(deps, at, head)
    if (screened !== undefined) return sendWebhookAnswer(outgoing, asProblem(screened))
    // A request that breaks off is dropped: nothing of it is taken, and no client waits for an answer.
    return collectBody(incoming, (bytes) => void handleWebhookExchange(deps, at, { bytes, head, outgoing }))
  }
}

/** A declared length is enforced by the server. Without one, or with too much, the app decides. */
function isPlainWebhook(headers: Readonly<Record<string, string>>, maxBytes: number): boolean {
  const declared = headers['content-length'] ?? ''
  return length.test(declared) && Number(declared) <= maxBytes && headers['transfer-encoding'] === undefined
}

function collectBody(incoming: IncomingMessage, done: (bytes: Uint8Array) => void): void {
  const chunks: Uint8Array[] = []
  incoming.on('data', (chunk: Uint8Array) => chunks.push(chunk))
  incoming.on('end', () => done(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)))
}

type Exchange = {
  readonly bytes: Uint8Array
  readonly head: RequestHead
  readonly outgoing: ServerResponse
}

async function handleWebhookExchange(
  deps: WebhookListenerDeps,
  at: GatewayConnection,
  exchange: Exchange,
): Promise<void> {
  const { bytes, head, outgoing } = exchange
  try {
    sendWebhookAnswer(outgoing, asProblem(await answerWebhook(deps, at, { ...head, bytes })))
  } catch (error) {
    sendWebhookAnswer(outgoing, errorToAnswer(deps, error))
  }
}

/** The head is written with the length in it and leaves with the body: one packet. */
function sendWebhookAnswer(outgoing: ServerResponse, { status, headers, body }: TransportAnswer): void {
  if (outgoing.headersSent || outgoing.destroyed) return
  if (body === undefined) outgoing.writeHead(status, { ...headers, 'content-length': 0 }).end()
  else outgoing.writeHead(status, { ...plainText, ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
}
