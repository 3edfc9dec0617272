// How long to wait before the next try: doubling, capped, and jittered so that many rows do not return together.

export type Backoff = { readonly firstMs: number; readonly maxMs: number }

/** `attempt` counts from 1. The result lies between half and all of the doubled delay. */
export function backoffMs(attempt: number, { firstMs, maxMs }: Backoff, random: () => number): number {
  const full = Math.min(maxMs, firstMs * 2 ** Math.min(attempt - 1, 20))
  return Math.round(full * (0.5 + random() * 0.5))
}
