// GET /admin/rejected: what this process turned away lately, and why. Counts of all of it are in the metrics.
import type { Hono } from 'hono'
import type { AppDeps } from './deps.ts'
import { pageSize, wholeNumber } from './query.ts'

const maxPageSize = 500

export function addRejectedRoute(app: Hono, { rejections }: Pick<AppDeps, 'rejections'>): void {
  app.get('/admin/rejected', (context) => {
    const { limit, connection, trace } = context.req.query()
    const size = limit === undefined ? pageSize : wholeNumber('limit', limit, maxPageSize)
    return context.json({ rejected: rejections.list({ limit: size, connection, trace }) })
  })
}
