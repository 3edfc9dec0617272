// Caches: a map with a bound, and a value that many ask for and one reads.

/** A map that holds so many entries at most: the one that was neither read nor written for longest makes room. */
export class LruMap<K, V> extends Map<K, V> {
  readonly #maxEntries: number

  constructor(maxEntries: number) {
    super()
    this.#maxEntries = maxEntries
  }

  override get(key: K): V | undefined {
    const value = super.get(key)
    // A map keeps the order of insertion: what is put in again is the youngest.
    if (super.delete(key)) super.set(key, value as V)
    return value
  }

  override set(key: K, value: V): this {
    super.delete(key)
    super.set(key, value)
    if (this.size > this.#maxEntries) {
      const oldest = this.keys().next()
      if (oldest.done !== true) super.delete(oldest.value)
    }
    return this
  }
}

/** Callers that ask while a reading is under way or still fresh share it. `load` must end. Failures are shared as well, so that a database that is down is not asked once per caller. */
export function cachePromise<T>(forMs: number, monotonicMs: () => number, load: () => Promise<T>): () => Promise<T> {
  let held: { readonly at: number; readonly value: Promise<T> } | undefined
  let isPending = false
  const reloadValue = (): Promise<T> => {
    isPending = true
    const value = load()
    held = { at: monotonicMs(), value }
    const markLoaded = (): void => {
      isPending = false
    }
    value.then(markLoaded, markLoaded)
    return value
  }
  return () => (held === undefined || (!isPending && monotonicMs() - held.at >= forMs) ? reloadValue() : held.value)
}
