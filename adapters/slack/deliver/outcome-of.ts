// Hop 8: what Slack answered to what it means for a delivery (slack 2.18).
import type { DeliveryOutcome } from '../../../src/contract/index.ts'
import type { Answer } from './call-slack.ts'

/** Slack's own trouble: it may have done what was asked all the same. */
const troubles: ReadonlySet<string> = new Set([
  ...['fatal_error', 'internal_error', 'service_unavailable', 'request_timeout', 'team_added_to_org', 'accesslimited'],
])

/** Blocks that Slack does not take: our own mistake, and no reason to be silent. */
export const blockErrors: ReadonlySet<string> = new Set([
  ...['invalid_blocks', 'invalid_blocks_format', 'msg_blocks_too_long', 'msg_too_long', 'no_text'],
])

/** The message that was to be changed is no more, or not ours to change. */
export const editErrors: ReadonlySet<string> = new Set([
  ...['message_not_found', 'cant_update_message', 'edit_window_closed', 'update_failed'],
])

/** The bot is not there. */
export const absenceErrors: ReadonlySet<string> = new Set(['not_in_channel', 'channel_not_found'])

type Failed = Exclude<Answer, { kind: 'ok' }>

/** `isRepeatable`: doing it twice shows once. */
export function outcomeOf(answer: Failed, isRepeatable: boolean): DeliveryOutcome {
  const ambiguous = isRepeatable ? 'retry' : 'unknown'
  switch (answer.kind) {
    case 'limited':
      return { kind: 'retry', reason: 'rate_limited', afterMs: answer.afterMs, scope: 'conversation' }
    case 'unsent':
      return { kind: 'retry', reason: 'slack_unreachable' }
    case 'lost':
      return { kind: ambiguous, reason: 'no_readable_answer' }
    case 'http': {
      const isOpen = answer.status >= 500 || answer.status === 408
      return { kind: isOpen ? ambiguous : 'refused', reason: `slack_http_${answer.status}` }
    }
    case 'error':
      return troubles.has(answer.error)
        ? { kind: ambiguous, reason: answer.error }
        : { kind: 'refused', reason: answer.error }
    default:
      return answer satisfies never
  }
}

/** It will be the same the next time, until somebody changes the app. */
export function isLasting(error: string): boolean {
  return lastingErrors.has(error)
}

const lastingErrors: ReadonlySet<string> = new Set([
  ...['missing_scope', 'unknown_method', 'method_deprecated', 'feature_not_enabled', 'not_allowed_token_type'],
  ...['no_permission', 'access_denied', 'not_an_agent', 'team_access_not_granted'],
])
