// A shared read: callers that ask while a reading is under way or still fresh share it.

/** `load` must end. Failures are shared as well, so that a database that is down is not asked once per caller. */
export function cachePromise<T>(forMs: number, monotonicMs: () => number, load: () => Promise<T>): () => Promise<T> {
  let held: { readonly at: number; readonly value: Promise<T> } | undefined
  let isPending = false
  const loadAgain = (): Promise<T> => {
    isPending = true
    const value = load()
    held = { at: monotonicMs(), value }
    const clearPending = (): void => {
      isPending = false
    }
    value.then(clearPending, clearPending)
    return value
  }
  return () => (held === undefined || (!isPending && monotonicMs() - held.at >= forMs) ? loadAgain() : held.value)
}
