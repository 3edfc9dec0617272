// Reads a body as bytes, never more of it than allowed.
import { GatewayError } from './errors.ts'

/** Undefined when the body is larger than `maxBytes`; what was not read is left unread. */
export async function readBody(
  request: Pick<Request, 'headers' | 'body' | 'arrayBuffer'>,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  const declared = Number(request.headers.get('content-length') ?? Number.NaN)
  if (declared > maxBytes) return undefined
  try {
    // A declared length is enforced by the server, so the whole body can be read in one go.
    if (Number.isInteger(declared) && declared >= 0) return new Uint8Array(await request.arrayBuffer())
    return request.body === null ? new Uint8Array() : await readStream(request.body, maxBytes)
  } catch (cause) {
    // The caller's doing and no failure of ours: callers who break off by the thousand alarm no operator.
    throw new GatewayError('bad_request', 'the body broke off before its end; send it again', { cause })
  }
}

/** Undefined when there is more in it than `maxBytes`; the rest is cancelled. */
export async function readStream(body: ReadableStream<Uint8Array>, maxBytes: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    size += value.byteLength
    if (size > maxBytes) {
      await reader.cancel()
      return undefined
    }
    chunks.push(value)
  }
  const whole = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.byteLength
  }
  return whole
}
