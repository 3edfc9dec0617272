// Rate limit of the log for what strangers can write into it: of refusals the first few of a minute are told one by one, the
// others are one line with how many they were. Metrics count every one.
import type { Log, LogFields } from '../lib/log.ts'

/** Log lines that any host on the network can cause, as many as they send requests. */
const refusals: ReadonlySet<string> = new Set([
  'request_rejected',
  'request_postponed',
  'rate_limited',
  'caller_refused',
  'request_failed',
])
const perMinute = 5
const minuteMs = 60_000
/** Connections, reasons and codes come from closed lists; should they ever not, lines without either are enough. */
const maxKinds = 500

type Kind = {
  readonly event: string
  readonly facts: LogFields
  readonly endsAt: number
  reported: number
  unreported: number
}

type LogLimiterDeps = {
  readonly monotonicMs: () => number
  /** Runs it some time after. Without it a rest is told with the next refusal. */
  readonly later?: (work: () => void, ms: number) => void
}

export type LimitedLog = Log & {
  /** Tells what is left to tell: before the process ends. */
  readonly flush: () => void
}

/** Each event, connection, reason and code has lines of its own, so that a flood of one hides no other. */
export function limitRefusalLines(inner: Log, { monotonicMs, later }: LogLimiterDeps): LimitedLog {
  const kinds = new Map<string, Kind>()
  let isDue = false
  const logSuppressedCount = (name: string, { event, facts, unreported }: Kind): void => {
    kinds.delete(name)
    if (unreported > 0) inner.warn(event, { ...facts, count: unreported })
  }
  const logEndedSuppressedCounts = (): void => {
    isDue = false
    for (const [name, kind] of kinds) if (kind.endsAt <= monotonicMs()) logSuppressedCount(name, kind)
    if (kinds.size > 0) scheduleSuppressedCounts()
  }
  const scheduleSuppressedCounts = (): void => {
    if (later === undefined || isDue) return
    isDue = true
    later(logEndedSuppressedCounts, minuteMs)
  }
  const warnWithinLimit: Log['warn'] = (event, facts = {}, thrown?) => {
    if (!refusals.has(event)) {
      inner.warn(event, facts, thrown)
      return
    }
    const { connection = null, reason = null, code = null } = facts
    let name = JSON.stringify([event, connection, reason, code])
    const open = kinds.get(name)
    if (open !== undefined && open.endsAt <= monotonicMs()) logSuppressedCount(name, open)
    if (!kinds.has(name) && kinds.size >= maxKinds) name = event
    const kind = kinds.get(name) ?? {
      event,
      facts: name === event ? {} : { connection, reason, code },
      endsAt: monotonicMs() + minuteMs,
      reported: 0,
      unreported: 0,
    }
    kinds.set(name, kind)
    if (kind.reported < perMinute) {
      kind.reported += 1
      inner.warn(event, facts)
    } else kind.unreported += 1
    scheduleSuppressedCounts()
  }
  const logAllSuppressedCounts = (): void => {
    for (const [name, kind] of kinds) logSuppressedCount(name, kind)
  }
  return { info: inner.info, error: inner.error, warn: warnWithinLimit, flush: logAllSuppressedCounts }
}
