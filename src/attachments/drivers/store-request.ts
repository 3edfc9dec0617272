// One request to a store: bounded in time until its answer begins and between its bytes, never following a redirect, and telling
// nothing of its URL when it fails.
import { GatewayError, isGatewayError } from '../../contract/index.ts'

export type StoreRequestDeps = {
  readonly fetch: typeof fetch
  /** Until the answer begins, the sending of one part included. */
  readonly timeoutMs: number
  /** Longest silence within a body that is read. */
  readonly idleMs: number
}

export const storeTimeouts = { timeoutMs: 60_000, idleMs: 30_000 } as const

export async function storeRequest(
  { fetch, timeoutMs, idleMs }: StoreRequestDeps,
  url: string,
  init: RequestInit,
): Promise<Response> {
  const abort = new AbortController()
  const timer = setTimeout(() => abort.abort(), timeoutMs)
  try {
    const response = await fetch(url, { ...init, redirect: 'manual', signal: abort.signal })
    if (response.body === null) return response
    return new Response(
      bodyWithIdleTimeout(response.body, idleMs, () => abort.abort()),
      response,
    )
  } catch (error) {
    throw storeFailure('it could not be reached', error)
  } finally {
    clearTimeout(timer)
  }
}

/** The body with an end to every wait; a reader that stops ends the request too. */
function bodyWithIdleTimeout(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  idleMs: number,
  abort: () => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader()
  return new ReadableStream(
    {
      async pull(controller) {
        const timer = setTimeout(abort, idleMs)
        try {
          const { done, value } = await reader.read()
          if (done) controller.close()
          else controller.enqueue(value)
        } catch (error) {
          throw storeFailure('it broke off while it was read', error)
        } finally {
          clearTimeout(timer)
        }
      },
      async cancel(reason) {
        await reader.cancel(reason).catch(() => {})
        abort()
      },
    },
    { highWaterMark: 0 },
  )
}

/** Reads what is left of an answer that is not needed, so that its connection can be used again. */
export async function drainResponse(response: Response): Promise<void> {
  await response.text().catch(() => '')
}

/** An answer that was not hoped for. Its body may quote keys and is left out. */
export async function unexpectedStoreResponse(response: Response, act: string): Promise<GatewayError> {
  await drainResponse(response)
  const remedy = response.status === 401 || response.status === 403 ? 'check its credentials' : 'try again later'
  return new GatewayError(
    'storage_unavailable',
    `[attachments] the store answered ${response.status} to ${act}; ${remedy}`,
    { retryable: true, details: { status: response.status } },
  )
}

/** Causes are dropped: a runtime's network error may carry the signed URL. */
export function storeFailure(what: string, error: unknown): GatewayError {
  if (isGatewayError(error)) return error
  return new GatewayError('storage_unavailable', `[attachments] the store failed: ${what}; try again later`, {
    retryable: true,
  })
}

/** The store was asked and did not say no: an answer that was lost may have been a yes. */
export function mayHaveTakenEffect(error: unknown): boolean {
  if (!isGatewayError(error, 'storage_unavailable')) return false
  const status = error.details['status']
  return typeof status !== 'number' || status >= 500
}
