// GET /.well-known/adapter-card: the key by which others check what this gateway says about people, public.
import type { Hono } from 'hono'
import type { AppDeps } from './deps.ts'
import { jsonBodyAnswer, toResponse } from './status.ts'

const adapterCardPath = '/.well-known/adapter-card'

export function addAdapterCardRoute(app: Hono, { gateway }: Pick<AppDeps, 'gateway'>): void {
  app.get(adapterCardPath, async (_context, next) => {
    const card = await gateway.connectorCard()
    if (card === undefined) return void (await next())
    const document = jsonBodyAnswer(200, card)
    return toResponse({ ...document, headers: { ...document.headers, 'cache-control': 'public, max-age=300' } })
  })
}
