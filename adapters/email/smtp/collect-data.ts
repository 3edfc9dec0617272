// Collects the bytes of one DATA, never more of them than allowed. One buffer that grows: a list of pieces would cost many times
// their size where a client sees to it that they are small.

export type Collected =
  | { readonly kind: 'whole'; readonly raw: Uint8Array }
  | { readonly kind: 'too_large' | 'too_fine' | 'no_room' | 'cut' }

/** Room for the mails that are being received, shared by all connections. */
export type ByteBudget = { readonly take: (bytes: number) => boolean; readonly give: (bytes: number) => void }

/** What we use of Node's stream. */
export type BodyStream = {
  readonly readableEnded: boolean
  on(event: 'data', listen: (chunk: Uint8Array) => void): unknown
  on(event: 'end' | 'close' | 'error', listen: () => void): unknown
}

/** Most mails are smaller. */
const firstBytes = 16 * 1024

/**
 * Each piece costs as much as a kilobyte. The network makes some ten thousands of the largest mail; only lines that begin with a dot,
 * which the library hands over one by one, make more.
 */
const maxPieces = 100_000

export function createByteBudget(maxBytes: number): ByteBudget {
  let held = 0
  return {
    take(bytes) {
      if (held + bytes > maxBytes) return false
      held += bytes
      return true
    },
    give(bytes) {
      held -= bytes
    },
  }
}

export type Collecting = {
  readonly maxBytes: number
  readonly room: ByteBudget
  /** So far beyond a limit that there is no use in waiting for the end. */
  readonly onHopeless: (why: 'too_large' | 'too_fine') => void
}

/** The caller that gets `whole` gives the room back. The stream is read to its end in any case: only then can the client be answered. */
export function collectData(stream: BodyStream, { maxBytes, room, onHopeless }: Collecting): Promise<Collected> {
  let buffer: Uint8Array = new Uint8Array(0)
  let size = 0
  let seen = 0
  let pieces = 0
  let failed: 'too_large' | 'too_fine' | 'no_room' | undefined
  const dropBuffer = (why: typeof failed): void => {
    failed ??= why
    room.give(buffer.byteLength)
    buffer = new Uint8Array(0)
    size = 0
  }
  const addChunk = (chunk: Uint8Array): void => {
    seen += chunk.byteLength
    pieces += 1
    if (seen > maxBytes * 4) onHopeless('too_large')
    if (failed === undefined && seen > maxBytes) dropBuffer('too_large')
    if (failed === undefined && pieces > maxPieces) {
      dropBuffer('too_fine')
      onHopeless('too_fine')
    }
    if (failed !== undefined) return
    const wanted = size + chunk.byteLength
    if (wanted > buffer.byteLength) {
      const length = Math.min(Math.max(wanted, buffer.byteLength * 2, firstBytes), Math.max(maxBytes, wanted))
      if (!room.take(length - buffer.byteLength)) {
        dropBuffer('no_room')
        return
      }
      const grown = new Uint8Array(length)
      grown.set(buffer.subarray(0, size))
      buffer = grown
    }
    buffer.set(chunk, size)
    size = wanted
  }
  return new Promise((resolve) => {
    stream.on('data', addChunk)
    stream.on('end', () => {
      if (failed !== undefined) return resolve({ kind: failed })
      // A copy of its own size: the mail may live longer than its reception.
      const raw = buffer.slice(0, size)
      room.give(buffer.byteLength - size)
      resolve({ kind: 'whole', raw })
    })
    // After the end this says nothing new; before it, the client is gone and what came is no mail.
    const finishAsCutOff = (): void => {
      if (!stream.readableEnded) dropBuffer(undefined)
      resolve({ kind: 'cut' })
    }
    stream.on('error', finishAsCutOff)
    stream.on('close', finishAsCutOff)
  })
}
