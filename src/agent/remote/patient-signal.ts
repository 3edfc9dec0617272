// A signal that lets a peer name its task before a stop breaks off what it says: where tasks are not listed, one without a name
// cannot be cancelled.

export type PatientSignal = {
  readonly signal: AbortSignal
  /** It has said its name: from here on a stop counts at once. */
  readonly hurry: () => void
  readonly close: () => void
}

/** Aborts as `signal` does, but for a stop only after so long. */
export function patientSignal(signal: AbortSignal, stop: AbortSignal, ms: number): PatientSignal {
  const own = new AbortController()
  let isPatient = true
  let timer: ReturnType<typeof setTimeout> | undefined
  const end = (): void => own.abort(signal.reason)
  const onAbort = (): void => {
    if (isPatient && stop.aborted) timer = setTimeout(end, ms)
    else end()
  }
  if (signal.aborted) end()
  else signal.addEventListener('abort', onAbort, { once: true })
  return {
    signal: own.signal,
    hurry() {
      isPatient = false
      if (signal.aborted) end()
    },
    close() {
      if (timer !== undefined) clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    },
  }
}
