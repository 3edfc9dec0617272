// Hop 1 and the gateway's HTTP surface: webhooks, the channels' own endpoints, health, and the operator's routes.
import { type Context, Hono } from 'hono'
import type { ArrivalHead, RawArrival, TransportAnswer } from '../contract/index.ts'
import type { GatewayConnection } from '../gateway/deps.ts'
import { readBody } from '../verification/index.ts'
import { addAdminRoutes } from './admin.ts'
import { addAttachmentRoutes } from './attachments.ts'
import { addConnectorRoute } from './connector-card.ts'
import { createCors } from './cors.ts'
import type { AppDeps } from './deps.ts'
import { addHealthRoutes } from './health.ts'
import { addHistoryRoute } from './history.ts'
import { answerHook, failure, findConnection, receiveArrival, screenHook } from './hook.ts'
import { judgedSource, refuseForeignPages } from './judge-page.ts'
import { addOpenApiRoutes } from './openapi/routes.ts'
import { addOwnRoutes } from './own-things.ts'
import { requirePlainAddress } from './plain-address.ts'
import { addResourceRoute } from './protected-resource.ts'
import { createRateLimit } from './rate-limit.ts'
import { serveDoor } from './serve-door.ts'
import { errorAnswer, hookAnswer, notFound, respond, text, tooLarge, watchRefusal } from './status.ts'
import { addStorageRoutes } from './storage.ts'
import { addTaskRoutes } from './tasks/routes.ts'
import { addWebfingerRoute } from './webfinger.ts'

const welcome = `Parley is running. Its guide is README.md in the checkout.

What it can be asked: <this address>/docs/api, for programs /openapi.json.

Try, on its machine or with a token: curl -s <this address>/api/v1/agent/run -H 'content-type: application/json' \\
  -d '{"threadId":"t1","runId":"r1","messages":[{"id":"m1","role":"user","content":"hello"}]}'
`

export function createApp(given: AppDeps): Hono {
  const app = new Hono()
  const deps = { ...given, sourceOf: judgedSource(given) }
  if ((deps.corsOrigins ?? []).length > 0) app.use('*', createCors(deps.corsOrigins ?? []))
  app.use('*', refuseForeignPages(deps))
  // Storage has codes of its own for addresses that are none.
  for (const prefix of ['/api/*', '/admin/*', '/hooks/*', '/.well-known/*']) app.use(prefix, requirePlainAddress)
  const limit = createRateLimit(deps)
  if (limit !== undefined) app.use('/api/v1/*', limit)
  app.post('/hooks/:channel/:connection', async (context) => {
    const { channel, connection } = context.req.param()
    const at = findConnection(deps, channel, connection)
    return at === undefined ? respond(unknownHook()) : respond(await hook(deps, at, context))
  })
  app.get('/hooks/:channel/:connection/*', async (context) => {
    const { channel, connection } = context.req.param()
    const at = findConnection(deps, channel, connection)
    return at === undefined ? respond(unknownHook()) : served(deps, at, context)
  })
  for (const at of deps.gateway.connections) {
    for (const endpoint of at.adapter.endpoints) {
      if (endpoint.answer === 'serve') {
        app.all(endpoint.path, (context) => served(deps, at, context))
        continue
      }
      if (endpoint.answer === 'watch') app.post(endpoint.path, (context) => watched(deps, at, context))
      else app.post(endpoint.path, async (context) => respond(await hook(deps, at, context)))
    }
  }
  app.get('/', () => respond(text(200, welcome)))
  addAttachmentRoutes(app, deps)
  addStorageRoutes(app, deps)
  addHistoryRoute(app, deps)
  addResourceRoute(app, deps)
  addConnectorRoute(app, deps)
  addWebfingerRoute(app, deps)
  addOwnRoutes(app, deps)
  addTaskRoutes(app, deps)
  addOpenApiRoutes(app, deps)
  addHealthRoutes(app, deps)
  addAdminRoutes(app, deps)
  app.notFound(() => respond(errorAnswer(notFound.status, notFound.code, 'see the README for the routes there are')))
  app.onError((error) => respond(failure(deps, error)))
  return app
}

async function hook(deps: AppDeps, at: GatewayConnection, context: Context): Promise<TransportAnswer> {
  const arrival = await readArrival(deps, at, context)
  return 'status' in arrival ? arrival : answerHook(deps, at, arrival)
}

async function watched(deps: AppDeps, at: GatewayConnection, context: Context): Promise<Response> {
  const arrival = await readArrival(deps, at, context)
  if ('status' in arrival) return respond(arrival)
  const received = await receiveArrival(deps, at, arrival)
  deps.bodyTaken?.(context)
  const refusal = watchRefusal(received)
  if (refusal !== undefined || received.kind !== 'stored') return respond(refusal ?? hookAnswer(received))
  const first = received.acceptances[0]
  const { bytes, headers } = arrival
  const keepOpen = (until: Promise<void>): void => deps.keepOpen?.(until)
  const stream = first && (await at.adapter.follow?.({ acceptance: first, bytes, headers, keepOpen }))
  if (stream !== undefined) return stream
  const ids = received.acceptances.flatMap((each) => ('inboxId' in each ? [each.inboxId] : []))
  const [result, ...others] = await Promise.all(ids.map((id) => deps.gateway.watch(id, deps.watchMs)))
  return respond(at.adapter.acknowledge?.(received.acceptances, result, others) ?? hookAnswer(received))
}

async function served(deps: AppDeps, at: GatewayConnection, context: Context): Promise<Response> {
  return (await at.adapter.serve?.(context.req.raw, serveDoor(deps, at, context))) ?? respond(unknownHook())
}

/** The event, or the answer to one that is refused by its headers or its size. */
async function readArrival(
  deps: AppDeps,
  at: GatewayConnection,
  context: Context,
): Promise<RawArrival | TransportAnswer> {
  const head: ArrivalHead = {
    headers: deps.headersOf?.(context) ?? context.req.header(),
    receivedAt: new Date(deps.now()).toISOString(),
    from: deps.sourceOf(context),
  }
  const screened = screenHook(deps, at, head)
  if (screened !== undefined) return screened
  const bytes = await readBody(context.req.raw, deps.maxBodyBytes)
  return bytes === undefined
    ? errorAnswer(tooLarge.status, tooLarge.code, `send at most ${deps.maxBodyBytes} bytes`)
    : { ...head, bytes }
}

function unknownHook(): TransportAnswer {
  return errorAnswer(
    notFound.status,
    notFound.code,
    'no such connection; use /hooks/{channel}/{connection} as configured',
  )
}
