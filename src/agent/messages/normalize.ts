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
  if (!isObject(input)) throw invalid('message must be an object')
  // It is frozen, and only this function can have made it.
  if (canonical.has(input)) return input as Envelope
  const envelope = isEnvelope(input) ? fromEnvelope(input) : fromPlainRow(input)
  try {
    const made: Envelope = Object.freeze(JSON.parse(JSON.stringify(envelope)))
    canonical.add(made)
    return made
  } catch {
    throw invalid('envelope must be JSON serializable')
  }
}

export function normalizeMessages(input: unknown): readonly Envelope[] {
  if (!Array.isArray(input)) throw invalid('messages must be a list')
  return input.map((message) => normalizeMessage(message))
}

/** The type a row has by what it holds: its own word, its content, or its error. */
export function inferType(content: unknown, metadata: Fields): EnvelopeType {
  const named = metadata['type']
  if (isType(named)) return named
  if (named === 'multimodal' || (typeof content === 'object' && content !== null)) return 'multimodal_part'
  return metadata['error'] === undefined || metadata['error'] === null ? 'text' : 'error'
}

function isType(value: unknown): value is EnvelopeType {
  return (envelopeTypes as readonly unknown[]).includes(value)
}

/** A row that names our schema is an envelope, also when it lost its version: its payload must not be lost with it. */
function isEnvelope(input: Fields): boolean {
  if (input['schema'] === envelopeSchemaId) return true
  const isMarked = isSet(input['version']) && isSet(input['type'])
  return isMarked && (isSet(input['schema']) || 'payload' in input || 'data' in input)
}

function fromEnvelope(input: Fields): Envelope {
  if (isSet(input['schema']) && input['schema'] !== envelopeSchemaId) throw invalid('foreign schema')
  if (isSet(input['version']) && Number(input['version']) !== 1) throw invalid('unsupported version')
  const { type } = input
  if (!isType(type)) throw invalid('unsupported type')
  const payload = mapOf(input['payload'])
  const given = Object.keys(payload).length === 0 ? mapOf(input['data']) : payload
  return build(input, type, given, mapOf(input['metadata']))
}

function fromPlainRow(input: Fields): Envelope {
  const metadata = mapOf(input['metadata'])
  const type = inferType(input['content'], metadata)
  const lifted = (liftedKeys[type] ?? []).filter((key) => isSet(metadata[key]))
  return build(input, type, Object.fromEntries(lifted.map((key) => [key, metadata[key]])), metadata)
}

function build(input: Fields, type: EnvelopeType, payload: Fields, metadata: Fields): Envelope {
  const role = input['role'] ?? defaultRoles[type]
  if (typeof role !== 'string' || role.trim() === '') throw invalid('role must be a non-empty string')
  const content = input['content'] ?? ''
  if (!isContent(content)) throw invalid('content must be a string or a list')
  const envelope = { schema: envelopeSchemaId, version: 1, type, role, content, payload, metadata } as const
  return { ...envelope, ...optional(input, 'id'), ...optional(input, 'created_at'), ...optional(input, 'updated_at') }
}

function optional(input: Fields, key: 'id' | 'created_at' | 'updated_at'): Partial<Envelope> {
  const value = input[key]
  return typeof value === 'string' && value !== '' ? { [key]: value } : {}
}

/** Blocks are JSON like everything here; normalizing checks it at its end. */
function isContent(value: unknown): value is Envelope['content'] {
  return typeof value === 'string' || (typeof value === 'object' && value !== null)
}

function mapOf(value: unknown): Fields {
  return isObject(value) ? value : {}
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function invalid(reason: string): GatewayError {
  return new GatewayError('bad_request', `invalid_ai_message_envelope: ${reason}`)
}
