// Writes a result or an error on the wire, for each binding and version.
import type { Json } from '../../../src/contract/index.ts'
import { type ErrorTable, type Fault, faultDetails, faultNumbers } from '../wire/faults.ts'
import type { LegacyForm } from '../wire/legacy/requests.ts'
import { downgradeFrame, downgradeResult } from '../wire/legacy/results.ts'
import type { Dialect, OperationName } from '../wire/operations.ts'
import type { Frame, Outcome } from './call.ts'
import { type EventStreamOptions, eventStream } from './sse.ts'

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
  const { http, isHttp } = faultNumbers(fault.fault, tongue.table)
  if (tongue.isEventStream === true && !isHttp) {
    const shown = { ...headers, ...fault.headers, 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }
    return new Response(`data: ${JSON.stringify(faultBody(tongue, fault))}\n\n`, { status: 200, headers: shown })
  }
  const status = tongue.form === 'rpc' && !isHttp ? 200 : http
  return jsonResponse(status, faultBody(tongue, fault), tongue.mediaType, { ...headers, ...fault.headers })
}

function faultBody(tongue: ResponseFormat, fault: Fault): Json {
  const { code, http, status } = faultNumbers(fault.fault, tongue.table)
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
