// Writes a result or an error on the wire, for each binding and version.
import type { Json } from '../../../src/lib/index.ts'
import { type ErrorTable, type Fault, faultDetails, faultStatusCodes } from '../protocol/faults.ts'
import { downgradeFrame, downgradeResult, type LegacyForm } from '../protocol/legacy.ts'
import type { Dialect, OperationName } from '../protocol/operations.ts'
import type { Frame, Outcome } from './call.ts'

export type RpcId = string | number | null

/** Which binding, version and media type an answer is written in. */
export type ResponseFormat = {
  readonly dialect: Dialect
  readonly form: LegacyForm
  readonly table: ErrorTable
  /** Of a JSON-RPC request. */
  readonly id: RpcId
  readonly mediaType: string
  /** Errors are an event too: readers of 0.3 take nothing else from a method that streams. */
  readonly isEventStream?: boolean
}

type Headers = Readonly<Record<string, string>>

export function resultResponse(tongue: ResponseFormat, name: OperationName, body: Json, headers: Headers): Response {
  // Operations give objects; only the older version has other results.
  const value =
    tongue.dialect === '1.0' ? body : downgradeResult(name, body as Readonly<Record<string, Json>>, tongue.form)
  const whole = tongue.form === 'rpc' ? { jsonrpc: '2.0', id: tongue.id, result: value } : value
  return jsonResponse(200, whole, tongue.mediaType, headers)
}

export function faultResponse(tongue: ResponseFormat, fault: Fault, headers: Headers = {}): Response {
  const { http, isHttp } = faultStatusCodes(fault.fault, tongue.table)
  if (tongue.isEventStream === true && !isHttp) {
    const shown = { ...headers, ...fault.headers, 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }
    return new Response(`data: ${JSON.stringify(faultBody(tongue, fault))}\n\n`, { status: 200, headers: shown })
  }
  const status = tongue.form === 'rpc' && !isHttp ? 200 : http
  return jsonResponse(status, faultBody(tongue, fault), tongue.mediaType, { ...headers, ...fault.headers })
}

function faultBody(tongue: ResponseFormat, fault: Fault): Json {
  const { code, http, status } = faultStatusCodes(fault.fault, tongue.table)
  const { message } = fault
  // Typed details are JSON.
  const details = faultDetails(fault) as unknown as Json
  if (tongue.form === 'rpc') return { jsonrpc: '2.0', id: tongue.id, error: { code, message, data: details } }
  if (tongue.dialect === '0.3') return { code, message, data: details }
  return { error: { code: http, status, message, details } }
}

export function streamResponse(
  tongue: ResponseFormat,
  stream: Extract<Outcome, { kind: 'stream' }>,
  options: Omit<EventStreamOptions, 'write' | 'writeFailure'> & { readonly onFailure: (error: unknown) => Fault },
  headers: Headers,
): Response {
  const { onFailure, ...rest } = options
  const body = eventStream(stream, {
    ...rest,
    write: (frame) => JSON.stringify(frameBody(tongue, frame)),
    writeFailure: (error) => JSON.stringify(faultBody(tongue, onFailure(error))),
  })
  return new Response(body, {
    status: 200,
    headers: {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      ...headers,
    },
  })
}

function frameBody({ dialect, form, id }: ResponseFormat, { response, isLast }: Frame): Json {
  // Render writes JSON.
  const value = dialect === '1.0' ? (response as unknown as Json) : downgradeFrame(response, form, isLast)
  return form === 'rpc' ? { jsonrpc: '2.0', id, result: value } : value
}

function jsonResponse(status: number, body: Json, mediaType: string, headers: Headers): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': mediaType, 'cache-control': 'no-store', ...headers },
  })
}

// Frames as server-sent events: pulled by their reader, so that a slow one holds nothing but its place; a keep-alive comment in
// silence; an end in time. A reader that disconnects stops nothing.

type EventStreamOptions = {
  readonly write: (frame: Frame) => string
  /** What is said when it breaks after it began; then it ends. */
  readonly writeFailure: (error: unknown) => string
  readonly heartbeatMs: number
  readonly lifeMs: number
  /** Called when the reader is gone or all was said. */
  readonly onEnd: () => void
}

const utf8 = new TextEncoder()

type Stream = Extract<Outcome, { kind: 'stream' }>

function eventStream({ first, rest }: Stream, options: EventStreamOptions): ReadableStream<Uint8Array> {
  const frames = rest[Symbol.asyncIterator]()
  let next: Promise<IteratorResult<readonly Frame[]>> | undefined
  let waiting: readonly Frame[] = first
  const endsAt = Promise.withResolvers<'over'>()
  const life = setTimeout(() => endsAt.resolve('over'), options.lifeMs)
  let isEnded = false
  const endEventStream = (): void => {
    if (isEnded) return
    isEnded = true
    clearTimeout(life)
    options.onEnd()
  }
  const enqueueFrames = (controller: ReadableStreamDefaultController<Uint8Array>, batch: readonly Frame[]): void => {
    for (const frame of batch) controller.enqueue(utf8.encode(sseEventText(frame, options.write)))
    if (batch.at(-1)?.isLast !== true) return
    controller.close()
    endEventStream()
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          for (;;) {
            if (waiting.length > 0) {
              const batch = waiting
              waiting = []
              return enqueueFrames(controller, batch)
            }
            next ??= frames.next()
            const got = await awaitNextOrSilence(next, endsAt.promise, options.heartbeatMs)
            // Its reader has disconnected.
            if (isEnded) return
            if (got === 'silence') return controller.enqueue(utf8.encode(': still here\n\n'))
            next = undefined
            if (got !== 'over' && got.done !== true) {
              waiting = got.value
              continue
            }
            controller.close()
            return endEventStream()
          }
        } catch (error) {
          if (isEnded) return
          controller.enqueue(utf8.encode(`data: ${options.writeFailure(error)}\n\n`))
          controller.close()
          endEventStream()
        }
      },
      cancel: endEventStream,
    },
    // Nothing is fetched before the reader pulls.
    { highWaterMark: 0 },
  )
}

function sseEventText(frame: Frame, write: (frame: Frame) => string): string {
  const id = frame.id === undefined || frame.id === '' ? '' : `id: ${frame.id}\n`
  return `${id}data: ${write(frame)}\n\n`
}

async function awaitNextOrSilence<T>(
  next: Promise<T>,
  over: Promise<'over'>,
  afterMs: number,
): Promise<T | 'silence' | 'over'> {
  const { promise: silence, resolve } = Promise.withResolvers<'silence'>()
  const timer = setTimeout(() => resolve('silence'), afterMs)
  try {
    return await Promise.race([next, over, silence])
  } finally {
    clearTimeout(timer)
  }
}
