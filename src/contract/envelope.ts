// The stored form of a transcript line: `agents-api.message` version 1. Names are the original's, on purpose.

export const envelopeSchemaId = 'agents-api.message'
export const envelopeVersion = 1

export type EnvelopeType =
  | 'text'
  | 'tool_call'
  | 'tool_result'
  | 'input_required'
  | 'approval_required'
  | 'final_result'
  | 'error'
  | 'delta'
  | 'multimodal_part'

/** One line of a transcript, append-only. */
export type Envelope = {
  readonly schema: typeof envelopeSchemaId
  readonly version: typeof envelopeVersion
  readonly type: EnvelopeType
  readonly role: string
  readonly content: string
  readonly payload: Record<string, unknown>
  readonly metadata: Record<string, unknown>
  readonly id?: string
  readonly created_at?: string
}
