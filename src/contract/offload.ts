// Work that only computes, done away from the event loop: a port of runtimes that have threads. Without it callers compute themselves.

export type OffloadCall = {
  /** A module whose exported functions may be called. */
  readonly module: URL
  readonly name: string
  /** Made when the work begins, so that nothing is copied for what waits. Buffers in `transfer` are given away. */
  readonly input: () => { readonly value: unknown; readonly transfer?: readonly ArrayBuffer[] }
  /** Of the input. Large work leaves a thread to small work. */
  readonly bytes: number
}

/** Answers what the function answers; rejects with what it threw, or with an `OffloadError`. */
export type Offload = (call: OffloadCall) => Promise<unknown>

/** busy: too much waits already; timeout: it was ended; crashed: its thread died, of memory or otherwise. */
export type OffloadFailure = 'busy' | 'timeout' | 'crashed'

export class OffloadError extends Error {
  readonly failure: OffloadFailure

  constructor(failure: OffloadFailure, cause?: unknown) {
    super(`offloaded work: ${failure}`, cause === undefined ? undefined : { cause })
    this.name = 'OffloadError'
    this.failure = failure
  }
}
