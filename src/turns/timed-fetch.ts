// fetch with a timeout for steps: a server that stays silent ends the request with an error, instead of holding its turn until the
// deadline.
import { GatewayError } from '../contract/index.ts'

/**
 * `silenceMs`: the longest wait for the head of the response, and then for each piece of its body that is asked for. Not
 * finite: as patient as `send` itself.
 */
export function createTimedFetch(send: typeof fetch, silenceMs: number): typeof fetch {
  if (!Number.isFinite(silenceMs)) return send
  return async (input, init) => {
    const silence = new AbortController()
    const listen = <T>(answer: Promise<T>): Promise<T> => {
      const timer = setTimeout(() => silence.abort(fetchTimeout(silenceMs)), silenceMs)
      return answer
        .catch((error: unknown) => {
          throw silence.signal.aborted ? silence.signal.reason : error
        })
        .finally(() => clearTimeout(timer))
    }
    const given = init?.signal ?? (input instanceof Request ? input.signal : undefined)
    const signal = given == null ? silence.signal : AbortSignal.any([given, silence.signal])
    const response = await listen(send(input, { ...init, signal }))
    return response.body === null ? response : withBody(response, response.body, listen)
  }
}

/** Counts only while a piece is waited for: an agent that takes its time between two pieces is not the server's silence. */
function withBody(
  response: Response,
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  listen: <T>(answer: Promise<T>) => Promise<T>,
): Response {
  const reader = body.getReader()
  const memberLines = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const piece = await listen(reader.read())
        if (piece.done) controller.close()
        else controller.enqueue(piece.value)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  const { status, statusText, headers, url, redirected } = response
  const copy = new Response(memberLines, { status, statusText, headers })
  return Object.defineProperties(copy, { url: { value: url }, redirected: { value: redirected } })
}

function fetchTimeout(ms: number): GatewayError {
  return new GatewayError(
    'fetch_timeout',
    `[agent] a server was silent for ${ms} ms in the middle of a step; raise turns.fetchTimeoutMs if it needs longer`,
    { retryable: true },
  )
}
