// Who may write to a connection or speak to an agent: the one schema of `access`, checked at the start wherever it is written.
import * as z from 'zod'
import { assuranceClasses } from './mint-evidence.ts'
import { delimitedPrefixSchema, wordSchema } from './word-schemas.ts'

const accessModes = ['public', 'allow_list', 'pairing', 'closed'] as const

const conditions = {
  /** Told when the rule decides; its place in the list when left out. */
  id: wordSchema.optional(),
  subject: wordSchema.optional(),
  subject_prefix: delimitedPrefixSchema.optional(),
  issuer: wordSchema.optional(),
  method: wordSchema.optional(),
}

/** One rule on evidence: all its conditions must hold. Strict, so that a rule that is wider than it looks stops the start. */
const accessEntrySchema = z
  .discriminatedUnion('effect', [
    z.strictObject({ effect: z.literal('allow'), ...conditions, min_assurance: z.enum(assuranceClasses).optional() }),
    // No minimum here: weaker evidence would slip past the denial.
    z.strictObject({ effect: z.literal('deny'), ...conditions }),
  ])
  .refine((rule) => rule.subject === undefined || rule.subject_prefix === undefined, {
    path: ['subject_prefix'],
    message: 'cannot stand beside subject; write two rules',
  })
  .refine(({ effect: _effect, id: _id, ...rest }) => Object.values(rest).some((value) => value !== undefined), {
    message: 'needs a condition; to let every sender in, say visibility: public',
  })

export const accessEntriesSchema = z.array(accessEntrySchema, 'must be a list of rules').max(100_000).readonly()

export const accessSchema = z.strictObject(
  {
    mode: z.enum(accessModes, `must be one of ${accessModes.join(', ')}`),
    /** Subjects that are let in where access is limited. */
    allow: z.array(z.string('must be a subject'), 'must be a list of subjects').readonly().optional(),
    /** The same, and no, in terms of evidence. A denial wins over everything. */
    rules: accessEntriesSchema.optional(),
  },
  {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `has unknown keys: ${(issue['keys'] as readonly string[]).join(', ')}; known are mode, allow and rules`
        : "must be an object such as { mode: 'public' }",
  },
)

/**
 * Who may write to a connection or speak to an agent (docs/identity.md).
 *
 * @example { mode: 'allow_list', allow: ['telegram:42'] }
 */
export type AccessRule = z.infer<typeof accessSchema>
export type AccessEntry = z.infer<typeof accessEntrySchema>

/** Everything that is wrong with it, by the place it is wrong at. */
export function accessProblems(access: unknown): readonly string[] {
  const issues = accessSchema.safeParse(access).error?.issues ?? []
  return issues.map(({ path, message }) => `${['access', ...path].join('.')} ${message}`)
}
