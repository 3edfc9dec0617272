// What the platform sends and takes.
import * as z from 'zod'

const userSchema = z.object({
  id: z.string().regex(/^\d{1,25}$/),
  username: z.string().max(100),
  global_name: z.string().max(100).nullish(),
  bot: z.boolean().optional(),
})

/** A slash command such as `/ask text: …`. */
export const interactionSchema = z.object({
  id: z.string().regex(/^\d{1,25}$/),
  application_id: z.string(),
  type: z.number().int(),
  token: z.string().min(1).max(300),
  channel_id: z
    .string()
    .regex(/^\d{1,25}$/)
    .optional(),
  guild_id: z.string().optional(),
  /** In a server; in private it is `user`. */
  member: z.object({ user: userSchema, nick: z.string().max(100).nullish() }).optional(),
  user: userSchema.optional(),
  data: z
    .object({
      name: z.string(),
      options: z
        .array(z.object({ name: z.string(), value: z.union([z.string(), z.number(), z.boolean()]).optional() }))
        .optional(),
    })
    .optional(),
})

export type Interaction = z.output<typeof interactionSchema>

export const interactionTypes = { ping: 1, command: 2 } as const
/** Answers to an interaction. `thinking`: the reply comes later. */
export const answerTypes = { pong: 1, message: 4, thinking: 5 } as const

/** Longest `content` of a message. */
export const maxContent = 2000

export const replyToSchema = z.object({ channel_id: z.string(), reply_to_token: z.string() })

/** One message, posted with the token of the interaction that it answers. */
export type Call = {
  readonly token: string
  readonly body: { readonly content: string; readonly allowed_mentions: { readonly parse: readonly string[] } }
}
