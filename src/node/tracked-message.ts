// A request of the Node edge whose body is counted as it comes in, before anything else sees it.
import { IncomingMessage } from 'node:http'
import type { Context } from 'hono'
import type { TrackedBody } from './body-budget.ts'

export class TrackedMessage extends IncomingMessage {
  /** Absent: it carries no body, or comes from a socket that nothing is counted on. */
  tracked: TrackedBody | undefined
  /** Refused while it came in: nothing more of it is handed on, not even that it ended. */
  isRefused = false
  /** Called when its body is wanted for the first time (RFC 9110 section 10.1.1: then a client that waits may go on). */
  onWanted: (() => void) | undefined

  override push(chunk: Uint8Array | null, encoding?: BufferEncoding): boolean {
    // False: the connection is not read on.
    if (this.isRefused) return false
    if (chunk === null) this.tracked?.complete()
    else if (this.tracked?.take(chunk.length) === false) return false
    return super.push(chunk, encoding)
  }

  override _read(size: number): void {
    const { onWanted } = this
    this.onWanted = undefined
    onWanted?.()
    super._read(size)
  }
}

/** It is known whose the body is, or it flows on to where it is kept: it counts no more among what is held for strangers. */
export function releaseTrackedBody(context: Context): void {
  // The Node server puts the incoming message into the environment of every context.
  const { incoming } = (context.env ?? {}) as { incoming?: IncomingMessage }
  if (incoming instanceof TrackedMessage) incoming.tracked?.release()
}
