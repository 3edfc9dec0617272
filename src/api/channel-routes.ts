// Routes of channels: webhooks, and the endpoints that a channel brings itself.
import type { Context, Hono } from 'hono'
import * as z from 'zod'
import type { Adapter, RawRequest, RequestHead, ServeContext, TransportAnswer } from '../contract/index.ts'
import type { DescribedRequest, Endpoint } from '../contract/optional-verbs.ts'
import { readBody } from '../lib/index.ts'
import { errorLogFields } from '../lib/log.ts'
import type { GatewayConnection } from '../turns/gateway-connection.ts'
import type { AppDeps } from './deps.ts'
import {
  answerToResponse,
  errorAnswer,
  notFound,
  tooLarge,
  waitingCallerRefusalAnswer,
  webhookAnswer,
} from './http-answers.ts'
import type { DocumentedRoute } from './openapi/document.ts'
import { defineOperation, defineResource } from './resource.ts'
import {
  answerWebhook,
  deliverInbound,
  findConnectionByChannelAndId,
  receiveRawRequest,
  screenWebhookHeaders,
} from './webhook.ts'

const inPath = {
  channel: z.string().meta({ description: 'A channel' }),
  connection: z.string().meta({ description: 'The id of a connection of it' }),
}

export const webhooks = defineResource({
  name: 'webhooks',
  tag: 'Channels',
  audience: 'channel',
  operations: {
    receive: defineOperation({
      method: 'post',
      path: '/hooks/:channel/:connection',
      id: 'receiveWebhook',
      summary: 'Takes what a platform delivers',
      about:
        'Signed as the platform signs. A success means stored; delivering it again changes nothing. More than strangers may send is 429, or, where the platform would stop, a success with the outcome `limited`.',
      params: inPath,
      answers: { 200: { what: 'It is stored, or the platform is answered as it wants to be' } },
      problems: [429],
      respond: async (deps, context) => {
        const at = findConnectionOfRequest(deps, context)
        return answerToResponse(at === undefined ? connectionNotFoundAnswer() : await receiveWebhook(deps, at, context))
      },
    }),
    page: defineOperation({
      method: 'get',
      path: '/hooks/:channel/:connection/*',
      id: 'getChannelPage',
      summary: 'Pages that a channel serves itself',
      params: { ...inPath, '*': z.string().meta({ description: 'What the channel calls it' }) },
      answers: { 200: { what: 'A page, or what the channel says there' } },
      respond: async (deps, context) => {
        const at = findConnectionOfRequest(deps, context)
        return at === undefined ? answerToResponse(connectionNotFoundAnswer()) : serveEndpoint(deps, at, context)
      },
    }),
  },
})

function findConnectionOfRequest(deps: AppDeps, context: Context): GatewayConnection | undefined {
  return findConnectionByChannelAndId(deps, context.req.param('channel') ?? '', context.req.param('connection') ?? '')
}

export function addEndpointRoutes(app: Hono, deps: AppDeps): void {
  for (const at of deps.gateway.connections) {
    for (const endpoint of at.adapter.endpoints) {
      if (endpoint.answer === 'serve') {
        app.all(endpoint.path, (context) => serveEndpoint(deps, at, context))
        continue
      }
      if (endpoint.answer === 'watch')
        app.post(endpoint.path, (context) => receiveAndAwaitTurnResult(deps, at, context))
      else app.post(endpoint.path, async (context) => answerToResponse(await receiveWebhook(deps, at, context)))
    }
  }
}

/** Endpoints as their adapters describe them; a path that two connections have stands once. */
export function documentedRoutesOfAdapters(
  adapters: readonly Pick<Adapter, 'channel' | 'endpoints'>[],
): readonly DocumentedRoute[] {
  const described = adapters.flatMap(({ channel, endpoints }) =>
    endpoints.flatMap((endpoint) => documentedRoutesOfEndpoint(channel, endpoint)),
  )
  return [...new Map(described.map((each) => [`${each.method} ${each.path}`, each])).values()]
}

function documentedRoutesOfEndpoint(channel: string, { path, answer, describe }: Endpoint): readonly DocumentedRoute[] {
  if (describe !== undefined)
    return describe.map((each) => ({ ...each, path, tag: 'Talking to agents', audience: 'caller' }))
  const methods = answer === 'serve' ? (['get', 'post'] as const) : (['post'] as const)
  return methods.map((method) => ({
    ...describeUndocumentedEndpoint(channel, method, path),
    path,
    tag: 'Channels',
    audience: 'channel',
  }))
}

function describeUndocumentedEndpoint(channel: string, method: 'get' | 'post', path: string): DescribedRequest {
  const name = `${method}-${path}`.replaceAll(
    /[^a-z0-9]+(.)?/gi,
    (_, next: string | undefined) => next?.toUpperCase() ?? '',
  )
  const summary = `Belongs to the channel ${channel}; its own protocol says what is sent and answered`
  return { method, id: name, summary, answers: { 200: { what: 'As its protocol says' } } }
}

async function receiveWebhook(deps: AppDeps, at: GatewayConnection, context: Context): Promise<TransportAnswer> {
  const rawRequest = await readRawRequest(deps, at, context)
  return 'status' in rawRequest ? rawRequest : answerWebhook(deps, at, rawRequest)
}

async function receiveAndAwaitTurnResult(deps: AppDeps, at: GatewayConnection, context: Context): Promise<Response> {
  const rawRequest = await readRawRequest(deps, at, context)
  if ('status' in rawRequest) return answerToResponse(rawRequest)
  const received = await receiveRawRequest(deps, at, rawRequest)
  deps.bodyTaken?.(context)
  const refusal = waitingCallerRefusalAnswer(received)
  if (refusal !== undefined || received.kind !== 'stored') return answerToResponse(refusal ?? webhookAnswer(received))
  const first = received.acceptances[0]
  const { bytes, headers } = rawRequest
  const keepProcessAliveUntil = (until: Promise<void>): void => deps.keepOpen?.(until)
  const stream =
    first && (await at.adapter.follow?.({ acceptance: first, bytes, headers, keepOpen: keepProcessAliveUntil }))
  if (stream !== undefined) return stream
  const ids = received.acceptances.flatMap((each) => ('inboxId' in each ? [each.inboxId] : []))
  const [result, ...others] = await Promise.all(ids.map((id) => deps.gateway.watch(id, deps.watchMs)))
  return answerToResponse(at.adapter.acknowledge?.(received.acceptances, result, others) ?? webhookAnswer(received))
}

async function serveEndpoint(deps: AppDeps, at: GatewayConnection, context: Context): Promise<Response> {
  return (
    (await at.adapter.serve?.(context.req.raw, createServeContext(deps, at, context))) ??
    answerToResponse(connectionNotFoundAnswer())
  )
}

/** The event, or the answer to one that is refused by its headers or its size. */
async function readRawRequest(
  deps: AppDeps,
  at: GatewayConnection,
  context: Context,
): Promise<RawRequest | TransportAnswer> {
  const head: RequestHead = {
    headers: deps.headersOf?.(context) ?? context.req.header(),
    receivedAt: new Date(deps.now()).toISOString(),
    from: deps.sourceOf(context),
  }
  const screened = screenWebhookHeaders(deps, at, head)
  if (screened !== undefined) return screened
  const bytes = await readBody(context.req.raw, deps.maxBodyBytes)
  return bytes === undefined
    ? errorAnswer(tooLarge.status, tooLarge.code, `send at most ${deps.maxBodyBytes} bytes`)
    : { ...head, bytes }
}

function connectionNotFoundAnswer(): TransportAnswer {
  return errorAnswer(
    notFound.status,
    notFound.code,
    'no such connection; use /hooks/{channel}/{connection} as configured',
  )
}

// The request context of a channel that answers a request itself: how it delivers what the request says, and the trace of it.

function createServeContext(deps: AppDeps, at: GatewayConnection, context: Context): ServeContext {
  const entry = deps.gateway.enter(context.req.header('traceparent'))
  const receivedAt = new Date(deps.now()).toISOString()
  const from = deps.sourceOf(context)
  return {
    from,
    receivedAt,
    async accept(messages) {
      const acceptances = await deps.gateway.take(at, messages, entry)
      deps.bodyTaken?.(context)
      return acceptances
    },
    async receive(rawRequest) {
      const answer = await deliverInbound(deps, at, rawRequest)
      deps.bodyTaken?.(context)
      if (deps.failpoint !== undefined) await deps.failpoint('before:answer')
      return answer
    },
    logRejection(reason) {
      deps.gateway.logRejection(at, reason, entry)
      const { trace } = entry
      deps.rejections.add({ at: receivedAt, connection: at.key, isLocal: from !== 'remote', bytes: 0, reason, trace })
      return trace
    },
    fail(error) {
      deps.log.error('request_crashed', { trace: entry.trace, ...errorLogFields(error, 'internal') })
      return entry.trace
    },
    keepOpen: (work) => deps.keepOpen?.(work),
  }
}
