// Hop 8: maps Slack's answer to a delivery outcome.
import type { DeliveryOutcome } from '../../../src/contract/index.ts'
import type { Answer } from './call-slack.ts'
import { classOf, type ErrorClass } from './error-table.ts'

type Failed = Exclude<Answer, { kind: 'ok' }>

/** Without a time of its own. */
const limitMs = 30_000

/** `isRepeatable`: doing it twice shows once. */
export function outcomeOf(answer: Failed, isRepeatable: boolean): DeliveryOutcome {
  const ambiguous = isRepeatable ? 'retry' : 'unknown'
  switch (answer.kind) {
    case 'limited':
      return limited(answer.afterMs)
    case 'unsent':
      return { kind: 'retry', reason: 'slack_unreachable' }
    case 'lost':
      return { kind: ambiguous, reason: 'no_readable_answer' }
    case 'http': {
      const isOpen = answer.status >= 500 || answer.status === 408
      return { kind: isOpen ? ambiguous : 'refused', reason: `slack_http_${answer.status}` }
    }
    case 'error':
      return outcomeOfError(answer.error, ambiguous)
    default:
      return answer satisfies never
  }
}

function outcomeOfError(error: string, ambiguous: 'retry' | 'unknown'): DeliveryOutcome {
  switch (classOf(error)) {
    case 'doubt':
      return { kind: ambiguous, reason: error }
    case 'later':
      return { kind: 'retry', reason: error }
    case 'limit':
      return limited(limitMs)
    default:
      return { kind: 'refused', reason: error }
  }
}

function limited(afterMs: number): DeliveryOutcome {
  return { kind: 'retry', reason: 'rate_limited', afterMs, scope: 'conversation' }
}

/** Whether Slack refused with an error code of one of these kinds. */
export function isError(answer: Answer, ...kinds: readonly ErrorClass[]): boolean {
  return answer.kind === 'error' && kinds.includes(classOf(answer.error))
}
