// Reads the body of a remote agent's answer within bounds of size and time: as JSON, or as the events of a stream.
import type { Fields } from '../../../src/contract/index.ts'
import { parseBoundedJson } from '../../../src/lib/index.ts'
import { isRemoteFault, RemoteFault } from './fault.ts'
import { malformedAnswer } from './read-wire.ts'

/** What may still be read for one message. */
export type Allowance = { bytes: number; events: number }

export type Frame = { readonly fields: Fields; readonly id: string | undefined; readonly isError: boolean }

export async function readRemoteJson(response: Response, allowance: Allowance, signal: AbortSignal): Promise<Fields> {
  const chunks: Uint8Array<ArrayBuffer>[] = []
  for await (const chunk of readChunks(response, { signal, silenceMs: undefined })) {
    allowance.bytes -= chunk.byteLength
    if (allowance.bytes < 0) throw new RemoteFault('remote_too_much')
    chunks.push(chunk)
  }
  return parseJsonFields(new Uint8Array(await new Blob(chunks).arrayBuffer()))
}

export function isEventStream({ headers }: Response): boolean {
  return /^text\/event-stream\b/i.test(headers.get('content-type') ?? '')
}

/** Ends where the other side ends it. Throws `remote_unreachable` where it was cut, or nothing came for too long. */
export async function* readFrames(
  response: Response,
  limits: Pick<RemoteLimits, 'maxEventBytes' | 'silenceMs'>,
  allowance: Allowance,
  signal: AbortSignal,
): AsyncGenerator<Frame> {
  const decoder = new TextDecoder()
  let frame = newFrame()
  let line = ''
  for await (const chunk of readChunks(response, { signal, silenceMs: limits.silenceMs })) {
    allowance.bytes -= chunk.byteLength
    if (allowance.bytes < 0) throw new RemoteFault('remote_too_much')
    const [first = '', ...others] = decoder.decode(chunk, { stream: true }).split(/\r?\n/)
    line += first
    for (const next of others) {
      const whole = closeFrame(frame, line.endsWith('\r') ? line.slice(0, -1) : line)
      line = next
      if (whole === undefined) continue
      frame = newFrame()
      allowance.events -= 1
      if (allowance.events < 0) throw new RemoteFault('remote_too_much')
      yield whole
    }
    if (line.length + frame.size > limits.maxEventBytes) throw new RemoteFault('remote_too_much')
  }
}

type OpenFrame = { data: string[]; size: number; id: string | undefined; isError: boolean }

function newFrame(): OpenFrame {
  return { data: [], size: 0, id: undefined, isError: false }
}

/** The frame, where this line is the empty one that ends it. */
function closeFrame(frame: OpenFrame, line: string): Frame | undefined {
  if (line === '') {
    if (frame.data.length === 0) return undefined
    const fields = parseJsonFields(new TextEncoder().encode(frame.data.join('\n')))
    return { fields, id: frame.id, isError: frame.isError }
  }
  const colon = line.indexOf(':')
  const name = colon === -1 ? line : line.slice(0, colon)
  const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
  frame.size += line.length
  if (name === 'data') frame.data.push(value)
  if (name === 'id' && value.length <= 512) frame.id = value
  if (name === 'event') frame.isError = value === 'error'
  return undefined
}

function parseJsonFields(bytes: Uint8Array): Fields {
  const read = parseBoundedJson(bytes)
  if (!read.ok) throw malformedAnswer()
  return read.value
}

/** Every wait is bounded: by the signal, and where silence counts, by that. */
async function* readChunks(
  { body }: Response,
  { signal, silenceMs }: { readonly signal: AbortSignal; readonly silenceMs: number | undefined },
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  if (body === null) return
  const reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> = body.getReader()
  try {
    for (;;) {
      const read = await withSilenceLimit(reader.read(), signal, silenceMs)
      if (read.done) return
      yield read.value
    }
  } finally {
    void reader.cancel().catch(() => undefined)
  }
}

function withSilenceLimit<T>(work: Promise<T>, signal: AbortSignal, silenceMs: number | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    const stopSilenceTimer = (): void => {
      if (timer !== undefined) clearTimeout(timer)
      signal.removeEventListener('abort', rejectReadOnAbort)
    }
    const rejectReadOnAbort = (): void => {
      stopSilenceTimer()
      reject(signal.reason)
    }
    const onSilence = (): void => {
      stopSilenceTimer()
      reject(new RemoteFault('remote_unreachable'))
    }
    const timer = silenceMs === undefined ? undefined : setTimeout(onSilence, silenceMs)
    signal.addEventListener('abort', rejectReadOnAbort, { once: true })
    if (signal.aborted) rejectReadOnAbort()
    work.then(
      (value) => {
        stopSilenceTimer()
        resolve(value)
      },
      (error: unknown) => {
        stopSilenceTimer()
        reject(isTooLarge(error) ? new RemoteFault('remote_too_much') : new RemoteFault('remote_unreachable'))
      },
    )
  })
}

/** The guard's own limit, told as an error of the stream. */
function isTooLarge(error: unknown): boolean {
  return (
    isRemoteFault(error, 'remote_too_much') ||
    (error instanceof Error && 'code' in error && error.code === 'bad_request')
  )
}

export type RemoteLimits = {
  /** For the whole answer; a task that takes longer is cancelled. */
  readonly timeoutMs: number
  /** Without a byte, not even a heartbeat: then the stream counts as cut. */
  readonly silenceMs: number
  /** Until the headers of an answer are there. */
  readonly headersMs: number
  /** Of everything that is read for one message. */
  readonly maxBytes: number
  readonly maxEventBytes: number
  readonly maxEvents: number
  readonly maxArtifacts: number
}

export const maxCardBytes = 256 * 1024

export const defaultLimits: RemoteLimits = {
  timeoutMs: 5 * 60_000,
  silenceMs: 60_000,
  headersMs: 30_000,
  maxBytes: 16 * 1024 * 1024,
  maxEventBytes: 4 * 1024 * 1024,
  maxEvents: 10_000,
  maxArtifacts: 64,
}
