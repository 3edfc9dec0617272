// The body of a request: of a type we read, never more of it than allowed, and a JSON object.
import { parseBoundedJson, readBody } from '../../../src/lib/index.ts'
import { parseJsonType } from '../verify/media-type.ts'
import { createFault, type Fault } from '../wire/faults.ts'
import type { Fields } from '../wire/fields.ts'

/** Before anything is read. `isOptional`: a request that carries nothing needs no type. */
export function mediaTypeFault(headers: Headers, isOptional: boolean): Fault | undefined {
  const type = headers.get('content-type')
  const encoding = (headers.get('content-encoding') ?? 'identity').trim().toLowerCase()
  const isBare = type === null && isOptional
  if (encoding === 'identity' && (isBare || parseJsonType(type ?? '') !== undefined)) return undefined
  const advice = 'send Content-Type: application/json or application/a2a+json, not compressed'
  return createFault('unsupported_media_type', `the body is of a type that is not read here; ${advice}`)
}

export async function readJsonBody(request: Request, maxBytes: number): Promise<Fields | Fault> {
  const bytes = await readBody(request, maxBytes)
  if (bytes === undefined)
    return createFault('body_too_large', `the request is too large; send at most ${maxBytes} bytes`, {
      // What was not read would be taken for the next request.
      headers: { connection: 'close' },
    })
  if (bytes.length === 0) return {}
  const json = parseBoundedJson(bytes)
  if (json.ok) return json.value
  switch (json.reason) {
    case 'not_an_object':
      return createFault('invalid_request', 'the request must be one JSON object; batches are not part of the protocol')
    case 'too_deep':
      return createFault('invalid_request', 'the request is nested too deeply')
    default:
      return createFault('parse_error', 'the request is not valid JSON')
  }
}
