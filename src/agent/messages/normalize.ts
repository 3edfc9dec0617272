// Any message row, ours or a legacy one, as a canonical envelope. A line is judged by its type, never by its role.
import {
  type Envelope,
  type EnvelopeType,
  envelopeSchemaId,
  envelopeTypes,
  type Fields,
  GatewayError,
} from '../../contract/index.ts'

/** Roles a type has when the row names none. */
const defaultRoles: Readonly<Record<EnvelopeType, string>> = {
  text: 'assistant',
  tool_call: 'assistant',
  tool_result: 'tool',
  input_required: 'tool',
  approval_required: 'tool',
  final_result: 'assistant',
  error: 'assistant',
  delta: 'assistant',
  multimodal_part: 'assistant',
}

/** What a plain row keeps in its metadata and an envelope in its payload. */
const liftedKeys: Readonly<Partial<Record<EnvelopeType, readonly string[]>>> = {
  tool_call: ['tool_name', 'parameters', 'turn'],
  tool_result: ['tool_name', 'success', 'turn', 'tool_data', 'media', 'error'],
}

/** What came out of here once: a run passes its lines through again and again, and a long history is copied each time. */
const canonical = new WeakSet<object>()

export function normalizeMessage(input: unknown): Envelope {
  if (!isObjectRecord(input)) throw invalidEnvelope('message must be an object')
  // It is frozen, and only this function can have made it.
  if (canonical.has(input)) return input as Envelope
  const envelope = isEnvelope(input) ? fromEnvelope(input) : fromPlainRow(input)
  try {
    const made: Envelope = Object.freeze(JSON.parse(JSON.stringify(envelope)))
    canonical.add(made)
    return made
  } catch {
    throw invalidEnvelope('envelope must be JSON serializable')
  }
}

export function normalizeMessages(input: unknown): readonly Envelope[] {
  if (!Array.isArray(input)) throw invalidEnvelope('messages must be a list')
  return input.map((message) => normalizeMessage(message))
}

/** The type a row has by what it holds: its own word, its content, or its error. */
export function inferType(content: unknown, metadata: Fields): EnvelopeType {
  const named = metadata['type']
  if (isEnvelopeType(named)) return named
  if (named === 'multimodal' || (typeof content === 'object' && content !== null)) return 'multimodal_part'
  return metadata['error'] === undefined || metadata['error'] === null ? 'text' : 'error'
}

function isEnvelopeType(value: unknown): value is EnvelopeType {
  return (envelopeTypes as readonly unknown[]).includes(value)
}

/** A row that names our schema is an envelope, also when it lost its version: its payload must not be lost with it. */
function isEnvelope(input: Fields): boolean {
  if (input['schema'] === envelopeSchemaId) return true
  const isMarked = isPresent(input['version']) && isPresent(input['type'])
  return isMarked && (isPresent(input['schema']) || 'payload' in input || 'data' in input)
}

function fromEnvelope(input: Fields): Envelope {
  if (isPresent(input['schema']) && input['schema'] !== envelopeSchemaId) throw invalidEnvelope('foreign schema')
  if (isPresent(input['version']) && Number(input['version']) !== 1) throw invalidEnvelope('unsupported version')
  const { type } = input
  if (!isEnvelopeType(type)) throw invalidEnvelope('unsupported type')
  const payload = objectOrEmpty(input['payload'])
  const given = Object.keys(payload).length === 0 ? objectOrEmpty(input['data']) : payload
  return assembleEnvelope(input, type, given, objectOrEmpty(input['metadata']))
}

function fromPlainRow(input: Fields): Envelope {
  const metadata = objectOrEmpty(input['metadata'])
  const type = inferType(input['content'], metadata)
  const lifted = (liftedKeys[type] ?? []).filter((key) => isPresent(metadata[key]))
  return assembleEnvelope(input, type, Object.fromEntries(lifted.map((key) => [key, metadata[key]])), metadata)
}

function assembleEnvelope(input: Fields, type: EnvelopeType, payload: Fields, metadata: Fields): Envelope {
  const role = input['role'] ?? defaultRoles[type]
  if (typeof role !== 'string' || role.trim() === '') throw invalidEnvelope('role must be a non-empty string')
  const content = input['content'] ?? ''
  if (!isContent(content)) throw invalidEnvelope('content must be a string or a list')
  const envelope = { schema: envelopeSchemaId, version: 1, type, role, content, payload, metadata } as const
  return {
    ...envelope,
    ...optionalTextField(input, 'id'),
    ...optionalTextField(input, 'created_at'),
    ...optionalTextField(input, 'updated_at'),
  }
}

function optionalTextField(input: Fields, key: 'id' | 'created_at' | 'updated_at'): Partial<Envelope> {
  const value = input[key]
  return typeof value === 'string' && value !== '' ? { [key]: value } : {}
}

/** Blocks are JSON like everything here; normalizing checks it at its end. */
function isContent(value: unknown): value is Envelope['content'] {
  return typeof value === 'string' || (typeof value === 'object' && value !== null)
}

function objectOrEmpty(value: unknown): Fields {
  return isObjectRecord(value) ? value : {}
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null
}

function isObjectRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function invalidEnvelope(reason: string): GatewayError {
  return new GatewayError('bad_request', `invalid_ai_message_envelope: ${reason}`)
}
