// What a run is asked to do: messages, tools, for whom, and how far it may go.
import {
  type Envelope,
  type Fields,
  GatewayError,
  type JsonObject,
  readWorkspaceScope,
  type WorkspaceScope,
} from '../../contract/index.ts'
import { isPlainObject } from '../fields.ts'
import { normalizeMessages } from '../messages/normalize.ts'
import { readDeclaration } from '../tools/declaration.ts'
import type { ToolDeclaration } from '../tools/tool.ts'
import { type RuntimeOverrides, readRuntimeOverrides, saidOverrides } from './runtime-overrides.ts'

export type ConversationRequest = {
  readonly messages: readonly Envelope[]
  readonly tools: readonly ToolDeclaration[]
  readonly principal: Fields | null
  /** What bindings and policies read; overrides stand in it under their own names. */
  readonly runtime_context: JsonObject
  readonly metadata: JsonObject
  readonly max_turns: number
  readonly single_turn: boolean
  readonly workspace: WorkspaceScope | null
  readonly runtime_overrides: RuntimeOverrides
}

export type RequestWish = {
  readonly messages: readonly unknown[]
  readonly tools?: readonly unknown[]
  readonly principal?: Fields | null
  readonly runtime_context?: Fields
  readonly metadata?: Fields
  readonly max_turns?: number
  readonly single_turn?: boolean
  readonly workspace?: unknown
  readonly runtime_overrides?: unknown
}

/** Turns of a run whose request names no limit. */
const defaultMaxTurns = 10

export function conversationRequest(wish: RequestWish): ConversationRequest {
  const overrides = readRuntimeOverrides(wish.runtime_overrides)
  const maxTurns = Math.max(1, Math.trunc(wish.max_turns ?? defaultMaxTurns))
  return {
    messages: normalizeMessages(wish.messages),
    tools: (wish.tools ?? []).map(readRequestTool),
    principal: wish.principal ?? null,
    runtime_context: readRequestMap('runtime_context', { ...wish.runtime_context, ...saidOverrides(overrides) }),
    metadata: readRequestMap('metadata', wish.metadata),
    max_turns: Math.min(maxTurns, overrides.max_iterations ?? maxTurns),
    single_turn: wish.single_turn ?? false,
    workspace: wish.workspace === undefined || wish.workspace === null ? null : readWorkspaceScope(wish.workspace),
    runtime_overrides: overrides,
  }
}

function readRequestTool(entry: unknown, index: number): ToolDeclaration {
  const reading = readDeclaration(entry, 'request')
  if (reading.ok) return reading.declaration
  throw invalidConversationRequest(`tools[${index}] ${reading.rejected.reason}`)
}

function readRequestMap(key: string, value: Fields = {}): JsonObject {
  try {
    const plain: unknown = JSON.parse(JSON.stringify(value))
    // A map that came out of JSON is one of JSON.
    if (isPlainObject(plain)) return plain as JsonObject
  } catch {
    // Told below: what JSON cannot write is of one kind for the caller.
  }
  throw invalidConversationRequest(`${key} must be JSON serializable`)
}

function invalidConversationRequest(reason: string): GatewayError {
  return new GatewayError('bad_request', `invalid_agent_conversation_request: ${reason}`)
}
