// A deadline for code of a host or tool author: at most so long, and not a moment after the run was stopped.
export type Bounded<T> = { readonly kind: 'done'; readonly value: T } | { readonly kind: 'timed_out' }

export type Bounds = { readonly signal: AbortSignal; readonly timeoutMs: number }

/** Rejects with the work's own error, or with the signal's reason. The work is told by its own signal in both cases. */
export async function runWithDeadline<T>(
  work: (signal: AbortSignal) => Promise<T> | T,
  { signal, timeoutMs }: Bounds,
): Promise<Bounded<T>> {
  signal.throwIfAborted()
  const stop = new AbortController()
  const ended = Promise.withResolvers<Bounded<T>>()
  const abortWork = () => {
    stop.abort(signal.reason)
    ended.reject(signal.reason)
  }
  const timer = setTimeout(() => {
    stop.abort(new DOMException('The tool took too long', 'TimeoutError'))
    ended.resolve({ kind: 'timed_out' })
  }, timeoutMs)
  signal.addEventListener('abort', abortWork, { once: true })
  try {
    // What comes after the end is dropped; settling twice is harmless.
    void startWork(work, stop.signal).then((value) => ended.resolve({ kind: 'done', value }), ended.reject)
    return await ended.promise
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abortWork)
  }
}

async function startWork<T>(work: (signal: AbortSignal) => Promise<T> | T, signal: AbortSignal): Promise<T> {
  return await work(signal)
}
