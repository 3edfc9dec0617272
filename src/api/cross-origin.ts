// Cross-site protection: requests that a web page had a browser send are judged here, once, for every route: without a token a page counts only where it is
// the gateway's own, so that what is open to this machine is not open to every page that is looked at on it.
import type { Context, MiddlewareHandler } from 'hono'
import type { AppDeps } from './deps.ts'
import { answerToResponse, noContent, webhookAnswer } from './http-answers.ts'

type HeaderReader = (name: string) => string | undefined

/** Names that only this machine answers to, or that no name server can be made to lead elsewhere. */
const localHostName = /^(?:localhost|parley\.localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[\da-f:.]+\])(?::\d{1,5})?$/i

/**
 * True where the browser says that the page is not ours (Fetch metadata, RFC 6454). Programs say nothing of this kind.
 * A page that reached us through a name of its own is not ours either, whatever it calls itself.
 */
function isForeignPage(header: HeaderReader, publicUrl: string | undefined): boolean {
  const site = header('sec-fetch-site')
  if (site !== undefined && site !== 'none' && site !== 'same-origin') return true
  const origin = header('origin')
  if (origin === undefined) return false
  // A page that may not name itself; only the browser can say that it is ours (RFC 6454, 7.3).
  if (origin === 'null') return site !== 'same-origin'
  if (publicUrl !== undefined && origin === new URL(publicUrl).origin) return false
  const host = header('host') ?? ''
  return !localHostName.test(host) || (origin !== `http://${host}` && origin !== `https://${host}`)
}

/** Platforms prove themselves by a signature over what they send, servers of the fediverse by one in a header. */
const webhookPath = /^\/hooks\/[^/]+\/[^/]+$/

function carriesCredential(header: HeaderReader): boolean {
  return header('authorization') !== undefined || header('signature') !== undefined
}

function isSafeMethod(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS'
}

type Deps = Pick<AppDeps, 'publicUrl' | 'rejections' | 'log' | 'newTrace' | 'now' | 'meter'>

/** In front of every route: what would change something is refused. Looking is answered as it is to strangers. */
export function refuseForeignPages(deps: Deps): MiddlewareHandler {
  return async (context, next) => {
    const header = requestHeaderReader(context)
    const isLooking = isSafeMethod(context.req.method)
    if (isLooking || webhookPath.test(context.req.path) || carriesCredential(header)) return next()
    if (!isForeignPage(header, deps.publicUrl)) return next()
    const [trace, reason] = [deps.newTrace(), 'foreign_page'] as const
    deps.meter.callerRefused(reason)
    deps.log.warn('caller_refused', { trace, reason })
    const at = new Date(deps.now()).toISOString()
    deps.rejections.add({ at, connection: 'http', isLocal: false, bytes: null, reason, trace })
    return answerToResponse(webhookAnswer({ kind: 'rejected', reason, trace }))
  }
}

/** A request from a foreign page is neither the local user's nor a guest's. */
export function treatForeignPagesAsRemote({
  sourceOf,
  publicUrl,
}: Pick<AppDeps, 'sourceOf' | 'publicUrl'>): AppDeps['sourceOf'] {
  return (context) => (isForeignPage(requestHeaderReader(context), publicUrl) ? 'remote' : sourceOf(context))
}

function requestHeaderReader(context: Context): HeaderReader {
  // Without a server there is no such header, only the address that was asked for.
  return (name) => context.req.header(name) ?? (name === 'host' ? new URL(context.req.url).host : undefined)
}

// CORS: web pages that may call the API are those whose origin is on the operator's list (Fetch, section 3.2). Without a list
// this is not there at all, and browsers keep every page but our own from reading an answer.

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
    const granted = corsHeaders(context, origins)
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
function corsHeaders(context: Context, origins: readonly string[]): Readonly<Record<string, string>> | undefined {
  if (origins.includes('*')) return { 'access-control-allow-origin': '*' }
  const origin = context.req.header('origin')
  if (origin === undefined || !origins.includes(origin)) return undefined
  return { 'access-control-allow-origin': origin, 'access-control-allow-credentials': 'true' }
}
