// What the loopback platform sends and takes.
import * as z from 'zod'

export const eventSchema = z.object({
  id: z.string().min(1).max(200),
  /** Left out by events that say nothing, such as a ping. */
  text: z.string().optional(),
  /** Becomes the local part of an address, so it is written like one. */
  from: z
    .string()
    .regex(/^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,60}[A-Za-z0-9])?$/)
    .optional(),
  conversation: z.string().min(1).max(200).default('main'),
  deliveryId: z.string().min(1).optional(),
  event: z.enum(['new', 'edit', 'delete']).default('new'),
  target: z.string().optional(),
  version: z.string().default('0'),
  command: z.object({ name: z.string().min(1), args: z.string() }).optional(),
  mustReplyIndividually: z.string().min(1).optional(),
  exclusive: z.boolean().optional(),
  sentAt: z.iso.datetime().optional(),
  /** The room whose main line it was said on, where the conversation is a thread of its own. */
  mainLine: z.string().min(1).optional(),
  room: z.enum(['dm', 'group', 'channel']).default('dm'),
  /** How the sender calls themselves. */
  name: z.string().optional(),
  profile: z.record(z.string(), z.unknown()).optional(),
  /** What another gateway attached. Without `from` the sender is known by this alone. */
  evidence: z.unknown().optional(),
  addressed: z.enum(['mention', 'reply', 'dm', 'thread', 'command', 'none']).default('dm'),
  /** Threads the sender merely claims; without it the platform itself says which conversation this is. */
  claims: z.array(z.string().min(1)).min(1).optional(),
  replyToken: z.string().optional(),
  senderChosenId: z.boolean().default(false),
  /** Attached, and still at the platform. */
  files: z
    .array(z.object({ id: z.string().min(1), mime: z.string().optional(), name: z.string().optional() }))
    .default([]),
})

export type LoopbackEvent = z.input<typeof eventSchema>

export const replyToSchema = z.object({ conversation: z.string() })

/** With a file it is an upload of that, whose bytes are opened when it is sent. */
export type LoopbackCall = {
  readonly conversation: string
  readonly text: string
  readonly file?: { readonly attachment: string; readonly name: string }
}
