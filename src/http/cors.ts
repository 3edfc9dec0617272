// Web pages that may call the API: those whose origin is on the operator's list (Fetch, section 3.2). Without a list this is not
// there at all, and browsers keep every page but our own from reading an answer.
import type { Context, MiddlewareHandler } from 'hono'
import { noContent } from './status.ts'

/** What pages are for; the operator's routes are for no page. */
const corsPaths = /^\/(?:api\/v1\/|openapi\.json$|storage\/v1\/)/
const allowedMethods = 'GET, POST, DELETE, OPTIONS'
const allowedHeaders = 'authorization, content-type, accept, last-event-id, prefer, traceparent'
const exposedHeaders =
  'x-parley-trace, retry-after, ratelimit-limit, ratelimit-remaining, ratelimit-reset, ratelimit-policy, www-authenticate'
const preflightMaxAge = '86400'

export function createCorsMiddleware(origins: readonly string[]): MiddlewareHandler {
  return async (context, next) => {
    if (!corsPaths.test(context.req.path)) return next()
    const granted = corsGrant(context, origins)
    const isPreflight =
      context.req.method === 'OPTIONS' && context.req.header('access-control-request-method') !== undefined
    if (isPreflight) {
      const more = {
        'access-control-allow-methods': allowedMethods,
        'access-control-allow-headers': allowedHeaders,
        'access-control-max-age': preflightMaxAge,
      }
      const headers = granted === undefined ? {} : { ...granted, ...more }
      return new Response(null, { status: noContent, headers: { ...headers, vary: 'origin' } })
    }
    await next()
    const headers = {
      ...granted,
      ...(granted === undefined ? {} : { 'access-control-expose-headers': exposedHeaders }),
    }
    for (const [name, value] of Object.entries(headers)) context.res.headers.set(name, value)
    context.res.headers.append('vary', 'origin')
    return undefined
  }
}

/** To every origin: without what a browser knows of a person. */
function corsGrant(context: Context, origins: readonly string[]): Readonly<Record<string, string>> | undefined {
  if (origins.includes('*')) return { 'access-control-allow-origin': '*' }
  const origin = context.req.header('origin')
  if (origin === undefined || !origins.includes(origin)) return undefined
  return { 'access-control-allow-origin': origin, 'access-control-allow-credentials': 'true' }
}
