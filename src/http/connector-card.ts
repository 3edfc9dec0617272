// GET /.well-known/adapter-card: the key by which others check what this gateway says about people, public.
import type { Hono } from 'hono'
import type { AppDeps } from './deps.ts'
import { json, respond } from './status.ts'

const path = '/.well-known/adapter-card'

export function addConnectorRoute(app: Hono, { gateway }: Pick<AppDeps, 'gateway'>): void {
  app.get(path, async (_context, next) => {
    const card = await gateway.connectorCard()
    if (card === undefined) return void (await next())
    const document = json(200, card)
    return respond({ ...document, headers: { ...document.headers, 'cache-control': 'public, max-age=300' } })
  })
}
