// Where an answer to a mail goes, as normalize writes it down and render reads it. Only `reply_to_…` differs between the mails of one place.
import * as z from 'zod'
import { isPlainMailAddress } from './address.ts'

const address = z.string().refine(isPlainMailAddress, 'is no plain address')
const name = z.string().default('')

export const replyToSchema = z.object({
  /** Of the authenticated sender, and of no other person. */
  address,
  name,
  /** The address of ours that was written to. */
  agent: address,
  cc: z.array(z.object({ name, address })).default([]),
  /** Without brackets; null where the mail had none that can be named. */
  reply_to_id: z.string().nullish(),
  reply_to_references: z.array(z.string()).default([]),
  reply_to_subject: z.string().default(''),
  /** The key of the thread, as reply tokens carry it. */
  reply_to_key: z.string().regex(/^[a-z2-7]{16}$/),
  reply_to_quote: z.object({ author: z.string(), date: z.string().nullish(), text: z.string() }).nullish(),
  reply_to_hop: z.number().int().min(0).default(0),
})

export type MailReplyTo = z.infer<typeof replyToSchema>
