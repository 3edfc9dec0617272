// fetch for effects on Node: whether a request may leave is asked once more right before its first byte.
// A timer cannot do that. After a pause of the whole process (SIGSTOP, a frozen machine) connections that became ready
// meanwhile are served before the timers that would have aborted them, and the request leaves under a lost lease.

type Abort = (reason: Error) => void
type Sent = { readonly body?: unknown }
type Handler = { readonly onConnect?: (abort: Abort, ...rest: unknown[]) => void }
type Dispatcher = { readonly dispatch: (options: Sent, handler: Handler) => boolean }

/** Where Node's own fetch keeps what sends its requests; there once fetch has been used. */
const globalDispatcher = Symbol.for('undici.globalDispatcher.1')

/** When a request was asked for, and whether it may still leave. */
type Fence = { readonly isTooLate: () => boolean; readonly onSend: () => void }

/** `mayLeave` is given how long ago the request was asked for; `onSend` is told that its first byte leaves now. */
export function createFencedFetch(
  mayLeave: (ageMs: number) => boolean,
  monotonicMs: () => number,
  onSend: () => void = () => {},
): typeof fetch {
  return (input, init) => {
    const askedAt = monotonicMs()
    const fence: Fence = { isTooLate: () => !mayLeave(monotonicMs() - askedAt), onSend }
    // Whatever stands under this symbol is Node's.
    const sender = Reflect.get(globalThis, globalDispatcher) as Dispatcher | undefined
    if (sender === undefined) {
      onSend()
      return fetch(input, init)
    }
    const dispatcher: Dispatcher = { dispatch: (options, handler) => dispatchFenced(sender, options, handler, fence) }
    // Node's fetch takes a dispatcher; the standard's types do not know it.
    return fetch(input, { ...init, dispatcher } as RequestInit)
  }
}

/** Loads Node's fetch, so that its dispatcher is there for the first request. */
export async function prepareFencedFetch(): Promise<void> {
  await fetch('data:,')
}

/** `onConnect` is called right before the first byte of a request without a body is written, in the same breath. */
function dispatchFenced(sender: Dispatcher, options: Sent, handler: Handler, fence: Fence): boolean {
  const { body } = options
  const { onConnect } = handler
  // With a body the head is written together with its first piece, which may come long after `onConnect`.
  const hasPieces = typeof body === 'object' && body !== null && Symbol.asyncIterator in body
  const sent = hasPieces ? { ...options, body: fencePieces(body as AsyncIterable<unknown>, fence) } : options
  if (onConnect === undefined) return sender.dispatch(sent, handler)
  return sender.dispatch(sent, {
    ...handler,
    onConnect(this: Handler, abort, ...rest) {
      if (fence.isTooLate()) return abort(tooLateToSendError())
      if (!hasPieces) fence.onSend()
      onConnect.call(this, abort, ...rest)
    },
  })
}

/** Read by hand: `for await` would first wait until the body, which is not needed any more, has been taken back. */
async function* fencePieces(body: AsyncIterable<unknown>, fence: Fence): AsyncGenerator<unknown> {
  const pieces = body[Symbol.asyncIterator]()
  let hasLeft = false
  for (;;) {
    const next = await pieces.next()
    // What has begun to leave goes on: half a request tells the receiver nothing.
    if (!hasLeft && fence.isTooLate()) throw tooLateToSendError()
    const isEmptyPiece = next.value instanceof Uint8Array && next.value.byteLength === 0
    if (!hasLeft && (next.done === true || !isEmptyPiece)) {
      hasLeft = true
      fence.onSend()
    }
    if (next.done === true) return
    yield next.value
  }
}

function tooLateToSendError(): DOMException {
  return new DOMException('too late to be sent', 'TimeoutError')
}
