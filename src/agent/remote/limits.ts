// How much a remote agent may say, and how long it may take.

export type RemoteLimits = {
  /** For the whole answer; a task that takes longer is cancelled. */
  readonly timeoutMs: number
  /** Without a byte, not even a heartbeat: then the stream counts as cut. */
  readonly silenceMs: number
  /** Until the headers of an answer are there. */
  readonly headersMs: number
  /** Of everything that is read for one message. */
  readonly maxBytes: number
  readonly maxEventBytes: number
  readonly maxEvents: number
  readonly maxArtifacts: number
}

export const maxCardBytes = 256 * 1024

export const defaultLimits: RemoteLimits = {
  timeoutMs: 5 * 60_000,
  silenceMs: 60_000,
  headersMs: 30_000,
  maxBytes: 16 * 1024 * 1024,
  maxEventBytes: 4 * 1024 * 1024,
  maxEvents: 10_000,
  maxArtifacts: 64,
}
