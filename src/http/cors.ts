// Web pages that may call the API: those whose origin is on the operator's list (Fetch, section 3.2). Without a list this is not
// there at all, and browsers keep every page but our own from reading an answer.
import type { Context, MiddlewareHandler } from 'hono'
import { noContent } from './status.ts'

/** What pages are for; the operator's routes are for no page. */
const open = /^\/(?:api\/v1\/|openapi\.json$|storage\/v1\/)/
const methods = 'GET, POST, DELETE, OPTIONS'
const asked = 'authorization, content-type, accept, last-event-id, prefer, traceparent'
const shown =
  'x-parley-trace, retry-after, ratelimit-limit, ratelimit-remaining, ratelimit-reset, ratelimit-policy, www-authenticate'
const day = '86400'

export function createCors(origins: readonly string[]): MiddlewareHandler {
  return async (context, next) => {
    if (!open.test(context.req.path)) return next()
    const granted = grantTo(context, origins)
    const isPreflight =
      context.req.method === 'OPTIONS' && context.req.header('access-control-request-method') !== undefined
    if (isPreflight) {
      const more = {
        'access-control-allow-methods': methods,
        'access-control-allow-headers': asked,
        'access-control-max-age': day,
      }
      const headers = granted === undefined ? {} : { ...granted, ...more }
      return new Response(null, { status: noContent, headers: { ...headers, vary: 'origin' } })
    }
    await next()
    const headers = { ...granted, ...(granted === undefined ? {} : { 'access-control-expose-headers': shown }) }
    for (const [name, value] of Object.entries(headers)) context.res.headers.set(name, value)
    context.res.headers.append('vary', 'origin')
    return undefined
  }
}

/** To every origin: without what a browser knows of a person. */
function grantTo(context: Context, origins: readonly string[]): Readonly<Record<string, string>> | undefined {
  if (origins.includes('*')) return { 'access-control-allow-origin': '*' }
  const origin = context.req.header('origin')
  if (origin === undefined || !origins.includes(origin)) return undefined
  return { 'access-control-allow-origin': origin, 'access-control-allow-credentials': 'true' }
}
