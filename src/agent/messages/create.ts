// Constructors of transcript lines.
import { type Envelope, type EnvelopeType, envelopeSchemaId, type Fields } from '../../contract/index.ts'
import { inferType } from './normalize.ts'

type Content = Envelope['content']

export function textLine(role: string, content: Content, metadata: Fields = {}): Envelope {
  return buildEnvelope(inferType(content, metadata), role, content, {}, metadata)
}

export type CallFacts = { readonly tool: string; readonly parameters: Fields; readonly turn: number }

export function toolCallLine(content: string, call: CallFacts, metadata: Fields = {}): Envelope {
  const payload = { tool_name: call.tool, parameters: call.parameters, turn: call.turn }
  return buildEnvelope('tool_call', 'assistant', content, payload, metadata)
}

/** A result speaks in the user's place, as providers want it; readers go by its type. */
export function toolResultLine(content: string, tool: string, payload: Fields, metadata: Fields = {}): Envelope {
  return buildEnvelope('tool_result', 'user', content, { ...payload, tool_name: tool }, metadata)
}

export function approvalLine(content: string, payload: Fields, metadata: Fields = {}): Envelope {
  return buildEnvelope('approval_required', 'tool', content, payload, metadata)
}

export function inputRequiredLine(content: string, payload: Fields, metadata: Fields = {}): Envelope {
  return buildEnvelope('input_required', 'tool', content, payload, metadata)
}

export function errorLine(content: string, payload: Fields, metadata: Fields = {}): Envelope {
  return buildEnvelope('error', 'assistant', content, payload, metadata)
}

function buildEnvelope(
  type: EnvelopeType,
  role: string,
  content: Content,
  payload: Fields,
  metadata: Fields,
): Envelope {
  return { schema: envelopeSchemaId, version: 1, type, role, content, payload, metadata }
}
