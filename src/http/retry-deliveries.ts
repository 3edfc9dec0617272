// Many failed calls sent again at once: after an outage of a platform there are too many to name one by one.
import type { Hono } from 'hono'
import * as z from 'zod'
import type { AppDeps } from './deps.ts'
import { readJsonRequest } from './json-body.ts'
import { actorName } from './note-act.ts'

export const retryBody = {
  schema: z.strictObject({
    state: z.enum(['unknown', 'refused', 'dead']),
    since: z.iso.datetime({ offset: true }).meta({ description: 'Those that ended then or later' }),
    connection: z.string().min(1).max(200).optional().meta({ description: 'Only of this one, as the books name it' }),
    limit: z.number().int().min(1).max(500).default(100).meta({ description: 'How many at most, the oldest first' }),
    dry_run: z.boolean().default(false).meta({ description: 'Only counts; nothing is sent' }),
  }),
  maxBytes: 2048,
  remedy:
    'send {"state": "unknown", "since": "2026-01-31T08:00:00Z"}, and connection, limit (1 to 500) or dry_run if you like',
} as const

export const retriedSchema = z.object({
  matching: z.number().int().meta({ description: 'How many there were before, counted up to 10,000' }),
  retried: z.number().int().meta({ description: 'How many are sent again; ask once more for the rest' }),
})

export function addRetryRoute(app: Hono, { deliveries, wake }: Pick<AppDeps, 'deliveries' | 'wake'>): void {
  app.post('/admin/deliveries/retry', async (context) => {
    const { limit, dry_run, ...asked } = await readJsonRequest(context, retryBody)
    const failed = { ...asked, connection: asked.connection ?? null }
    const matching = await deliveries.countFailed(failed)
    let retried = 0
    // Each in a commit of its own, as one by one: an operator who is interrupted asks again, and finds the rest.
    for (const id of dry_run ? [] : await deliveries.findFailed(failed, limit))
      if (await deliveries.retry(id, actorName(context))) retried += 1
    if (retried > 0) wake()
    return context.json({ matching, retried })
  })
}
