// A pending action, which waits for a person's decision: what it would do, for whom, until when, and what became of it.

import type { Envelope } from '../../contract/gateway-events.ts'
import { readWorkspaceScope, type WorkspaceScope } from '../../contract/workspace-scope.ts'
import { GatewayError, isGatewayError } from '../../lib/errors.ts'
import { isJsonValue, isPlainObject, ownField, sha256OfJson, trimmedText } from '../../lib/index.ts'
import type { Fields, Json, JsonObject } from '../../lib/json-value.ts'
import { approvalRequiredEnvelope } from '../messages.ts'
import { redactParameters } from '../tools/redact.ts'

export const pendingActionStatuses = ['pending', 'accepted', 'rejected', 'expired', 'deleted'] as const

export type PendingActionStatus = (typeof pendingActionStatuses)[number]

export type PendingAction = {
  readonly action_id: string
  readonly kind: string
  readonly summary: string
  /** What a person is shown to decide about. */
  readonly preview: Json
  /** What runs when they accept: raw, for the executor only. */
  readonly apply_input: Json
  readonly created_at: string
  readonly workspace: WorkspaceScope | null
  readonly agent: string | null
  readonly creator: string | null
  readonly expires_at: string | null
  readonly status: PendingActionStatus
  readonly resolved_at: string | null
  readonly resolver: string | null
  readonly resolution_result: Json
  readonly resolution_error: string | null
  readonly resolution_metadata: JsonObject
  readonly metadata: JsonObject
}

/** Any map as a whole pending action; a field that does not fit is named. */
export function readPendingAction(input: unknown): PendingAction {
  if (!isPlainObject(input)) throw invalidPendingActionError('action must be a map')
  const action = {
    action_id: requireActionText(input, 'action_id'),
    kind: requireActionText(input, 'kind'),
    summary: requireActionText(input, 'summary'),
    preview: readRequiredJson(input, 'preview'),
    apply_input: readRequiredJson(input, 'apply_input'),
    created_at: requireActionText(input, 'created_at'),
    workspace: readWorkspace(input),
    agent: readOptionalActionText(input, 'agent'),
    creator: readOptionalActionText(input, 'creator'),
    expires_at: readOptionalActionText(input, 'expires_at'),
    status: readActionStatus(input),
    resolved_at: readOptionalActionText(input, 'resolved_at'),
    resolver: readOptionalActionText(input, 'resolver'),
    resolution_result: readJsonField(input, 'resolution_result', null),
    resolution_error: readOptionalActionText(input, 'resolution_error'),
    resolution_metadata: readActionObjectField(input, 'resolution_metadata'),
    metadata: readActionObjectField(input, 'metadata'),
  }
  requireResolverAndResolvedAt(action)
  return action
}

export type EnvelopeExtras = {
  /** What the person should do, for a channel to show. */
  readonly instruction?: string
  readonly grants?: readonly unknown[]
  /** What of the input others may see. Absent: the input with its secret-looking values hidden. */
  readonly shownInput?: Json
}

/**
 * The transcript line that asks for the approval. It holds the whole action but not the raw input: transcripts are read by
 * models, people and exports, and only the executor needs the values.
 */
export function toApprovalEnvelope(action: PendingAction, extras: EnvelopeExtras = {}): Envelope {
  const instruction = trimmedText(extras.instruction)
  const payload: Fields = {
    ...action,
    apply_input: extras.shownInput ?? redactInput(action.apply_input),
    ...(instruction === undefined ? {} : { instruction }),
    ...(extras.grants === undefined ? {} : { grants: extras.grants.filter(isPlainObject) }),
  }
  return approvalRequiredEnvelope(action.summary, payload)
}

function redactInput(input: Json): unknown {
  return redactParameters({ input })['input']
}

/** A decision has a time and a decider; an expiry has a time only. */
function requireResolverAndResolvedAt({ status, resolved_at, resolver }: PendingAction): void {
  if (status === 'pending') return
  if (resolved_at === null) throw invalidPendingActionError(`resolved_at is required when the status is ${status}`)
  if (status !== 'expired' && resolver === null)
    throw invalidPendingActionError(`resolver is required when the status is ${status}`)
}

function requireActionText(input: Fields, key: string): string {
  const text = trimmedText(ownField(input, key))
  if (text === undefined) throw invalidPendingActionError(`${key} must be a non-empty string`)
  return text
}

function readOptionalActionText(input: Fields, key: string): string | null {
  const value = ownField(input, key) ?? null
  if (value === null) return null
  return requireActionText(input, key)
}

function readRequiredJson(input: Fields, key: string): Json {
  if (!Object.hasOwn(input, key) || input[key] === undefined) throw invalidPendingActionError(`${key} is required`)
  return readJsonField(input, key, null)
}

function readJsonField(input: Fields, key: string, otherwise: Json): Json {
  const value = ownField(input, key)
  if (value === undefined) return otherwise
  if (!isJsonValue(value)) throw invalidPendingActionError(`${key} must be JSON serializable`)
  return value
}

function readActionObjectField(input: Fields, key: string): JsonObject {
  const value = ownField(input, key)
  // An empty list is how some writers spell an empty map.
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return {}
  if (!isPlainObject(value)) throw invalidPendingActionError(`${key} must be a map`)
  if (!isJsonValue(value)) throw invalidPendingActionError(`${key} must be JSON serializable`)
  return value
}

function readActionStatus(input: Fields): PendingActionStatus {
  const given = ownField(input, 'status') ?? 'pending'
  const status = pendingActionStatuses.find((known) => known === given)
  if (status === undefined) throw invalidPendingActionError(`status must be one of ${pendingActionStatuses.join(', ')}`)
  return status
}

function readWorkspace(input: Fields): WorkspaceScope | null {
  const value = ownField(input, 'workspace') ?? null
  if (value === null) return null
  try {
    return readWorkspaceScope(value)
  } catch (error) {
    throw isGatewayError(error) ? invalidPendingActionError(`workspace ${error.message}`) : error
  }
}

function invalidPendingActionError(reason: string): GatewayError {
  return new GatewayError('bad_request', `invalid_ai_pending_action: ${reason}`)
}

// A decision is bound to the action, whose it is and where it was asked. Anything else is another action.

export type HashedAction = {
  readonly action_id: string
  readonly tool_name: string
  readonly apply_input: Json
  readonly agent: string
  readonly conversation: string
  readonly run: string
}

export function actionHash({ action_id, tool_name, apply_input, agent, conversation, run }: HashedAction) {
  return sha256OfJson({ action_id, tool_name, apply_input, agent, conversation, run })
}

// A decision is about one pending action. Nothing is remembered for the next one.

export type ApprovalDecision = 'accepted' | 'rejected'

export function readDecision(value: unknown): ApprovalDecision {
  if (value === 'accepted' || value === 'rejected') return value
  throw new GatewayError('bad_request', 'agents_pending_action_invalid_decision: decision must be accepted or rejected')
}
