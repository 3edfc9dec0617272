// fetch for effects on Node (ruling 17): a request that is not on its way in time never leaves.
// A timer cannot promise that. After a pause of the whole process (SIGSTOP, a frozen machine) connections that became ready
// meanwhile are served before the timers that would have aborted them, and the request leaves under a lost lease.

type Abort = (reason: Error) => void
type Handler = { readonly onConnect?: (abort: Abort, ...rest: unknown[]) => void }
type Dispatcher = { readonly dispatch: (options: unknown, handler: Handler) => boolean }

/** Where Node's own fetch keeps what sends its requests; there once fetch has been used. */
const globalDispatcher = Symbol.for('undici.globalDispatcher.1')

export function createPunctualFetch(startWithinMs: number, monotonicMs: () => number): typeof fetch {
  // Loads Node's fetch, so that its dispatcher is there for the first request.
  void fetch('data:,').catch(() => {})
  return (input, init) => {
    const askedAt = monotonicMs()
    const isLate = (): boolean => monotonicMs() - askedAt >= startWithinMs
    const sender: unknown = Reflect.get(globalThis, globalDispatcher)
    if (!isDispatcher(sender)) return fetch(input, init)
    const dispatcher: Dispatcher = {
      dispatch: (options, handler) => sender.dispatch(options, guarded(handler, isLate)),
    }
    // Node's fetch takes a dispatcher; the standard's types do not know it.
    return fetch(input, { ...init, dispatcher } as RequestInit)
  }
}

/** `onConnect` is called right before the first byte is written, in the same breath. */
function guarded(handler: Handler, isLate: () => boolean): Handler {
  const { onConnect } = handler
  if (onConnect === undefined) return handler
  return {
    ...handler,
    onConnect(this: Handler, abort, ...rest) {
      if (isLate()) abort(new DOMException('not on its way in time', 'TimeoutError'))
      else onConnect.call(this, abort, ...rest)
    },
  }
}

function isDispatcher(value: unknown): value is Dispatcher {
  return typeof value === 'object' && value !== null && 'dispatch' in value
}
