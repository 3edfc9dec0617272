// What another server's answer to a delivery means. Nothing of its text is kept.
import type { DeliveryOutcome, SafeFetchResult } from '../../../src/contract/index.ts'
import type { SignatureScheme } from './sign.ts'

export type DeliveryMeaning =
  | { readonly kind: 'taken' }
  /** Perhaps the server only does not know this form of signature. */
  | { readonly kind: 'unread'; readonly outcome: DeliveryOutcome }
  | { readonly kind: 'gone'; readonly outcome: DeliveryOutcome }
  /** The server's own fault. */
  | { readonly kind: 'failed'; readonly outcome: DeliveryOutcome }
  | { readonly kind: 'other'; readonly outcome: DeliveryOutcome }

const longestWaitMs = 24 * 60 * 60_000
/** Answers that ask for a later try. */
const later: ReadonlySet<number> = new Set([408, 425, 429, 503])

export function classifyDelivery(outcome: SafeFetchResult, knock: SignatureScheme, nowMs: number): DeliveryMeaning {
  // An address inside a private network, or a redirect: it is not asked again.
  if (outcome.kind === 'refused') return { kind: 'other', outcome: refusedDelivery(`inbox_${outcome.reason}`) }
  // The ids are the same on every try, so that the server recognises a second delivery.
  if (outcome.kind === 'failed')
    return { kind: 'failed', outcome: { kind: 'retry', reason: `inbox_${outcome.reason}` } }
  const { status, headers } = outcome.response
  if (status >= 200 && status < 300) return { kind: 'taken' }
  const reason = `inbox_http_${status}`
  if (status === 401 || status === 403 || status === 400) return { kind: 'unread', outcome: refusedDelivery(reason) }
  if (status === 404 || status === 410) return { kind: 'gone', outcome: refusedDelivery('inbox_gone') }
  const afterMs = parseRetryAfter(headers.get('retry-after'), nowMs)
  const retry: DeliveryOutcome = {
    kind: 'retry',
    reason,
    ...(afterMs === undefined ? {} : { afterMs, scope: 'conversation' }),
  }
  if (later.has(status)) return { kind: afterMs === undefined && status === 503 ? 'failed' : 'other', outcome: retry }
  if (status < 500) return { kind: 'other', outcome: refusedDelivery(reason) }
  // Some servers fail on a signature of the new form.
  return { kind: knock === 'rfc9421' ? 'unread' : 'failed', outcome: retry }
}

function refusedDelivery(reason: string): DeliveryOutcome {
  return { kind: 'refused', reason }
}

/** Seconds, or a date. */
function parseRetryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined
  const ms = /^\d{1,9}$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - nowMs
  return Number.isFinite(ms) && ms > 0 ? Math.min(ms, longestWaitMs) : undefined
}
