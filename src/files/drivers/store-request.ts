// Requests to a store: bounded in time until the answer begins and between its bytes, never following a redirect, and telling
// nothing of their URL when they fail.
import { GatewayError, isGatewayError } from '../../lib/errors.ts'
import type { ByteRange } from '../blob-store.ts'

export type StoreRequestDeps = {
  readonly fetch: typeof fetch
  /** Until the answer begins, the sending of one part included. */
  readonly timeoutMs: number
  /** Longest silence within a body that is read. */
  readonly idleMs: number
}

export const storeTimeouts = { timeoutMs: 60_000, idleMs: 30_000 } as const

export async function fetchFromStore(
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
    throw toStorageUnavailableError('it could not be reached', error)
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
          throw toStorageUnavailableError('it broke off while it was read', error)
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
export async function unexpectedStoreResponseError(response: Response, act: string): Promise<GatewayError> {
  await drainResponse(response)
  const remedy = response.status === 401 || response.status === 403 ? 'check its credentials' : 'try again later'
  return new GatewayError(
    'storage_unavailable',
    `[attachments] the store answered ${response.status} to ${act}; ${remedy}`,
    { retryable: true, details: { status: response.status } },
  )
}

/** Causes are dropped: a runtime's network error may carry the signed URL. */
export function toStorageUnavailableError(what: string, error: unknown): GatewayError {
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

// A range is cut to what was asked for: not every store counts to the last byte as it should.

/** The body of a 206, beginning where it was asked to. */
export function requireRangedBody(response: Response, { start, end }: ByteRange): ReadableStream<Uint8Array> {
  const from = /^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '')?.[1]
  if (response.body === null || Number(from) !== start) {
    throw new GatewayError('storage_unavailable', '[attachments] the store gave another part than was asked for', {
      retryable: true,
    })
  }
  let left = end - start + 1
  return response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        controller.enqueue(chunk.subarray(0, left))
        left -= Math.min(left, chunk.byteLength)
        if (left === 0) controller.terminate()
      },
    }),
  )
}

// A body is cut into parts of one size for stores that want to know a length before the bytes. One part is in memory at a time.

/** `bytes` is lent: the next part is written over it. */
export type BodyPart = { readonly bytes: Uint8Array<ArrayBuffer>; readonly isLast: boolean }

const minBufferBytes = 64 * 1024

/** At least one part; all but the last have exactly `partBytes`. */
export async function* readBodyParts(
  body: ReadableStream<Uint8Array>,
  partBytes: number,
): AsyncGenerator<BodyPart, void> {
  const reader = body.getReader()
  let buffer = new Uint8Array(minBufferBytes)
  let filled = 0
  let isDone = false
  try {
    for (let rest: Uint8Array = new Uint8Array(); ; ) {
      if (rest.byteLength === 0 && !isDone) {
        const read = await reader.read()
        isDone = read.done
        rest = read.value ?? rest
        continue
      }
      // Only when more bytes are at hand is a full part known not to be the last one.
      if (rest.byteLength > 0 && filled === partBytes) {
        yield { bytes: buffer.subarray(0, filled), isLast: false }
        filled = 0
      }
      if (rest.byteLength === 0) break
      const taken = rest.subarray(0, partBytes - filled)
      buffer = growBuffer(buffer, filled, taken.byteLength, partBytes)
      buffer.set(taken, filled)
      filled += taken.byteLength
      rest = rest.subarray(taken.byteLength)
    }
    yield { bytes: buffer.subarray(0, filled), isLast: true }
  } finally {
    if (!isDone) await reader.cancel().catch(() => {})
  }
}

/** Doubles up to a whole part, so that a small file costs little. */
function growBuffer(
  buffer: Uint8Array<ArrayBuffer>,
  filled: number,
  more: number,
  partBytes: number,
): Uint8Array<ArrayBuffer> {
  if (filled + more <= buffer.byteLength) return buffer
  const grown = new Uint8Array(Math.min(partBytes, Math.max(buffer.byteLength * 2, filled + more)))
  grown.set(buffer.subarray(0, filled))
  return grown
}
