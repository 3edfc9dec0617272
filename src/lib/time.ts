// Waiting that ends early when told to.

/** Resolves after that long, or as soon as the signal aborts. Also no time at all lets others run first. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve()
  return new Promise((resolve) => {
    const wakeSleeper = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', wakeSleeper)
      resolve()
    }
    const timer = setTimeout(wakeSleeper, Math.max(0, ms))
    signal?.addEventListener('abort', wakeSleeper, { once: true })
  })
}

/** Waits for work that cannot be cancelled no longer than the signal allows, then rejects with its reason. */
export function rejectWhenAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const rejectOnAbort = (): void => reject(signal.reason)
    signal.addEventListener('abort', rejectOnAbort, { once: true })
    if (signal.aborted) rejectOnAbort()
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', rejectOnAbort))
  })
}

/** Rejects with what `late` makes when the work takes longer. The work itself is not cancelled. */
export async function withTimeout<Result>(work: Promise<Result>, ms: number, late: () => Error): Promise<Result> {
  const tooLate = Symbol('late')
  const result = await settleWithin(work, Math.max(0, ms), tooLate)
  if (result === tooLate) throw late()
  return result
}

/** What the work comes to, or `late` when it takes longer. The work itself goes on. */
export async function settleWithin<Result, const Late>(
  work: Promise<Result>,
  ms: number,
  late: Late,
): Promise<Result | Late> {
  const tooLate = Promise.withResolvers<Late>()
  const timer = setTimeout(tooLate.resolve, ms, late)
  try {
    return await Promise.race([work, tooLate.promise])
  } finally {
    clearTimeout(timer)
  }
}
