// The gateway's HTTP app: webhooks, the channels' own endpoints, health, and the admin routes.
import { type Context, Hono, type Next } from 'hono'
import {
  errorLogFields,
  GatewayError,
  isPlainId,
  plainIdRemedy,
  type RawRequest,
  type RequestHead,
  type ServeContext,
  type TransportAnswer,
} from '../contract/index.ts'
import { readBody } from '../lib/index.ts'
import type { GatewayConnection } from '../turns/deps.ts'
import { addAdminRoutes } from './admin.ts'
import { addAttachmentRoutes, addStorageRoutes } from './attachments.ts'
import { createCorsMiddleware, crossSiteAwareSource, refuseForeignPages } from './cross-origin.ts'
import type { AppDeps } from './deps.ts'
import { addHealthRoutes } from './health.ts'
import { addHistoryRoute } from './history.ts'
import {
  errorAnswer,
  notFound,
  plainTextAnswer,
  tooLarge,
  toResponse,
  waitRefusedAnswer,
  webhookAnswer,
} from './http-answers.ts'
import { addMeRoutes } from './me.ts'
import { addOpenApiRoutes } from './openapi.ts'
import { createRateLimit } from './rate-limit.ts'
import { addTaskRoutes } from './tasks.ts'
import {
  answerWebhook,
  deliverInbound,
  errorToAnswer,
  findConnection,
  receiveRawRequest,
  screenWebhook,
} from './webhook.ts'
import { addAdapterCardRoute, addProtectedResourceRoute, addWebfingerRoute } from './well-known.ts'

const welcome = `Parley is running. Its guide is README.md in the checkout.

What it can be asked: <this address>/docs/api, for programs /openapi.json.

Try, on its machine or with a token: curl -s <this address>/api/v1/agent/run -H 'content-type: application/json' \\
  -d '{"threadId":"t1","runId":"r1","messages":[{"id":"m1","role":"user","content":"hello"}]}'
`

export function createApp(given: AppDeps): Hono {
  const app = new Hono()
  const deps = { ...given, sourceOf: crossSiteAwareSource(given) }
  if ((deps.corsOrigins ?? []).length > 0) app.use('*', createCorsMiddleware(deps.corsOrigins ?? []))
  app.use('*', refuseForeignPages(deps))
  // Storage has codes of its own for addresses that are none.
  for (const prefix of ['/api/*', '/admin/*', '/hooks/*', '/.well-known/*']) app.use(prefix, requirePlainAddress)
  const limit = createRateLimit(deps)
  if (limit !== undefined) app.use('/api/v1/*', limit)
  app.post('/hooks/:channel/:connection', async (context) => {
    const { channel, connection } = context.req.param()
    const at = findConnection(deps, channel, connection)
    return at === undefined ? toResponse(connectionNotFound()) : toResponse(await receiveWebhook(deps, at, context))
  })
  app.get('/hooks/:channel/:connection/*', async (context) => {
    const { channel, connection } = context.req.param()
    const at = findConnection(deps, channel, connection)
    return at === undefined ? toResponse(connectionNotFound()) : serveEndpoint(deps, at, context)
  })
  for (const at of deps.gateway.connections) {
    for (const endpoint of at.adapter.endpoints) {
      if (endpoint.answer === 'serve') {
        app.all(endpoint.path, (context) => serveEndpoint(deps, at, context))
        continue
      }
      if (endpoint.answer === 'watch') app.post(endpoint.path, (context) => receiveAndWait(deps, at, context))
      else app.post(endpoint.path, async (context) => toResponse(await receiveWebhook(deps, at, context)))
    }
  }
  app.get('/', () => toResponse(plainTextAnswer(200, welcome)))
  addAttachmentRoutes(app, deps)
  addStorageRoutes(app, deps)
  addHistoryRoute(app, deps)
  addProtectedResourceRoute(app, deps)
  addAdapterCardRoute(app, deps)
  addWebfingerRoute(app, deps)
  addMeRoutes(app, deps)
  addTaskRoutes(app, deps)
  addOpenApiRoutes(app, deps)
  addHealthRoutes(app, deps)
  addAdminRoutes(app, deps)
  app.notFound(() => toResponse(errorAnswer(notFound.status, notFound.code, 'see the README for the routes there are')))
  app.onError((error) => toResponse(errorToAnswer(deps, error)))
  return app
}

async function receiveWebhook(deps: AppDeps, at: GatewayConnection, context: Context): Promise<TransportAnswer> {
  const arrival = await readRawRequest(deps, at, context)
  return 'status' in arrival ? arrival : answerWebhook(deps, at, arrival)
}

async function receiveAndWait(deps: AppDeps, at: GatewayConnection, context: Context): Promise<Response> {
  const arrival = await readRawRequest(deps, at, context)
  if ('status' in arrival) return toResponse(arrival)
  const received = await receiveRawRequest(deps, at, arrival)
  deps.bodyTaken?.(context)
  const refusal = waitRefusedAnswer(received)
  if (refusal !== undefined || received.kind !== 'stored') return toResponse(refusal ?? webhookAnswer(received))
  const first = received.acceptances[0]
  const { bytes, headers } = arrival
  const keepStreamOpen = (until: Promise<void>): void => deps.keepOpen?.(until)
  const stream = first && (await at.adapter.follow?.({ acceptance: first, bytes, headers, keepOpen: keepStreamOpen }))
  if (stream !== undefined) return stream
  const ids = received.acceptances.flatMap((each) => ('inboxId' in each ? [each.inboxId] : []))
  const [result, ...others] = await Promise.all(ids.map((id) => deps.gateway.watch(id, deps.watchMs)))
  return toResponse(at.adapter.acknowledge?.(received.acceptances, result, others) ?? webhookAnswer(received))
}

async function serveEndpoint(deps: AppDeps, at: GatewayConnection, context: Context): Promise<Response> {
  return (
    (await at.adapter.serve?.(context.req.raw, createServeContext(deps, at, context))) ??
    toResponse(connectionNotFound())
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
  const screened = screenWebhook(deps, at, head)
  if (screened !== undefined) return screened
  const bytes = await readBody(context.req.raw, deps.maxBodyBytes)
  return bytes === undefined
    ? errorAnswer(tooLarge.status, tooLarge.code, `send at most ${deps.maxBodyBytes} bytes`)
    : { ...head, bytes }
}

function connectionNotFound(): TransportAnswer {
  return errorAnswer(
    notFound.status,
    notFound.code,
    'no such connection; use /hooks/{channel}/{connection} as configured',
  )
}

// The path of a request is checked before anything is looked up by it: what could not be an id is the caller's mistake, and is
// told so.

/** Longer than any address of ours; names in a path and values in a query are looked up as they are. */
const maxAddressLength = 8192

async function requirePlainAddress(context: Context, next: Next): Promise<void> {
  const { url } = context.req
  if (url.length > maxAddressLength)
    throw new GatewayError('bad_request', `the address has more than ${maxAddressLength} characters`)
  // Most addresses have nothing to decode.
  if (url.includes('%') || !isPlainId(url)) {
    const { pathname, searchParams } = new URL(url)
    const values = [decodePath(pathname), ...[...searchParams].flat()]
    if (!values.every((value) => value !== undefined && isPlainId(value)))
      throw new GatewayError('bad_request', `the address holds characters that no id has; ${plainIdRemedy}`)
  }
  await next()
}

/** Undefined: percent signs that encode nothing. */
function decodePath(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}

// The request context of a channel that answers a request itself: how it delivers what the request says, and the trace of it.

function createServeContext(deps: AppDeps, at: GatewayConnection, context: Context): ServeContext {
  const entry = deps.gateway.enter(context.req.header('traceparent'))
  const receivedAt = new Date(deps.now()).toISOString()
  const from = deps.sourceOf(context)
  return {
    from,
    receivedAt,
    async take(messages) {
      const acceptances = await deps.gateway.take(at, messages, entry)
      deps.bodyTaken?.(context)
      return acceptances
    },
    async receive(arrival) {
      const answer = await deliverInbound(deps, at, arrival)
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
