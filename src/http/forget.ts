// POST /admin/forget: erases one person's data, a bounded piece per request. It cannot be undone, so it says what it does.
import type { Hono } from 'hono'
import * as z from 'zod'
import { countPerson, forgetPerson } from '../identity/forget/forget.ts'
import type { AppDeps } from './deps.ts'
import { jsonBody } from './json-body.ts'
import { actorIn } from './note-act.ts'
import { idPattern } from './query.ts'

/** Well under what a proxy or a caller waits for. */
const budgetMs = 10_000

const wishSchema = z
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

export const forgetBody = {
  schema: wishSchema,
  maxBytes: 4096,
  remedy: 'send {"principal": "…", "dryRun": true} to count, {"principal": "…", "confirm": true} to forget',
} as const

export function addForgetRoute(app: Hono, deps: Pick<AppDeps, 'forget' | 'now' | 'log' | 'wake'>): void {
  app.post('/admin/forget', async (context) => {
    const { principal, dryRun, from } = await jsonBody(context, forgetBody)
    const store = deps.forget
    if (dryRun) return context.json({ isDone: false, removed: await countPerson({ store }, principal), next: null })
    const wish = { principal, from, budgetMs, actor: actorIn(context) }
    const forgotten = await forgetPerson({ store, monotonicMs: deps.now }, wish)
    const rows = Object.values(forgotten.removed).reduce((sum, count) => sum + count, 0)
    deps.log.info('person_forgotten', { outcome: forgotten.isDone ? 'done' : 'begun', rows })
    deps.wake()
    return context.json(forgotten)
  })
}
