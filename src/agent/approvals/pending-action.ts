// An action that waits for a person: what it would do, for whom, until when, and what became of it.
import {
  type Envelope,
  type Fields,
  GatewayError,
  isGatewayError,
  type Json,
  type JsonObject,
  readWorkspaceScope,
  type WorkspaceScope,
} from '../../contract/index.ts'
import { fieldOf, isFields, isJson, trimmed } from '../fields.ts'
import { approvalLine } from '../messages/create.ts'
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
  if (!isFields(input)) throw invalid('action must be a map')
  const action = {
    action_id: requiredText(input, 'action_id'),
    kind: requiredText(input, 'kind'),
    summary: requiredText(input, 'summary'),
    preview: requiredJson(input, 'preview'),
    apply_input: requiredJson(input, 'apply_input'),
    created_at: requiredText(input, 'created_at'),
    workspace: workspaceOf(input),
    agent: optionalText(input, 'agent'),
    creator: optionalText(input, 'creator'),
    expires_at: optionalText(input, 'expires_at'),
    status: statusOf(input),
    resolved_at: optionalText(input, 'resolved_at'),
    resolver: optionalText(input, 'resolver'),
    resolution_result: jsonOr(input, 'resolution_result', null),
    resolution_error: optionalText(input, 'resolution_error'),
    resolution_metadata: mapOf(input, 'resolution_metadata'),
    metadata: mapOf(input, 'metadata'),
  }
  requireResolution(action)
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
  const instruction = trimmed(extras.instruction)
  const payload: Fields = {
    ...action,
    apply_input: extras.shownInput ?? shown(action.apply_input),
    ...(instruction === undefined ? {} : { instruction }),
    ...(extras.grants === undefined ? {} : { grants: extras.grants.filter(isFields) }),
  }
  return approvalLine(action.summary, payload)
}

function shown(input: Json): unknown {
  return redactParameters({ input })['input']
}

/** A decision has a time and a decider; an expiry has a time only. */
function requireResolution({ status, resolved_at, resolver }: PendingAction): void {
  if (status === 'pending') return
  if (resolved_at === null) throw invalid(`resolved_at is required when the status is ${status}`)
  if (status !== 'expired' && resolver === null) throw invalid(`resolver is required when the status is ${status}`)
}

function requiredText(input: Fields, key: string): string {
  const text = trimmed(fieldOf(input, key))
  if (text === undefined) throw invalid(`${key} must be a non-empty string`)
  return text
}

function optionalText(input: Fields, key: string): string | null {
  const value = fieldOf(input, key) ?? null
  if (value === null) return null
  return requiredText(input, key)
}

function requiredJson(input: Fields, key: string): Json {
  if (!Object.hasOwn(input, key) || input[key] === undefined) throw invalid(`${key} is required`)
  return jsonOr(input, key, null)
}

function jsonOr(input: Fields, key: string, otherwise: Json): Json {
  const value = fieldOf(input, key)
  if (value === undefined) return otherwise
  if (!isJson(value)) throw invalid(`${key} must be JSON serializable`)
  return value
}

function mapOf(input: Fields, key: string): JsonObject {
  const value = fieldOf(input, key)
  // An empty list is how some writers spell an empty map.
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return {}
  if (!isFields(value)) throw invalid(`${key} must be a map`)
  if (!isJson(value)) throw invalid(`${key} must be JSON serializable`)
  return value
}

function statusOf(input: Fields): PendingActionStatus {
  const given = fieldOf(input, 'status') ?? 'pending'
  const status = pendingActionStatuses.find((known) => known === given)
  if (status === undefined) throw invalid(`status must be one of ${pendingActionStatuses.join(', ')}`)
  return status
}

function workspaceOf(input: Fields): WorkspaceScope | null {
  const value = fieldOf(input, 'workspace') ?? null
  if (value === null) return null
  try {
    return readWorkspaceScope(value)
  } catch (error) {
    throw isGatewayError(error) ? invalid(`workspace ${error.message}`) : error
  }
}

function invalid(reason: string): GatewayError {
  return new GatewayError('bad_request', `invalid_ai_pending_action: ${reason}`)
}
