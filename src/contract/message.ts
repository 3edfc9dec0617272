// NormalizedMessage: the one shape every agent reads.
import * as z from 'zod'
import { recipientCapabilitiesSchema } from './capabilities.ts'
import { channelContextSchema } from './channel-context.ts'
import { maxParts, partSchema } from './parts.ts'
import { senderSchema } from './sender.ts'

/** Ids of platforms are taken as they are, as long as they can be stored; those that callers choose are judged in caller-id.ts. */
const isStorableId = (text: string) => !/[\u0000-\u001f\u007f]/.test(text) && text.isWellFormed()

export const historicalMessageSchema = z.object({
  id: z.string().optional(),
  role: z.enum(['user', 'assistant']),
  sender: senderSchema,
  parts: z.array(partSchema),
  timestamp: z.string(),
  /** Ambient context: said in the room and not to the agent, to know and not to follow. */
  overheard: z.literal(true).optional(),
})

export const normalizedMessageSchema = z.object({
  id: z.string().min(1).max(512).refine(isStorableId, 'no control characters'),
  thread_id: z.string().min(1).max(1024).refine(isStorableId, 'no control characters'),
  in_reply_to: z.string().optional(),
  sender: senderSchema,
  recipient: z.string(),
  parts: z.array(partSchema).min(1).max(maxParts),
  history: z.array(historicalMessageSchema).optional(),
  recipient_capabilities: recipientCapabilitiesSchema,
  received_via: z.string().min(1),
  received_at: z.iso.datetime({ offset: false }),
  raw: z.unknown(),
  policy_resolution: z.record(z.string(), z.unknown()).optional(),
  channel: channelContextSchema.optional(),
})

/** One earlier turn, with its own sender reduced to what history may show. */
export type HistoricalMessage = z.infer<typeof historicalMessageSchema>
/** The transport-neutral message: evidence, parts, capabilities, and the original payload beside them. */
export type NormalizedMessage = z.infer<typeof normalizedMessageSchema>
