// What several answers of the API hold: errors, pages, times.
import * as z from 'zod'

export const instantSchema = z
  .string()
  .meta({ description: 'An instant, ISO 8601 with a zone', examples: ['2026-01-31T08:00:00.000Z'] })

export const problemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    detail: z.string(),
    code: z.string(),
    remedy: z.string(),
    trace: z.string().optional(),
    error: z.object({
      code: z.string(),
      message: z.string().optional(),
      remedy: z.string(),
      trace: z.string().optional(),
    }),
  })
  .meta({ id: 'Problem', description: 'What went wrong and what to do about it (RFC 9457)' })

export type Problem = z.infer<typeof problemSchema>

export const doneSchema = z.object({ ok: z.literal(true) })

/** `next`: the `before` of the page after this one; null on the last. */
export const nextId = z.string().nullable().meta({ description: 'before of the next page; null on the last' })

/** A page of a list whose ids sort by time. */
export const pageQuerySchema = (max: number) =>
  z.object({
    limit: z.coerce.number().int().min(1).max(max).default(50).meta({ description: 'How many at most' }),
    before: z.uuid().optional().meta({ description: 'The next of the page before' }),
  })
