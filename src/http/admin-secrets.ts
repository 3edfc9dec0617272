// The gateway's own keys over HTTP, for operators: what there is, a new one in place of one, and everything sealed anew.
import type { Hono } from 'hono'
import { GatewayError } from '../contract/index.ts'
import type { AppDeps } from './deps.ts'
import { actorName, recordAct } from './note-act.ts'

export function addSecretRoutes(app: Hono, deps: Pick<AppDeps, 'secrets' | 'audit'>): void {
  const { secrets } = deps
  // Where there is no folder to keep them in, the one key is a secret of the platform.
  if (secrets === undefined) return
  app.get('/admin/secrets', async (context) => context.json({ secrets: await secrets.list() }))
  app.post('/admin/secrets/rotate', async (context) => {
    const body: unknown = await context.req.json().catch(() => undefined)
    const name = typeof body === 'object' && body !== null && 'name' in body ? body.name : undefined
    if (typeof name !== 'string' || name.length > 300)
      throw new GatewayError('bad_request', 'send {"name": "…"}, as GET /admin/secrets lists it')
    const rotated = await secrets.rotate(name, actorName(context))
    await recordAct(deps, context, { action: 'secret.rotate', outcome: 'done', objectId: name })
    return context.json(rotated)
  })
  app.post('/admin/secrets/reseal', async (context) => context.json(await secrets.reseal()))
}
