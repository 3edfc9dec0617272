// How much of a mail is read at all. What is over a limit is refused or left out by name, never read to its end.

export type BodyLimits = {
  /** Of the raw mail. */
  readonly maxBytes: number
  /** Leaves and multiparts together. */
  readonly maxParts: number
  readonly maxDepth: number
  readonly maxBoundaryLines: number
  /** Of the head of one part. */
  readonly maxPartHeadBytes: number
  readonly maxFiles: number
  /** UTF-16 units of the text that is handed on. */
  readonly maxTextLength: number
  /** Bytes of one part, as they are sent, that are read as text. */
  readonly maxTextBytes: number
}

export const bodyLimits: BodyLimits = {
  maxBytes: 25 * 1024 * 1024,
  maxParts: 100,
  maxDepth: 20,
  maxBoundaryLines: 500,
  maxPartHeadBytes: 64 * 1024,
  maxFiles: 20,
  maxTextLength: 200 * 1024,
  maxTextBytes: 2 * 1024 * 1024,
}
