// Access rules on evidence (msg 6): the language. Strict, so that a rule that is wider than it looks stops the start.
import * as z from 'zod'
import { assuranceClasses, GatewayError } from '../../contract/index.ts'
import { delimitedPrefix, word } from '../evidence/word-schemas.ts'

const conditions = {
  /** Told when the rule decides; its place in the list when left out. */
  id: word.optional(),
  subject: word.optional(),
  subject_prefix: delimitedPrefix.optional(),
  issuer: word.optional(),
  method: word.optional(),
}

const ruleSchema = z
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
    message: 'needs a condition; to let everybody in, say visibility: public',
  })

const accessPolicySchema = z.strictObject({
  /** Said outright: an empty list of rules never means everybody. */
  visibility: z.enum(['public', 'restricted']),
  rules: z.array(ruleSchema).max(100_000).default([]),
})

export type EvidenceRule = z.infer<typeof ruleSchema>
export type EvidenceRules = z.infer<typeof accessPolicySchema>

/** Throws `config_invalid` with every problem. */
export function readEvidenceRules(input: unknown): EvidenceRules {
  const parsed = accessPolicySchema.safeParse(input)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map((issue) => `access.${issue.path.join('.')} ${issue.message}`)
  throw new GatewayError('config_invalid', `[identity] ${problems.join('; ')}`)
}
