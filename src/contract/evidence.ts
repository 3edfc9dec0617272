// Identity evidence: who sent a message and how we know. Policy reads this and nothing else.
import * as z from 'zod'

// Without a flag: it is published as part of the schema.
const trimmed = /^\S(?:[\s\S]*\S)?$/
const trimmedWordSchema = (max: number) => z.string().min(1).max(max).regex(trimmed, 'no surrounding white space')

/** What backs the evidence. Transport and bearer proofs count only when made inside this process. */
const proofSchema = z.union([
  z.object({ type: z.literal('transport'), verified_by: trimmedWordSchema(512), key_id: z.string().optional() }),
  z.object({
    type: z.literal('signed-attestation'),
    alg: z.string(),
    kid: z.string(),
    value: z.string(),
    canonicalization: z.string().optional(),
  }),
  z.object({ type: z.literal('bearer-token'), verified_by: trimmedWordSchema(512), token_id: z.string().optional() }),
  z.looseObject({ type: z.string() }),
])

export const identityEvidenceSchema = z.object({
  id: z.string().optional(),
  subject: trimmedWordSchema(512),
  issuer: trimmedWordSchema(512),
  method: trimmedWordSchema(256),
  assurance: trimmedWordSchema(256),
  audience: z.union([z.string(), z.array(z.string())]),
  issued_at: z.iso.datetime({ offset: true }),
  not_before: z.iso.datetime({ offset: true }).optional(),
  expires_at: z.iso.datetime({ offset: true }).optional(),
  on_behalf_of: z.array(z.string()).optional(),
  claims: z.record(z.string(), z.unknown()).optional(),
  source: z.record(z.string(), z.unknown()).optional(),
  proof: proofSchema,
})

/** One proven statement about a sender; `assurance` says what kind of control was proven. */
export type IdentityEvidence = z.infer<typeof identityEvidenceSchema>
