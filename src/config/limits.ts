// How often callers of the API may ask: a section of the configuration file.
import * as z from 'zod'
import { readCorsOrigins } from './cors-origins.ts'

export type Limit = {
  readonly count: number
  /** The window in which so many are let through; windows begin at multiples of it. */
  readonly perMs: number
}

/** All of them count; the tightest one decides. */
export type ApiLimits = {
  /** Requests of one person or program, over all of its tokens. */
  readonly perPrincipal?: Limit
  /** Requests with one token. */
  readonly perToken?: Limit
  /** Runs and tasks that one person or program may start per day, UTC. */
  readonly runsPerDay?: number
}

const dayMs = 24 * 60 * 60_000
const count = z.number().int().min(1).max(10_000_000)
const limitSchema = z
  .strictObject({ count, perMs: z.number().int().min(1000).max(dayMs) })
  // Kept as an instant that moves on by a piece of the window with every request; a piece must be long enough to be told.
  .refine(({ count: many, perMs }) => many <= perMs, 'count must be at most perMs')
const limitsSchema = z.strictObject({
  perPrincipal: limitSchema.optional(),
  perToken: limitSchema.optional(),
  runsPerDay: count.optional(),
})

/** Who may ask from where, and how often. */
export function readApiSettings(
  origins: string | undefined,
  limits: ApiLimits | undefined,
  problems: string[],
): { readonly corsOrigins: readonly string[]; readonly limits: ApiLimits } {
  return { corsOrigins: readCorsOrigins(origins, problems), limits: readApiLimits(limits, problems) }
}

function readApiLimits(given: ApiLimits | undefined, problems: string[]): ApiLimits {
  const read = limitsSchema.safeParse(given ?? {})
  for (const issue of read.error?.issues ?? []) problems.push(`limits.${issue.path.join('.')}: ${issue.message}`)
  return given ?? {}
}

export function limitPerDay(runs: number): Limit {
  return { count: runs, perMs: dayMs }
}
