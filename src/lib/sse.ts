// Server-sent events: bytes in, events out (WHATWG HTML section 9.2.6). For readers on servers and in browsers alike.

export type ServerSentEvent = {
  /** Where to go on from; empty until the stream names one. */
  readonly id: string
  readonly event: string
  readonly data: string
}

export type EventLimits = {
  /** Of one event, in characters. */
  readonly maxEventLength: number
  readonly tooLong: () => Error
}

/** An event the stream breaks off in the middle of is dropped: a client that reconnects is sent it again. */
export async function* readServerSentEvents(
  chunks: AsyncIterable<Uint8Array>,
  limits?: EventLimits,
): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder()
  let rest = ''
  let isAfterCr = false
  let id = ''
  let event = ''
  let data: string[] = []
  let length = 0
  for await (const bytes of chunks) {
    const chunk = decoder.decode(bytes, { stream: true })
    // Lines end in CR, LF or both; a CR at the end of a chunk may have its LF in the next.
    const text = isAfterCr && chunk.startsWith('\n') ? chunk.slice(1) : chunk
    if (chunk !== '') isAfterCr = chunk.endsWith('\r')
    const [first = '', ...others] = text.split(/\r\n|\r|\n/)
    // A line that goes on is not split again: a stream of one line costs no more than its length.
    rest += first
    for (const next of others) {
      const line = rest
      rest = next
      if (line === '') {
        if (data.length > 0) yield { id, event: event === '' ? 'message' : event, data: data.join('\n') }
        event = ''
        data = []
        length = 0
        continue
      }
      length += line.length
      const [, name, value = ''] = /^([^:]*)(?:: ?([\s\S]*))?$/.exec(line) ?? []
      if (name === 'data') data.push(value)
      if (name === 'event') event = value
      if (name === 'id' && !value.includes('\0')) id = value
    }
    if (limits !== undefined && rest.length + length > limits.maxEventLength) throw limits.tooLong()
  }
}
