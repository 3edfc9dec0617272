// A body on its way to a store: looked at, counted, capped and hashed while it flows, never held.
import { sha256 } from '@noble/hashes/sha2.js'
import { GatewayError, isGatewayError } from '../lib/errors.ts'
import { toHex } from '../lib/index.ts'
import { withTimeout } from '../lib/time.ts'
import { sniffBytes } from './sniff-type.ts'

export type BodyLimits = {
  readonly maxBytes: number
  /** Longest silence of a sender. */
  readonly idleMs: number
  /** Longest time for the whole body: a sender of one byte a second must not keep a place. */
  readonly totalMs: number
}

export type MeasuredBody = {
  /** The first bytes, at most what sniffing looks at. */
  readonly head: Uint8Array
  /** The whole body once more from its beginning; errors when a limit is passed. */
  readonly stream: ReadableStream<Uint8Array>
  /** After the last byte. */
  readonly measure: () => { readonly size: number; readonly sha256: string }
  /** Why the stream erred, if it was the body and not the store. */
  readonly fault: () => BodyFault | undefined
  /** The rest is not wanted. */
  readonly cancel: () => Promise<void>
}

export type BodyFault = { readonly kind: 'too_large' } | { readonly kind: 'broken'; readonly error: GatewayError }

/** Reads until the type can be told. */
export async function wrapBodyForMeasuring(
  body: ReadableStream<Uint8Array>,
  limits: BodyLimits,
  now: () => number,
): Promise<MeasuredBody> {
  const hash = sha256.create()
  const reader = body.getReader()
  const deadline = now() + limits.totalMs
  const state: { size: number; fault: BodyFault | undefined } = { size: 0, fault: undefined }
  const readNextChunk = async (): Promise<Uint8Array | undefined> => {
    const leftMs = deadline - now()
    // Bytes that are there already win over any timer; so the clock is asked as well.
    const reading = leftMs > 0 ? reader.read() : Promise.reject(bodyTimeoutError())
    const read = await withTimeout(reading, Math.min(limits.idleMs, leftMs), bodyTimeoutError).catch(
      (cause: unknown) => {
        state.fault = { kind: 'broken', error: brokenBodyError(cause) }
        throw state.fault.error
      },
    )
    if (read.done) return undefined
    const chunk = read.value
    state.size += chunk.byteLength
    if (state.size > limits.maxBytes) {
      state.fault = { kind: 'too_large' }
      throw new GatewayError('bad_request', '[attachments] the file is larger than allowed; send a smaller one')
    }
    hash.update(chunk)
    return chunk
  }
  const waiting: Uint8Array[] = []
  let seen = 0
  try {
    while (seen < sniffBytes) {
      const chunk = await readNextChunk()
      if (chunk === undefined) break
      waiting.push(chunk)
      seen += chunk.byteLength
    }
  } catch (error) {
    if (state.fault === undefined) throw error
  }
  const cancelBody = () => reader.cancel().catch(() => {})
  return {
    head: joinChunks(waiting, sniffBytes),
    stream: streamBufferedThenRemaining(waiting, readNextChunk, cancelBody, () => state.fault),
    measure: () => ({ size: state.size, sha256: toHex(hash.digest()) }),
    fault: () => state.fault,
    cancel: cancelBody,
  }
}

function streamBufferedThenRemaining(
  waiting: Uint8Array[],
  next: () => Promise<Uint8Array | undefined>,
  cancel: () => Promise<void>,
  fault: () => BodyFault | undefined,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // Empty chunks are legal and say nothing; a byte stream downstream would refuse them.
        let chunk = waiting.shift() ?? (fault() === undefined ? await next() : undefined)
        while (chunk !== undefined && chunk.byteLength === 0) chunk = waiting.shift() ?? (await next())
        if (chunk === undefined) controller.close()
        else controller.enqueue(chunk)
      },
      cancel,
    },
    { highWaterMark: 0 },
  )
}

function joinChunks(chunks: readonly Uint8Array[], limit: number): Uint8Array {
  const size = Math.min(
    limit,
    chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0),
  )
  const whole = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    if (at >= size) break
    const piece = chunk.subarray(0, size - at)
    whole.set(piece, at)
    at += piece.byteLength
  }
  return whole
}

const bodyTimeoutError = () => new Error('no bytes in time')

/** What the network says about a broken body may quote where it came from, so it is not passed on. */
function brokenBodyError(cause: unknown): GatewayError {
  if (isGatewayError(cause)) return cause
  return new GatewayError('bad_request', '[attachments] the file did not arrive whole; send it again', {
    retryable: true,
  })
}
