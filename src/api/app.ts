// The gateway's HTTP app: the routes of the resource table and of channels, behind what holds for all of them.
import { type Context, Hono, type Next } from 'hono'
import { isPlainId, plainIdRemedy } from '../contract/index.ts'
import { GatewayError } from '../lib/errors.ts'
import { authenticateAdminCaller, recordRefusedCallers } from './admin-access.ts'
import { addEndpointRoutes } from './channel-routes.ts'
import { createCorsMiddleware, refuseForeignPages, treatForeignPagesAsRemote } from './cross-origin.ts'
import type { AppDeps } from './deps.ts'
import { answerToResponse, errorAnswer, notFound } from './http-answers.ts'
import { admitOwnerOrCaller } from './me.ts'
import { addOpenApiRoutes } from './openapi.ts'
import { createRateLimitMiddleware } from './rate-limit.ts'
import { addResourceRoutes, ownBase } from './resource.ts'
import { resources } from './resources.ts'
import { errorToAnswer } from './webhook.ts'
import { addAdapterCardRoute } from './well-known.ts'

const ownPaths = ['sessions/*', 'approvals/*', 'tool-requests/*', 'runs/:id/cancel']

export function createApp(given: AppDeps): Hono {
  const app = new Hono()
  const deps = { ...given, sourceOf: treatForeignPagesAsRemote(given) }
  if ((deps.corsOrigins ?? []).length > 0) app.use('*', createCorsMiddleware(deps.corsOrigins ?? []))
  app.use('*', refuseForeignPages(deps))
  // Storage has codes of its own for addresses that are none.
  for (const prefix of ['/api/*', '/admin/*', '/hooks/*', '/.well-known/*']) app.use(prefix, validateRequestUrl)
  const limit = createRateLimitMiddleware(deps)
  if (limit !== undefined) app.use('/api/v1/*', limit)
  app.use('/admin/*', (context, next) => recordRefusedCallers(deps, context, next))
  app.use('/admin/*', (context, next) => authenticateAdminCaller(deps, context, next))
  for (const path of ownPaths) app.use(`${ownBase}/${path}`, (context, next) => admitOwnerOrCaller(deps, context, next))
  addEndpointRoutes(app, deps)
  for (const resource of resources) addResourceRoutes(app, deps, resource)
  addAdapterCardRoute(app, deps)
  addOpenApiRoutes(app, deps)
  app.notFound(() =>
    answerToResponse(errorAnswer(notFound.status, notFound.code, 'see the README for the routes there are')),
  )
  app.onError((error) => answerToResponse(errorToAnswer(deps, error)))
  return app
}

// The path of a request is checked before anything is looked up by it: what could not be an id is the caller's mistake, and is
// told so.

/** Longer than any address of ours; names in a path and values in a query are looked up as they are. */
const maxAddressLength = 8192

async function validateRequestUrl(context: Context, next: Next): Promise<void> {
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
