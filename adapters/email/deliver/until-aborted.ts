// Waits for a send no longer than its attempt lasts, where the send itself cannot be cancelled.

export async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const over = Promise.withResolvers<never>()
  const rejectAborted = (): void => over.reject(new Error('aborted'))
  if (signal.aborted) rejectAborted()
  signal.addEventListener('abort', rejectAborted, { once: true })
  try {
    return await Promise.race([work, over.promise])
  } finally {
    signal.removeEventListener('abort', rejectAborted)
    // The promise that loses the race is handled here, so that its rejection is not reported.
    work.catch(() => undefined)
    over.promise.catch(() => undefined)
  }
}
