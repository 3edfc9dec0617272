// A signal that lets a peer name its task before a stop breaks off what it says: where tasks are not listed, one without a name
// cannot be cancelled.

export type GraceSignal = {
  readonly signal: AbortSignal
  /** It has said its name: from here on a stop counts at once. */
  readonly hurry: () => void
  readonly close: () => void
}

/** Aborts as `signal` does, but for a stop only after so long. */
export function createGraceSignal(signal: AbortSignal, stop: AbortSignal, ms: number): GraceSignal {
  const own = new AbortController()
  let isPatient = true
  let timer: ReturnType<typeof setTimeout> | undefined
  const abortNow = (): void => own.abort(signal.reason)
  const abortWithGrace = (): void => {
    if (isPatient && stop.aborted) timer = setTimeout(abortNow, ms)
    else abortNow()
  }
  if (signal.aborted) abortNow()
  else signal.addEventListener('abort', abortWithGrace, { once: true })
  return {
    signal: own.signal,
    hurry() {
      isPatient = false
      if (signal.aborted) abortNow()
    },
    close() {
      if (timer !== undefined) clearTimeout(timer)
      signal.removeEventListener('abort', abortWithGrace)
    },
  }
}
