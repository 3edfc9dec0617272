// Asked by many, read once: whoever asks while a reading is under way or still fresh shares it.

/** A reading that hangs is not repeated behind itself before this long. */
const patienceMs = 10_000

/** Failures are shared as well, so that a database that is down is not asked once per caller. */
export function cached<T>(forMs: number, monotonicMs: () => number, load: () => Promise<T>): () => Promise<T> {
  let held: { readonly at: number; readonly value: Promise<T> } | undefined
  let isPending = false
  const read = (): Promise<T> => {
    isPending = true
    const value = load()
    const done = (): void => {
      if (held?.value === value) isPending = false
    }
    held = { at: monotonicMs(), value }
    value.then(done, done)
    return value
  }
  return () => {
    const ageMs = held === undefined ? Number.POSITIVE_INFINITY : monotonicMs() - held.at
    return held === undefined || ageMs >= (isPending ? patienceMs : forMs) ? read() : held.value
  }
}
