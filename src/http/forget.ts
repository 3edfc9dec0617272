// POST /admin/forget: erases one person's data, a bounded piece per request. It cannot be undone, so it says what it does.
import type { Hono } from 'hono'
import * as z from 'zod'
import { countPersonData, erasePerson } from '../identity/erase.ts'
import type { AppDeps } from './deps.ts'
import { readJsonRequest } from './json-body.ts'
import { actorName } from './note-act.ts'
import { idPattern } from './query.ts'

/** Well under what a proxy or a caller waits for. */
const budgetMs = 10_000

const eraseSchema = z
  .strictObject({
    principal: z.string().trim().min(1).max(500),
    /** Counts, and changes nothing. */
    dryRun: z.boolean().default(false),
    /** Said by an operator who means it. */
    confirm: z.literal(true).optional(),
    from: z
      .strictObject({ phase: z.enum(['conversations', 'receipts']), after: z.string().regex(idPattern).nullable() })
      .nullable()
      .default(null),
  })
  .refine(({ dryRun, confirm }) => dryRun || confirm === true, { path: ['confirm'] })

export const eraseBody = {
  schema: eraseSchema,
  maxBytes: 4096,
  remedy: 'send {"principal": "…", "dryRun": true} to count, {"principal": "…", "confirm": true} to forget',
} as const

export function addEraseRoute(app: Hono, deps: Pick<AppDeps, 'forget' | 'now' | 'log' | 'wake'>): void {
  app.post('/admin/forget', async (context) => {
    const { principal, dryRun, from } = await readJsonRequest(context, eraseBody)
    const store = deps.forget
    if (dryRun) return context.json({ isDone: false, removed: await countPersonData({ store }, principal), next: null })
    const wish = { principal, from, budgetMs, actor: actorName(context) }
    const forgotten = await erasePerson({ store, monotonicMs: deps.now }, wish)
    const rows = Object.values(forgotten.removed).reduce((sum, count) => sum + count, 0)
    deps.log.info('person_forgotten', { outcome: forgotten.isDone ? 'done' : 'begun', rows })
    deps.wake()
    return context.json(forgotten)
  })
}
