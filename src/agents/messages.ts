// Transcript messages: rows, ours or legacy ones, normalized into envelopes, created, and converted to and from what providers
// know. A line is judged by its type, never by its role.

import { type Envelope, type EnvelopeType, envelopeSchemaId, envelopeTypes } from '../contract/gateway-events.ts'
import { GatewayError } from '../lib/errors.ts'
import { isObjectRecord } from '../lib/index.ts'
import type { Fields } from '../lib/json-value.ts'

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
  if (!isObjectRecord(input)) throw invalidEnvelopeError('message must be an object')
  // It is frozen, and only this function can have made it.
  if (canonical.has(input)) return input as Envelope
  const envelope = isEnvelope(input) ? normalizeEnvelope(input) : rowToEnvelope(input)
  try {
    const made: Envelope = Object.freeze(JSON.parse(JSON.stringify(envelope)))
    canonical.add(made)
    return made
  } catch {
    throw invalidEnvelopeError('envelope must be JSON serializable')
  }
}

export function normalizeMessages(input: unknown): readonly Envelope[] {
  if (!Array.isArray(input)) throw invalidEnvelopeError('messages must be a list')
  return input.map((message) => normalizeMessage(message))
}

/** The type a row has by what it holds: its own word, its content, or its error. */
function inferEnvelopeType(content: unknown, metadata: Fields): EnvelopeType {
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

function normalizeEnvelope(input: Fields): Envelope {
  if (isPresent(input['schema']) && input['schema'] !== envelopeSchemaId) throw invalidEnvelopeError('foreign schema')
  if (isPresent(input['version']) && Number(input['version']) !== 1) throw invalidEnvelopeError('unsupported version')
  const { type } = input
  if (!isEnvelopeType(type)) throw invalidEnvelopeError('unsupported type')
  const payload = objectOrEmpty(input['payload'])
  const given = Object.keys(payload).length === 0 ? objectOrEmpty(input['data']) : payload
  return assembleEnvelope(input, type, given, objectOrEmpty(input['metadata']))
}

function rowToEnvelope(input: Fields): Envelope {
  const metadata = objectOrEmpty(input['metadata'])
  const type = inferEnvelopeType(input['content'], metadata)
  const lifted = (liftedKeys[type] ?? []).filter((key) => isPresent(metadata[key]))
  return assembleEnvelope(input, type, Object.fromEntries(lifted.map((key) => [key, metadata[key]])), metadata)
}

function assembleEnvelope(input: Fields, type: EnvelopeType, payload: Fields, metadata: Fields): Envelope {
  const role = input['role'] ?? defaultRoles[type]
  if (typeof role !== 'string' || role.trim() === '') throw invalidEnvelopeError('role must be a non-empty string')
  const content = input['content'] ?? ''
  if (!isEnvelopeContent(content)) throw invalidEnvelopeError('content must be a string or a list')
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
function isEnvelopeContent(value: unknown): value is Envelope['content'] {
  return typeof value === 'string' || (typeof value === 'object' && value !== null)
}

function objectOrEmpty(value: unknown): Fields {
  return isObjectRecord(value) ? value : {}
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null
}

function invalidEnvelopeError(reason: string): GatewayError {
  return new GatewayError('bad_request', `invalid_ai_message_envelope: ${reason}`)
}

type Content = Envelope['content']

export function textEnvelope(role: string, content: Content, metadata: Fields = {}): Envelope {
  return buildEnvelope(inferEnvelopeType(content, metadata), role, content, {}, metadata)
}

export type CallFacts = { readonly tool: string; readonly parameters: Fields; readonly turn: number }

export function toolCallEnvelope(content: string, call: CallFacts, metadata: Fields = {}): Envelope {
  const payload = { tool_name: call.tool, parameters: call.parameters, turn: call.turn }
  return buildEnvelope('tool_call', 'assistant', content, payload, metadata)
}

/** A result speaks in the user's place, as providers want it; readers go by its type. */
export function toolResultEnvelope(content: string, tool: string, payload: Fields, metadata: Fields = {}): Envelope {
  return buildEnvelope('tool_result', 'user', content, { ...payload, tool_name: tool }, metadata)
}

export function approvalRequiredEnvelope(content: string, payload: Fields, metadata: Fields = {}): Envelope {
  return buildEnvelope('approval_required', 'tool', content, payload, metadata)
}

export function inputRequiredEnvelope(content: string, payload: Fields, metadata: Fields = {}): Envelope {
  return buildEnvelope('input_required', 'tool', content, payload, metadata)
}

export function errorEnvelope(content: string, payload: Fields, metadata: Fields = {}): Envelope {
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

// The rows that providers know are a projection at the boundary: they are never stored.

export type ProviderMessage = {
  readonly role: string
  readonly content: Envelope['content']
  readonly metadata?: Fields
}

export function toProviderMessage(message: unknown): ProviderMessage {
  const { type, role, content, payload, metadata } = normalizeMessage(message)
  const isPlain = type === 'text' && Object.keys(payload).length === 0 && Object.keys(metadata).length === 0
  return isPlain ? { role, content } : { role, content, metadata: { ...payload, ...metadata, type } }
}

export function toProviderMessages(messages: readonly unknown[]): readonly ProviderMessage[] {
  return messages.map(toProviderMessage)
}

/** The way back: what the projection folded into metadata becomes type and payload again. */
export function fromProviderMessage(message: ProviderMessage): Envelope {
  return normalizeMessage(message)
}

// Neighbours of one role as one message, for providers that refuse two in a row.

export function coalesceSameRole(messages: readonly unknown[]): readonly Envelope[] {
  const joined: Envelope[] = []
  for (const message of normalizeMessages(messages)) {
    const last = joined.at(-1)
    if (last === undefined || last.role !== message.role) joined.push(message)
    else joined[joined.length - 1] = joinEnvelopes(last, message)
  }
  return joined
}

function joinEnvelopes(left: Envelope, right: Envelope): Envelope {
  const parts = [...splitJoinedEnvelope(left), ...splitJoinedEnvelope(right)]
  const texts = parts.map((part) => part.content).filter((content) => typeof content === 'string' && content !== '')
  return {
    schema: envelopeSchemaId,
    version: 1,
    type: 'multimodal_part',
    role: left.role,
    content: texts.join('\n\n'),
    payload: { parts },
    metadata: left.metadata,
  }
}

/** A message that was joined before gives its parts, so that none is nested in another. */
function splitJoinedEnvelope(message: Envelope): readonly Envelope[] {
  const parts = message.payload['parts']
  if (message.type !== 'multimodal_part' || !Array.isArray(parts)) return [message]
  return parts.every(isEnvelopePart) ? normalizeMessages(parts) : [message]
}

function isEnvelopePart(part: unknown): boolean {
  return typeof part === 'object' && part !== null && 'schema' in part
}

// Whether every tool call has its result and every result its call: providers refuse transcripts where one is missing.

export type Orphan = {
  readonly index: number
  readonly kind: 'orphan_tool_call' | 'orphan_tool_result'
  readonly type: 'tool_call' | 'tool_result'
  readonly tool_name: string
  readonly tool_call_id?: string
}

export type Pruned = {
  readonly messages: readonly Envelope[]
  readonly removed: readonly Orphan[]
  readonly events: readonly { readonly type: string; readonly metadata: Fields }[]
}

type Call = { readonly index: number; readonly name: string; readonly id: string | undefined }

export function findOrphanToolLines(messages: readonly Envelope[]): readonly Orphan[] {
  const open: Call[] = []
  const orphans: Orphan[] = []
  messages.forEach((message, index) => {
    const at = { index, name: String(message.payload['tool_name'] ?? ''), id: lineToolCallId(message) }
    if (message.type === 'tool_call') open.push(at)
    if (message.type !== 'tool_result') return
    // With an id only that call fits, and of two with one id the nearer: some models count anew in every run. Without an
    // id the oldest of the same name that has none either.
    const match =
      at.id === undefined
        ? open.findIndex((call) => !call.id && call.name === at.name)
        : open.findLastIndex((call) => call.id === at.id)
    if (match === -1) orphans.push(toOrphanToolLine('orphan_tool_result', 'tool_result', at))
    else open.splice(match, 1)
  })
  orphans.push(...open.map((call) => toOrphanToolLine('orphan_tool_call', 'tool_call', call)))
  return orphans.toSorted((a, b) => a.index - b.index)
}

export function removeOrphanToolLines(messages: readonly Envelope[]): Pruned {
  const removed = findOrphanToolLines(messages)
  const indices = new Set(removed.map((each) => each.index))
  const kept = messages.filter((_, index) => !indices.has(index))
  const counts = { total_messages: messages.length, orphan_count: removed.length }
  const event =
    removed.length === 0
      ? { type: 'tool_pair_validated', metadata: counts }
      : {
          type: 'tool_pair_pruned',
          metadata: { ...counts, retained_count: kept.length, removed_indices: [...indices], orphans: removed },
        }
  return { messages: kept, removed, events: [event] }
}

/**
 * Each call directly before its result. A paused run has other words between the two; a provider wants none. The call moves
 * to its result and not the other way round, so that a resumed run ends with what it waited for.
 */
export function moveCallsBesideResults(messages: readonly Envelope[]): readonly Envelope[] {
  const waiting = new Map<string, Envelope>()
  return messages.flatMap((message, index) => {
    const id = lineToolCallId(message)
    if (id === undefined) return [message]
    const next = messages[index + 1]
    const isFarFromResult =
      message.type === 'tool_call' && (next?.type !== 'tool_result' || lineToolCallId(next) !== id)
    if (isFarFromResult && hasToolResultAfter(messages, index, id)) {
      waiting.set(id, message)
      return []
    }
    const before = messages[index - 1]
    const isPaired = before?.type === 'tool_call' && lineToolCallId(before) === id
    const call = message.type === 'tool_result' && !isPaired ? waiting.get(id) : undefined
    if (call === undefined) return [message]
    waiting.delete(id)
    return [call, message]
  })
}

function hasToolResultAfter(messages: readonly Envelope[], from: number, id: string): boolean {
  return messages.slice(from + 1).some((line) => line.type === 'tool_result' && lineToolCallId(line) === id)
}

function toOrphanToolLine(kind: Orphan['kind'], type: Orphan['type'], { index, name, id }: Call): Orphan {
  return { index, kind, type, tool_name: name, ...(id === undefined ? {} : { tool_call_id: id }) }
}

function lineToolCallId(message: Envelope): string | undefined {
  const id = message.metadata['tool_call_id']
  return typeof id === 'string' && id !== '' ? id : undefined
}
