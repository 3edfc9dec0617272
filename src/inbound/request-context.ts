// An inbound request as it enters: the trace it belongs to, and what the log and metrics are told of it.
import type { AcceptResult, Log } from '../contract/index.ts'
import type { InboundOutcome, Meter } from '../contract/metrics.ts'
import type { IdSource } from '../lib/ids.ts'
import { controlNames } from '../turns/chat-commands.ts'
import type { GatewayConnection } from '../turns/gateway-connection.ts'
import type { AcceptContext } from './accept.ts'

/** Whose trace an inbound event belongs to, and since when we look at it. */
export type RequestTrace = { readonly trace: string; readonly startedAt: number }

/** A request comes in, as part of the trace that it names, if it names one. */
export function startRequestTrace(
  deps: { readonly newId: IdSource; readonly monotonicMs: () => number },
  traceparent: string | undefined,
): RequestTrace {
  return { trace: parseTraceparent(traceparent) ?? newTraceId(deps), startedAt: deps.monotonicMs() }
}

export function acceptContext(at: GatewayConnection, { trace }: RequestTrace): AcceptContext {
  return {
    connection: at.connection,
    connectionKey: at.key,
    horizonMs: at.adapter.capabilities.horizonMs,
    traceId: trace,
    controlNames,
  }
}

type ReportDeps = { readonly monotonicMs: () => number; readonly log: Log; readonly meter: Meter }

/**
 * One line and one count per inbound event, once it is committed. What was there before is a duplicate, whatever it holds; what is new
 * counts as `meant`.
 */
export function reportAcceptance(
  deps: ReportDeps,
  at: GatewayConnection,
  { trace, startedAt }: RequestTrace,
  { meant, reason: given, acceptance }: AcceptReport,
): void {
  const reason = acceptance.kind === 'duplicate' && acceptance.isReplay === true ? 'replayed' : given
  const outcome = acceptance.kind === 'accepted' ? meant : acceptance.kind
  const ms = deps.monotonicMs() - startedAt
  const inbox = 'inboxId' in acceptance ? acceptance.inboxId : null
  deps.log.info('message_received', {
    connection: at.key,
    trace,
    inbox,
    outcome,
    reason: reason === '' ? null : reason,
    ms: Math.round(ms),
  })
  deps.meter.received(at.key, outcome, reason)
  deps.meter.committed(at.key, ms)
}

export type AcceptReport = {
  readonly meant: InboundOutcome
  readonly reason: string
  readonly acceptance: AcceptResult
}

// The trace of a message is the sender's, where it sends a W3C Trace Context, else one of our own.

const version00 = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/
/** Later versions may append fields; ff is forbidden (Trace Context §2.2.4, §3.2.2). */
const laterVersion = /^(?!00|ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?$/

/** Undefined for a header that is missing or not valid. */
export function parseTraceparent(traceparent: string | undefined): string | undefined {
  if (traceparent === undefined || traceparent.length > 256) return undefined
  const [, trace = '', parent = ''] = version00.exec(traceparent) ?? laterVersion.exec(traceparent) ?? []
  return /[1-9a-f]/.test(trace) && /[1-9a-f]/.test(parent) ? trace : undefined
}

export function newTraceId({ newId }: { readonly newId: IdSource }): string {
  return newId().replaceAll('-', '')
}
