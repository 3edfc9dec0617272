// GET /.well-known/oauth-protected-resource: who issues tokens for this gateway (RFC 9728), public.
import type { Context, Hono } from 'hono'
import { hasTokenIssuers, protectedResource, resourcePath } from '../identity/issuers/token-issuers.ts'
import type { AppDeps } from './deps.ts'
import { jsonBodyAnswer, toResponse } from './status.ts'

type ResourceDeps = Pick<AppDeps, 'tokenIssuers' | 'publicUrl'>

/** Paths of ours, and nothing that only looks like one. */
const plainPath = /^(?:\/[\w.@~-]{1,128}){0,8}$/

export function addProtectedResourceRoute(app: Hono, { tokenIssuers, publicUrl }: ResourceDeps): void {
  if (tokenIssuers === undefined || !hasTokenIssuers(tokenIssuers)) return
  const answerResourceMetadata = async (context: Context, next: () => Promise<void>): Promise<Response | undefined> => {
    const { origin, pathname } = new URL(context.req.url)
    const path = pathname.slice(resourcePath.length)
    if (!plainPath.test(path)) return void (await next())
    const resource = `${publicUrl === undefined ? origin : new URL(publicUrl).origin}${path}`
    const document = jsonBodyAnswer(200, protectedResource(tokenIssuers, resource))
    return toResponse({ ...document, headers: { ...document.headers, 'cache-control': 'public, max-age=300' } })
  }
  app.get(resourcePath, answerResourceMetadata)
  app.get(`${resourcePath}/*`, answerResourceMetadata)
}
