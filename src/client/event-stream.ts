// Server-sent events as they come over fetch: bytes in, events out (WHATWG HTML 9.2.6).

export type ServerEvent = {
  /** Where to go on from; empty until the stream names one. */
  readonly id: string
  readonly event: string
  readonly data: string
}

export async function* readEventStream(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder()
  const reader = body.getReader()
  const lines = createEventLineSplitter()
  const fields = createEventFieldReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      // An event the stream breaks off in the middle of is dropped: a client that reconnects is sent it again.
      if (done) return
      for (const line of lines.take(decoder.decode(value, { stream: true }))) {
        const event = fields.take(line)
        if (event !== undefined) yield event
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** Lines end in CR, LF or both; a CR at the end of a chunk may have its LF in the next. */
function createEventLineSplitter() {
  let rest = ''
  let isAfterCr = false
  return {
    take(chunk: string): readonly string[] {
      const text = isAfterCr && chunk.startsWith('\n') ? chunk.slice(1) : chunk
      if (chunk !== '') isAfterCr = chunk.endsWith('\r')
      const lines = (rest + text).split(/\r\n|\r|\n/)
      rest = lines.pop() ?? ''
      return lines
    },
  }
}

function createEventFieldReader() {
  let id = ''
  let event = ''
  let data: string[] = []
  return {
    take(line: string): ServerEvent | undefined {
      if (line === '') {
        const found =
          data.length === 0 ? undefined : { id, event: event === '' ? 'message' : event, data: data.join('\n') }
        event = ''
        data = []
        return found
      }
      const [, name, value = ''] = /^([^:]*)(?:: ?([\s\S]*))?$/.exec(line) ?? []
      if (name === 'data') data.push(value)
      if (name === 'event') event = value
      if (name === 'id' && !value.includes('\0')) id = value
      return undefined
    },
  }
}
