// A signed timestamp against our clock, both ways: old ones may be replays, future ones would stay valid too long (hop 2).

export type ClockSkewResult = 'fresh' | 'stale_timestamp' | 'future_timestamp' | 'malformed_request'

export type ClockTolerance = { readonly maxAgeMs: number; readonly maxAheadMs: number }

/** The refusals carry the names of a verdict's reasons. */
export function checkClockSkew(timestampMs: number, nowMs: number, tolerance: ClockTolerance): ClockSkewResult {
  if (!Number.isFinite(timestampMs)) return 'malformed_request'
  if (nowMs - timestampMs > tolerance.maxAgeMs) return 'stale_timestamp'
  if (timestampMs - nowMs > tolerance.maxAheadMs) return 'future_timestamp'
  return 'fresh'
}
