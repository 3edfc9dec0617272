// GET /admin/rejected: what this process rejected lately, and why. Counts of all of it are in the metrics.
import type { Hono } from 'hono'
import type { AppDeps } from './deps.ts'
import { limitParam } from './query.ts'

export function addRejectedRoute(app: Hono, { rejections }: Pick<AppDeps, 'rejections'>): void {
  app.get('/admin/rejected', (context) => {
    const { connection, trace } = context.req.query()
    return context.json({ rejected: rejections.list({ limit: limitParam(context), connection, trace }) })
  })
}
