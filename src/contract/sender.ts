// Sender: the compact view (auth_method, verified) and the evidence it rests on (msg 3.2, 3.3).
import * as z from 'zod'
import { identityEvidenceSchema } from './evidence.ts'

/** Presentation only. Authorization never reads a profile. */
const senderProfileSchema = z.object({
  display_name: z.string().optional(),
  username: z.string().optional(),
  url: z.string().optional(),
  avatar: z
    .object({
      url: z.string(),
      mime_type: z.string().optional(),
      width: z.number().optional(),
      height: z.number().optional(),
    })
    .optional(),
  locale: z.string().optional(),
  timezone: z.string().optional(),
  provider: z.string().optional(),
  provider_subject: z.string().optional(),
  fetched_at: z.string().optional(),
  extensions: z.record(z.string(), z.unknown()).optional(),
})

export const senderSchema = z.object({
  address: z.string(),
  display_name: z.string().optional(),
  profile: senderProfileSchema.optional(),
  auth_method: z.string().min(1),
  verified: z.boolean(),
  key_id: z.string().optional(),
  identities: z.array(identityEvidenceSchema).optional(),
})

/** Presentation facts about a sender. */
export type SenderProfile = z.infer<typeof senderProfileSchema>
/** Who a message claims to be from, and what was proven about it. */
export type Sender = z.infer<typeof senderSchema>
