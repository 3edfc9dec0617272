// What became of a mail that was handed to a server. The server's own words are shown, cleaned and short.
import { cleanName, type DeliveryOutcome } from '../../../src/contract/index.ts'

/** A server that puts off whom it does not know yet wants some minutes (RFC 6647, 2.1). */
const greylistMs = 5 * 60_000
const pauseMs = 60_000
const greylisting = /gr[ae]y.?list|try again later|temporarily deferred|4\.7\.[01]\b/i

/** `isUnderWay`: bytes of the mail were asked for, so it may have arrived although the server did not say so. */
export function smtpOutcome(error: unknown, isUnderWay: boolean): DeliveryOutcome {
  const { code, responseCode, response = '' } = smtpErrorFields(error)
  if (code === 'EAUTH') return { kind: 'retry', reason: 'smtp_login_refused', afterMs: pauseMs, scope: 'connection' }
  if (responseCode !== undefined && responseCode >= 500)
    return { kind: 'refused', reason: smtpReason(responseCode, response) }
  if (responseCode === 421)
    return { kind: 'retry', reason: smtpReason(421, response), afterMs: pauseMs, scope: 'connection' }
  if (responseCode !== undefined && responseCode >= 400) {
    const isGreylisted = greylisting.test(response)
    return {
      kind: 'retry',
      reason: smtpReason(responseCode, response),
      ...(isGreylisted ? { afterMs: greylistMs, scope: 'conversation' as const } : {}),
    }
  }
  if (code === 'EMESSAGE') return { kind: 'refused', reason: 'mail_too_large_for_server' }
  if (code === 'EENVELOPE') return { kind: 'refused', reason: 'invalid_envelope' }
  if (code === 'ETLS' || code === 'EREQUIRETLS') return { kind: 'retry', reason: 'smtp_without_tls' }
  if (isUnderWay) return { kind: 'unknown', reason: 'smtp_connection_lost' }
  return { kind: 'retry', reason: 'smtp_unreachable' }
}

function smtpErrorFields(error: unknown): { code?: unknown; responseCode?: number; response?: string } {
  if (typeof error !== 'object' || error === null) return {}
  const { code, responseCode, response } = error as Record<string, unknown>
  return {
    code,
    ...(typeof responseCode === 'number' ? { responseCode } : {}),
    ...(typeof response === 'string' ? { response } : {}),
  }
}

/** `smtp_550: 5.1.1 no such mailbox`. Addresses in it are not ours to repeat. */
function smtpReason(code: number, response: string): string {
  const words = cleanName(response.replace(/^\d{3}[ -]?/, ''))
    .replace(/\s+/g, ' ')
    .replace(/[^\s<>]+@[^\s<>]+/g, '…')
    .slice(0, 200)
  return words === '' ? `smtp_${code}` : `smtp_${code}: ${words.toWellFormed()}`
}
