// Hop 8: maps Slack's answer to a delivery outcome.
import type { DeliveryOutcome } from '../../../src/contract/index.ts'
import type { WebApiAnswer } from './call-slack.ts'
import { classifySlackError, type ErrorClass } from './error-table.ts'

type FailedAnswer = Exclude<WebApiAnswer, { kind: 'ok' }>

/** Without a time of its own. */
const limitMs = 30_000

/** `isRepeatable`: doing it twice shows once. */
export function slackDeliveryOutcome(answer: FailedAnswer, isRepeatable: boolean): DeliveryOutcome {
  const ambiguous = isRepeatable ? 'retry' : 'unknown'
  switch (answer.kind) {
    case 'limited':
      return rateLimitedOutcome(answer.afterMs)
    case 'unsent':
      return { kind: 'retry', reason: 'slack_unreachable' }
    case 'lost':
      return { kind: ambiguous, reason: 'no_readable_answer' }
    case 'http': {
      const isOpen = answer.status >= 500 || answer.status === 408
      return { kind: isOpen ? ambiguous : 'refused', reason: `slack_http_${answer.status}` }
    }
    case 'error':
      return outcomeForErrorCode(answer.error, ambiguous)
    default:
      return answer satisfies never
  }
}

function outcomeForErrorCode(error: string, ambiguous: 'retry' | 'unknown'): DeliveryOutcome {
  switch (classifySlackError(error)) {
    case 'doubt':
      return { kind: ambiguous, reason: error }
    case 'later':
      return { kind: 'retry', reason: error }
    case 'limit':
      return rateLimitedOutcome(limitMs)
    default:
      return { kind: 'refused', reason: error }
  }
}

function rateLimitedOutcome(afterMs: number): DeliveryOutcome {
  return { kind: 'retry', reason: 'rate_limited', afterMs, scope: 'conversation' }
}

/** Whether Slack refused with an error code of one of these kinds. */
export function isErrorOfClass(answer: WebApiAnswer, ...kinds: readonly ErrorClass[]): boolean {
  return answer.kind === 'error' && kinds.includes(classifySlackError(answer.error))
}
