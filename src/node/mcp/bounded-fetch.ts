// fetch for MCP over HTTP: no answer is larger than it may be, and no request stays open longer than it may. The stream of a
// server's own messages is open for as long as the server likes; there each message is bounded.
export type FetchBounds = { readonly maxBytes: number; readonly requestMs: number }

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

export function createBoundedFetch(fetch: typeof globalThis.fetch, { maxBytes, requestMs }: FetchBounds): Fetch {
  return async (url, init = {}) => {
    const isStream = (init.method ?? 'GET') === 'GET'
    const signals = [init.signal, isStream ? undefined : AbortSignal.timeout(requestMs)].filter((each) => !!each)
    const response = await fetch(url, { ...init, signal: AbortSignal.any(signals) })
    if (response.body === null) return response
    const { status, statusText, headers } = response
    return new Response(response.body.pipeThrough(limitStreamBytes(maxBytes, isStream)), {
      status,
      statusText,
      headers,
    })
  }
}

function limitStreamBytes(maxBytes: number, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let size = 0
  return new TransformStream({
    transform(chunk, controller) {
      // A line that ends is read and gone.
      if (isStream && chunk.includes(newline)) size = chunk.length - chunk.lastIndexOf(newline)
      else size += chunk.length
      if (size > maxBytes) controller.error(new Error('the MCP server said more than it may'))
      else controller.enqueue(chunk)
    },
  })
}

const newline = 0x0a
