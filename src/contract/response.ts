// NormalizedResponse: the one shape every agent writes back, and its stream.
import * as z from 'zod'
import { jsonSchema } from '../lib/json-value.ts'
import { partSchema } from './parts.ts'

/**
 * Set by the gateway where it answers itself, and by no other code: what was asked of it, and what came of a decision. An adapter
 * goes by this and not by the words.
 */
const controlSchema = z.object({
  /** `access_challenge`: the sender is told why they have no access. Else the name of the command. */
  about: z.string(),
  /** `accepted` and `rejected`: decided just now. `unclear`: several things wait. The others: why nothing was decided. */
  decision: z
    .enum(['accepted', 'rejected', 'already_resolved', 'expired', 'changed', 'not_allowed', 'not_found', 'unclear'])
    .optional(),
  /** What was decided: the run that waited for it goes on under this signal. */
  action_id: z.string().optional(),
})

/** For the program that sent the message, set by the gateway: what became of the tools it offers, and the state it shares. */
const clientSchema = z.object({
  tools: z
    .object({
      left_out: z.array(z.object({ name: z.string(), reason: z.string(), remedy: z.string() })),
      renamed: z.array(z.object({ name: z.string(), as: z.string() })),
    })
    .optional(),
  state: jsonSchema.optional(),
})

const errorSchema = z.object({ code: z.string(), message: z.string(), retryable: z.boolean() })

export const normalizedResponseSchema = z.object({
  thread_id: z.string(),
  in_reply_to: z.string(),
  agent: z.string(),
  parts: z.array(partSchema),
  mentions: z.array(z.string()).optional(),
  status: z.enum(['completed', 'input_required', 'refused', 'failed', 'cancelled']),
  error: errorSchema.optional(),
  /** Merely said: nothing that a caller would come back to. Channels that know tasks answer without one. */
  direct: z.literal(true).optional(),
  usage: z.object({ input_tokens: z.number().optional(), output_tokens: z.number().optional() }).optional(),
  trace: z.array(z.record(z.string(), z.unknown())).optional(),
  control: controlSchema.optional(),
  client: clientSchema.optional(),
  /** Set by the gateway: what the run waits for, where the reply asks in words of its own and has no part that says so. */
  asks: z.array(z.object({ action_id: z.string(), message: z.string(), expires_at: z.string().nullable() })).optional(),
})

/** What of it an agent writes. */
export const agentResponseSchema = normalizedResponseSchema.omit({ control: true, client: true, asks: true })

export type ClientFacts = z.infer<typeof clientSchema>
export type ControlFacts = z.infer<typeof controlSchema>

/** What an agent answers; "reply" in this code base means this. */
export type NormalizedResponse = z.infer<typeof normalizedResponseSchema>
