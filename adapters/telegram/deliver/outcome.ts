// Maps an answer of the Bot API to a delivery outcome. Nothing of an error but fixed words leaves this file: errors carry the token.
import { GrammyError, HttpError } from 'grammy/web'
import type { DeliveryOutcome } from '../../../src/contract/index.ts'
import type { TelegramCall } from '../wire/call.ts'
import { canFallBack, type Fallback } from './ladder.ts'
import { classifyRefusal } from './refusals.ts'

// Failures of the dialling itself: not a byte of the call has left.
const notSent: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'])

/** How long a bot rests whose token is refused: until then the operator may have set a new one. */
const pauseMs = 60_000

/** A refusal that another form of the same call, or another place, may not meet. */
export type FallbackDecision =
  | { readonly kind: 'step'; readonly step: Fallback; readonly reason: string }
  | { readonly kind: 'moved'; readonly to: number }
  /** The server is older than the method. */
  | { readonly kind: 'unknown_method' }

/** How a call was made. */
export type CallAttempt = {
  readonly call: TelegramCall
  readonly isEdit: boolean
  readonly taken: ReadonlySet<Fallback>
}

/** Undefined: the outcome is what it is. */
export function findFallback(error: unknown, { call, isEdit, taken }: CallAttempt): FallbackDecision | undefined {
  if (!(error instanceof GrammyError)) return undefined
  const to = error.parameters.migrate_to_chat_id
  if (to !== undefined) return { kind: 'moved', to }
  if (error.error_code === 404 && canFallBack('as_ranges', call, isEdit)) return { kind: 'unknown_method' }
  const { reason, instead = [] } = classifyRefusal(error.error_code, error.description)
  const step = instead.find((each) => !taken.has(each) && canFallBack(each, call, isEdit))
  return step === undefined ? undefined : { kind: 'step', step, reason }
}

export function telegramDeliveryOutcome(error: unknown, { call, isEdit }: CallAttempt): DeliveryOutcome {
  // Editing and answering a press again changes nothing, sending again shows twice.
  const unclear = isEdit || repeatable.has(call.method) ? 'retry' : 'unknown'
  if (!(error instanceof GrammyError)) {
    if (error instanceof HttpError && neverReachedTelegram(error.error))
      return { kind: 'retry', reason: 'telegram_unreachable' }
    return { kind: unclear, reason: 'no_readable_answer' }
  }
  const { means, reason } = classifyRefusal(error.error_code, error.description)
  switch (means) {
    case 'done':
      return { kind: 'delivered' }
    case 'wait':
      return { kind: 'retry', reason, afterMs: retryAfterMs(error), scope: 'conversation' }
    case 'pause':
      return { kind: 'retry', reason, afterMs: pauseMs, scope: 'connection' }
    case 'again':
      return { kind: 'retry', reason }
    case 'unclear':
      return { kind: unclear, reason }
    case 'refused':
      // What the press asked for has happened all the same, and a card that is gone has no buttons.
      return moot.has(call.method) && error.error_code === 400 ? { kind: 'delivered' } : { kind: 'refused', reason }
    default:
      return means satisfies never
  }
}

const repeatable: ReadonlySet<string> = new Set(['editMessageText', 'editMessageReplyMarkup', 'answerCallbackQuery'])
const moot: ReadonlySet<string> = new Set(['editMessageReplyMarkup', 'answerCallbackQuery'])

/** Without a number of Telegram's own: a second. */
export function retryAfterMs({ parameters }: GrammyError): number {
  return (parameters.retry_after ?? 1) * 1000
}

export function isUnmodifiedError(error: unknown): boolean {
  return error instanceof GrammyError && classifyRefusal(error.error_code, error.description).reason === 'unmodified'
}

function neverReachedTelegram(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  if (cause instanceof AggregateError) return cause.errors.every((each) => notSent.has(errorCode(each)))
  return notSent.has(errorCode(cause))
}

function errorCode(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}
