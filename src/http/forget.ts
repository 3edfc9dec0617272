// POST /admin/forget: erases one person's data, a bounded piece per request. It cannot be undone, so it says what it does.
import type { Context, Hono } from 'hono'
import * as z from 'zod'
import { GatewayError } from '../contract/index.ts'
import { countPerson, forgetPerson } from '../identity/forget/forget.ts'
import type { AppDeps } from './deps.ts'
import { actorIn } from './note-act.ts'
import { idPattern } from './query.ts'
import { readBody } from './read-body.ts'

/** Well under what a proxy or a caller waits for. */
const budgetMs = 10_000

const wishSchema = z
  .strictObject({
    principal: z.string().trim().min(1).max(500),
    /** Counts, and changes nothing. */
    dryRun: z.boolean().default(false),
    /** Said by whoever means it. */
    confirm: z.literal(true).optional(),
    from: z
      .strictObject({ phase: z.enum(['conversations', 'receipts']), after: z.string().regex(idPattern).nullable() })
      .nullable()
      .default(null),
  })
  .refine(({ dryRun, confirm }) => dryRun || confirm === true, { path: ['confirm'] })

export function addForgetRoute(app: Hono, deps: Pick<AppDeps, 'forget' | 'now' | 'log' | 'wake'>): void {
  app.post('/admin/forget', async (context) => {
    const { principal, dryRun, from } = await readWish(context)
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

async function readWish(context: Context): Promise<z.infer<typeof wishSchema>> {
  const bytes = await readBody(context.req.raw, 4096)
  let body: unknown
  try {
    body = JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    // Told below.
  }
  const parsed = wishSchema.safeParse(body)
  if (parsed.success) return parsed.data
  const path = parsed.error.issues[0]?.path.join('.') || 'body'
  throw new GatewayError(
    'bad_request',
    `${path} is not as it must be; send {"principal": "…", "dryRun": true} to count, {"principal": "…", "confirm": true} to forget`,
  )
}
