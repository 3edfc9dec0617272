// The stored form of a transcript line: `agents-api.message` version 1. Field names are those of agents-api.
import type { Json, JsonObject } from './json.ts'

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

/** What a line carries beside its content: JSON, by construction. */
export type Fields = Readonly<Record<string, unknown>>

/** One line of a transcript, append-only. */
export type Envelope = {
  readonly schema: typeof envelopeSchemaId
  readonly version: typeof envelopeVersion
  readonly type: EnvelopeType
  readonly role: string
  /** Text, or provider-neutral content blocks. */
  readonly content: string | readonly Json[] | JsonObject
  readonly payload: Fields
  readonly metadata: Fields
  readonly id?: string
  readonly created_at?: string
  readonly updated_at?: string
}
