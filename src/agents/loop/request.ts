// The conversation request: messages, tools, for whom a run works, and how far it may go.

import type { Envelope } from '../../contract/gateway-events.ts'
import { readWorkspaceScope, type WorkspaceScope } from '../../contract/workspace-scope.ts'
import { GatewayError } from '../../lib/errors.ts'
import { asFields, isEmptyArray, isPlainObject, textList, trimmedText } from '../../lib/index.ts'
import type { Fields, JsonObject } from '../../lib/json-value.ts'
import { normalizeMessages } from '../messages.ts'
import { readDeclaration } from '../tools/declaration.ts'
import type { ToolDeclaration } from '../tools/tool.ts'

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
    runtime_context: readRequestJsonMap('runtime_context', {
      ...wish.runtime_context,
      ...pickGivenOverrides(overrides),
    }),
    metadata: readRequestJsonMap('metadata', wish.metadata),
    max_turns: Math.min(maxTurns, overrides.max_iterations ?? maxTurns),
    single_turn: wish.single_turn ?? false,
    workspace: wish.workspace === undefined || wish.workspace === null ? null : readWorkspaceScope(wish.workspace),
    runtime_overrides: overrides,
  }
}

function readRequestTool(entry: unknown, index: number): ToolDeclaration {
  const reading = readDeclaration(entry, 'request')
  if (reading.ok) return reading.declaration
  throw invalidConversationRequestError(`tools[${index}] ${reading.rejected.reason}`)
}

function readRequestJsonMap(key: string, value: Fields = {}): JsonObject {
  try {
    const plain: unknown = JSON.parse(JSON.stringify(value))
    // A map that came out of JSON is one of JSON.
    if (isPlainObject(plain)) return plain as JsonObject
  } catch {
    // Told below: what JSON cannot write is of one kind for the caller.
  }
  throw invalidConversationRequestError(`${key} must be JSON serializable`)
}

function invalidConversationRequestError(reason: string): GatewayError {
  return new GatewayError('bad_request', `invalid_agent_conversation_request: ${reason}`)
}

// Overrides of one request over what the agent says. Anything unreadable counts as not said.

type RuntimeOverrides = {
  readonly system_prompt: string | null
  readonly provider_id: string | null
  readonly model_id: string | null
  readonly temperature: number | null
  readonly max_iterations: number | null
  readonly tier_1_tools: readonly string[]
  readonly greeting: string | null
}

function readRuntimeOverrides(input: unknown): RuntimeOverrides {
  const given = asFields(input)
  const { temperature, max_iterations: iterations } = given
  return {
    system_prompt: trimmedText(given['system_prompt']) ?? null,
    provider_id: trimmedText(given['provider_id']) ?? null,
    model_id: trimmedText(given['model_id']) ?? null,
    temperature: typeof temperature === 'number' && Number.isFinite(temperature) ? temperature : null,
    max_iterations: Number.isInteger(iterations) && Number(iterations) > 0 ? Number(iterations) : null,
    tier_1_tools: [...new Set(textList(given['tier_1_tools']))],
    greeting: trimmedText(given['greeting']) ?? null,
  }
}

/** What was said, under its own names. */
function pickGivenOverrides(overrides: RuntimeOverrides): Fields {
  const said = Object.entries(overrides).filter(([, value]) => value !== null && !isEmptyArray(value))
  return Object.fromEntries(said)
}
