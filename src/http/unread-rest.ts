// Drains what is left of a body once the answer is known. A client that is still sending reads no answer until its body is read,
// so a refusal first reads a bounded rest; a longer one ends with the connection.

export type BodyDrain = {
  readonly reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  /** The answer, once as much as may be has been passed over; with the connection's end where there is more. */
  readonly respondAfterDrain: (answer: Response) => Promise<Response>
  readonly discard: () => Promise<boolean>
  readonly release: () => void
}

const maxDrainMs = 5_000
/** Times the largest file that is taken: most uploads that are too large are read to their end. */
const drainFactor = 4

export function createBodyDrain(body: ReadableStream<Uint8Array> | null, maxBytes: number): BodyDrain {
  const reader = body?.getReader()
  const discardRest = async (): Promise<boolean> => {
    if (reader === undefined) return true
    const { promise: late, resolve } = Promise.withResolvers<false>()
    const timer = setTimeout(() => resolve(false), maxDrainMs)
    try {
      return await Promise.race([drainReader(reader, maxBytes * drainFactor), late])
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    reader,
    discard: discardRest,
    async respondAfterDrain(answer) {
      if (await discardRest()) return answer
      await reader?.cancel().catch(() => {})
      const headers = new Headers(answer.headers)
      headers.set('connection', 'close')
      return new Response(answer.body, { status: answer.status, headers })
    },
    release() {
      reader?.releaseLock()
    },
  }
}

/** True: there was no more than that. */
async function drainReader(reader: ReadableStreamDefaultReader<Uint8Array>, maxBytes: number): Promise<boolean> {
  try {
    for (let passed = 0; passed <= maxBytes; ) {
      const { done, value } = await reader.read()
      if (done) return true
      passed += value.byteLength
    }
  } catch {
    // The sender is gone: the rest is not needed.
    return true
  }
  return false
}
