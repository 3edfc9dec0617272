// A listener to server-sent events: collects what it hears, and can hang up.

export type Heard = { readonly id: string | undefined; readonly event: string; readonly data: Record<string, unknown> }

export type EventListener = {
  readonly heard: readonly Heard[]
  /** Resolves when the stream has ended, however. */
  readonly ended: Promise<void>
  readonly hangUp: () => Promise<void>
}

export function listenTo(response: Response): EventListener {
  const heard: Heard[] = []
  const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader()
  const decoder = new TextDecoder()
  const read = async (): Promise<void> => {
    for (let text = ''; ; ) {
      const { done, value } = await reader.read()
      if (done) return
      text += decoder.decode(value, { stream: true })
      const frames = text.split('\n\n')
      text = frames.pop() ?? ''
      heard.push(...frames.filter((frame) => !frame.startsWith(':')).map(frameOf))
    }
  }
  const ended = read().catch(() => {})
  return { heard, ended, hangUp: () => reader.cancel() }
}

function frameOf(frame: string): Heard {
  const fields = new Map(
    frame.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  )
  return { id: fields.get('id'), event: fields.get('event') ?? '', data: JSON.parse(fields.get('data') ?? '{}') }
}
