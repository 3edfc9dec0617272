// fetch for effects on Node: whether a request may leave is asked once more right before its first byte.
// A timer cannot do that. After a pause of the whole process (SIGSTOP, a frozen machine) connections that became ready
// meanwhile are served before the timers that would have aborted them, and the request leaves under a lost lease.

type Abort = (reason: Error) => void
type Sent = { readonly body?: unknown }
type Handler = { readonly onConnect?: (abort: Abort, ...rest: unknown[]) => void }
type Dispatcher = { readonly dispatch: (options: Sent, handler: Handler) => boolean }

/** Where Node's own fetch keeps what sends its requests; there once fetch has been used. */
const globalDispatcher = Symbol.for('undici.globalDispatcher.1')

/** `mayLeave` is given how long ago the request was asked for; `onSend` is told that its first byte leaves now. */
export function createFencedFetch(
  mayLeave: (ageMs: number) => boolean,
  monotonicMs: () => number,
  onSend?: () => void,
): typeof fetch {
  return (input, init) => {
    const askedAt = monotonicMs()
    const isFenced = (): boolean => !mayLeave(monotonicMs() - askedAt)
    const sender: Dispatcher | undefined = Reflect.get(globalThis, globalDispatcher)
    if (sender === undefined) {
      onSend?.()
      return fetch(input, init)
    }
    const dispatcher: Dispatcher = {
      dispatch: (options, handler) => {
        const { body } = options
        // With a body the head is written together with its first piece, which may come long after `onConnect`.
        if (!isAsyncIterable(body)) return sender.dispatch(options, addFenceToHandler(handler, isFenced, onSend))
        const sent = { ...options, body: readFencedPieces(body, isFenced, onSend) }
        return sender.dispatch(sent, addFenceToHandler(handler, isFenced, undefined))
      },
    }
    // Node's fetch takes a dispatcher; the standard's types do not know it.
    return fetch(input, { ...init, dispatcher } as RequestInit)
  }
}

/** Loads Node's fetch, so that its dispatcher is there for the first request. */
export async function prepareFencedFetch(): Promise<void> {
  await fetch('data:,')
}

/** `onConnect` is called right before the first byte of a request without a body is written, in the same breath. */
function addFenceToHandler(handler: Handler, isFenced: () => boolean, onSend: (() => void) | undefined): Handler {
  const { onConnect } = handler
  if (onConnect === undefined) return handler
  return {
    ...handler,
    onConnect(this: Handler, abort, ...rest) {
      if (isFenced()) return abort(tooLateToSendError())
      onSend?.()
      onConnect.call(this, abort, ...rest)
    },
  }
}

/** Read by hand: `for await` would first wait until the body, which is not needed any more, has been taken back. */
async function* readFencedPieces(
  body: AsyncIterable<unknown>,
  isFenced: () => boolean,
  onSend: (() => void) | undefined,
): AsyncGenerator<unknown> {
  const pieces = body[Symbol.asyncIterator]()
  let hasLeft = false
  for (;;) {
    const next = await pieces.next()
    // What has begun to leave goes on: half a request tells the receiver nothing.
    if (!hasLeft && isFenced()) throw tooLateToSendError()
    const isEmpty = next.done !== true && next.value instanceof Uint8Array && next.value.byteLength === 0
    if (!hasLeft && !isEmpty) onSend?.()
    hasLeft ||= !isEmpty
    if (next.done === true) return
    yield next.value
  }
}

function tooLateToSendError(): DOMException {
  return new DOMException('too late to be sent', 'TimeoutError')
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
