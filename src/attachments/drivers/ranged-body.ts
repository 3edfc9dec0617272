// A part of an object, cut to what was asked for: not every store counts to the last byte as it should.
import { GatewayError } from '../../contract/index.ts'
import type { ByteRange } from '../blob-store.ts'

/** The body of a 206, beginning where it was asked to. */
export function rangedBody(response: Response, { start, end }: ByteRange): ReadableStream<Uint8Array> {
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
