// Access rules on evidence as a policy of their own: open to every verified sender, or only to those a rule names.
import * as z from 'zod'
import { accessEntriesSchema, GatewayError } from '../../contract/index.ts'

const accessPolicySchema = z.strictObject({
  /** Always explicit: an empty list of rules never means public. */
  visibility: z.enum(['public', 'restricted']),
  rules: accessEntriesSchema.default([]),
})

export type EvidenceRules = z.infer<typeof accessPolicySchema>
export type EvidenceRule = EvidenceRules['rules'][number]

/** Throws `config_invalid` with every problem. */
export function readEvidenceRules(input: unknown): EvidenceRules {
  const parsed = accessPolicySchema.safeParse(input)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map((issue) => `access.${issue.path.join('.')} ${issue.message}`)
  throw new GatewayError('config_invalid', `[identity] ${problems.join('; ')}`)
}
