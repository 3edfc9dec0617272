// Sleep that ends early when told to.

export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (ms <= 0 || signal?.aborted === true) return Promise.resolve()
  return new Promise((resolve) => {
    const wakeSleeper = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', wakeSleeper)
      resolve()
    }
    const timer = setTimeout(wakeSleeper, ms)
    signal?.addEventListener('abort', wakeSleeper, { once: true })
  })
}
