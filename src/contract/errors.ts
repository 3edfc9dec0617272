// GatewayError: the one exception, for promises that broke. Expected outcomes are values (outcomes.ts).
import type { JsonObject } from './json.ts'

export type ErrorCode =
  | 'config_invalid'
  | 'data_dir_locked'
  | 'embedded_postgres_failed'
  | 'schema_too_new'
  | 'schema_missing'
  | 'backup_damaged'
  | 'restore_refused'
  | 'storage_unavailable'
  | 'storage_overloaded'
  | 'storage_full'
  | 'storage_refused_row'
  | 'arrival_postponed'
  | 'lease_lost'
  | 'stopping'
  | 'tool_outcome_unknown'
  | 'run_cancelled'
  | 'step_failed'
  | 'provider_unavailable'
  | 'agent_failed'
  | 'agent_unknown'
  | 'reply_invalid'
  | 'reply_too_long'
  | 'state_invalid'
  | 'state_too_large'
  | 'sibling_refused'
  | 'turn_deadline'
  | 'fetch_timeout'
  | 'render_failed'
  | 'not_found'
  | 'unauthorized'
  | 'forbidden'
  | 'bad_request'
  | 'unsupported_media_type'
  | 'conflict'
  | 'content_erased'
  | 'consent_missing'
  | 'too_many_watchers'
  | 'replay_stopped'

/** `message` says what failed and what to do, in one line, without bodies, tokens or addresses. */
export class GatewayError extends Error {
  readonly code: ErrorCode
  readonly retryable: boolean
  readonly details: JsonObject

  constructor(
    code: ErrorCode,
    message: string,
    options: { readonly retryable?: boolean; readonly details?: JsonObject; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'GatewayError'
    this.code = code
    this.retryable = options.retryable ?? false
    this.details = options.details ?? {}
  }
}

export function isGatewayError(error: unknown, code?: ErrorCode): error is GatewayError {
  // By shape and not by class: a configuration file may bring a second copy of this module.
  const isOne = error instanceof Error && error.name === 'GatewayError' && 'code' in error
  return isOne && (code === undefined || error.code === code)
}
