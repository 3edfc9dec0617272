// Gateway events that a host application can observe (`onEvent` of the configuration): messages, runs and client tools; and the
// envelope of a transcript line they carry.
import * as z from 'zod'
import { type Fields, type Json, type JsonObject, jsonSchema } from '../lib/json-value.ts'

/** Where it happened. */
type Place = {
  readonly connection: string
  readonly conversationId: string
  readonly agent: string
  readonly messageIds: readonly string[]
}

type RunPlace = Place & { readonly turnId: string; readonly runId: string; readonly sessionId: string }

/** The channel hooks of the original. */
export type ChannelEvent = Place & {
  readonly type: /** The message was judged and left without an answer: not admitted, withdrawn, from ourselves. */
    | 'channel.skipped'
    | 'channel.processing_started'
    /** Always follows a start, also when the agent failed. */
    | 'channel.processing_ended'
    /** The turn's end is stored; its answer is on the way. */
    | 'channel.completed'
  readonly turnId?: string
  readonly runId?: string
  readonly sessionId?: string
  readonly reason?: string
}

/** The lifecycle of a run: `loop.` and the name the loop gives it. Parameters of tools are redacted. */
export type LoopEvent = RunPlace & { readonly type: `loop.${string}`; readonly payload: Fields }

/** What becomes of a tool that a client runs: `runtime_tool.pending` and so on. */
export type RuntimeToolEvent = RunPlace & { readonly type: `runtime_tool.${string}`; readonly payload: Fields }

export type GatewayEvent = ChannelEvent | LoopEvent | RuntimeToolEvent

/** An observer. What it throws is logged and never matters. */
export type Observer = (event: GatewayEvent) => void

// The stored form is `agents-api.message` version 1. Field names are those of agents-api.

export const envelopeSchemaId = 'agents-api.message'
export const envelopeVersion = 1

export const envelopeTypes = [
  'text',
  'tool_call',
  'tool_result',
  'input_required',
  'approval_required',
  'final_result',
  'error',
  'delta',
  'multimodal_part',
] as const

export type EnvelopeType = (typeof envelopeTypes)[number]

/** One line of a transcript, append-only. */
export type Envelope = {
  readonly schema: typeof envelopeSchemaId
  readonly version: typeof envelopeVersion
  readonly type: EnvelopeType
  readonly role: string
  /** Text, or provider-neutral content blocks. */
  readonly content: string | readonly Json[] | JsonObject
  /** What it carries beside its content: JSON, by construction. */
  readonly payload: Fields
  readonly metadata: Fields
  readonly id?: string
  readonly created_at?: string
  readonly updated_at?: string
}

/** The same for programs that read a transcript without this code: `docs/spec/envelope.v1.schema.json` is made from it. */
export const envelopeSchema: z.ZodType<Envelope> = z.object({
  schema: z.literal(envelopeSchemaId),
  version: z.literal(envelopeVersion),
  type: z.enum(envelopeTypes),
  role: z.string().min(1),
  content: z.union([z.string(), z.array(jsonSchema), z.record(z.string(), jsonSchema)]),
  payload: z.record(z.string(), z.unknown()),
  metadata: z.record(z.string(), z.unknown()),
  id: z.exactOptional(z.string()),
  created_at: z.exactOptional(z.string()),
  updated_at: z.exactOptional(z.string()),
})
