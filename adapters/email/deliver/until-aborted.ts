// A send that cannot be called off is at least not waited for longer than its attempt lasts.

export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const over = Promise.withResolvers<never>()
  const stop = (): void => over.reject(new Error('aborted'))
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([work, over.promise])
  } finally {
    signal.removeEventListener('abort', stop)
    // Whoever loses the race has nobody to tell.
    work.catch(() => undefined)
    over.promise.catch(() => undefined)
  }
}
