// The JSON-RPC 2.0 binding: one POST per request.
import type { ServeContext } from '../../../src/contract/index.ts'
import { type Fields, isPlainObject, parseBoundedJson, readBody } from '../../../src/lib/index.ts'
import { createFault, type Fault, isA2aFault } from '../protocol/faults.ts'
import { upgradeRequest } from '../protocol/legacy.ts'
import { findOperation, type OperationName, operations } from '../protocol/operations.ts'
import { chooseAnswerMediaType, matchJsonMediaType, readProtocolVersion } from '../verify.ts'
import { type A2aDeps, invalidParamsFault } from './call.ts'
import { faultResponse, type ResponseFormat, type RpcId } from './responses.ts'
import { answerOperation, identifyCaller } from './run-operation.ts'

export type BindingRequest = {
  readonly request: Request
  readonly context: ServeContext
  /** The agent that the path names. */
  readonly mount: string | undefined
  readonly origin: string
}

export async function serveRpc(deps: A2aDeps, arriving: BindingRequest): Promise<Response> {
  const { request, context, mount, origin } = arriving
  const { settings } = deps
  const mediaType = chooseAnswerMediaType(request.headers.get('content-type') ?? undefined, undefined)
  const tongue: ResponseFormat = { dialect: '1.0', form: 'rpc', table: settings.errorTable, id: null, mediaType }
  if (request.method !== 'POST') {
    const only = createFault('method_not_allowed', 'JSON-RPC is asked by POST', { headers: { allow: 'POST' } })
    return faultResponse(tongue, only)
  }
  const foreign = mediaTypeFault(request.headers, false)
  if (foreign !== undefined) return faultResponse(tongue, foreign)
  const caller = await identifyCaller(deps, request, context, mount)
  if (isA2aFault(caller)) return faultResponse(tongue, caller)
  const body = await readJsonBody(request, settings.maxBodyBytes)
  if (isA2aFault(body)) return faultResponse(tongue, body)
  const envelope = readEnvelope(body)
  const answering = { ...tongue, id: envelope.id ?? null }
  if ('problem' in envelope) return faultResponse(answering, createFault('invalid_request', envelope.problem))
  const dialect = readProtocolVersion(request, settings.protocolVersions)
  if (typeof dialect !== 'string') return faultResponse(answering, dialect)
  const spoken = { ...answering, dialect }
  const name = findOperation(envelope.method, dialect)
  if (name === undefined) return faultResponse(spoken, unknownMethodFault(envelope.method, dialect))
  const told = { ...spoken, isEventStream: dialect === '0.3' && operations[name].isStream === true }
  if (envelope.id === undefined) return notificationResponse(told, name)
  const params = readRpcParams(body, name)
  if (isA2aFault(params)) return faultResponse(told, params)
  const blocksByDefault = settings.legacyBlocking
  const read = dialect === '1.0' ? params : upgradeRequest(name, params, { form: 'rpc', blocksByDefault })
  return answerOperation(deps, { request, context, caller, mount, tenant: undefined, dialect, origin }, told, {
    name,
    params: read,
  })
}

type Envelope =
  /** `id` undefined: a notification. */
  | { readonly id: RpcId | undefined; readonly method: string }
  | { readonly id: RpcId | undefined; readonly problem: string }

function readEnvelope(body: Fields): Envelope {
  const { id: given, method } = body
  const isId = given === undefined || given === null || typeof given === 'string' || Number.isInteger(given)
  if (!isId) return { id: null, problem: 'id must be a string, a whole number or null' }
  // Just checked to be one.
  const id = given as RpcId | undefined
  if (body['jsonrpc'] !== '2.0') return { id, problem: 'jsonrpc must be "2.0"' }
  if (typeof method !== 'string' || method === '') return { id, problem: 'method must be the name of one' }
  return { id, method }
}

/** A notification has no answer: an operation that changes something is not done where its caller cannot learn the outcome. */
function notificationResponse(tongue: ResponseFormat, name: OperationName): Response {
  if (operations[name].isRead === true) return new Response(null, { status: 204 })
  return faultResponse(
    tongue,
    invalidParamsFault([{ field: 'id', description: 'is needed: without it you would not learn the outcome' }]),
  )
}

function unknownMethodFault(method: string, dialect: string): Fault {
  const other = findOperation(method, dialect === '1.0' ? '0.3' : '1.0')
  const advice =
    other === undefined ? '' : `; it is of ${dialect === '1.0' ? '0.3' : '1.0'}, and A2A-Version says ${dialect}`
  return createFault('method_not_found', `there is no such method in version ${dialect}${advice}`)
}

function readRpcParams(body: Fields, name: OperationName): Fields | Fault {
  const { params } = body
  if (isPlainObject(params)) return params
  if ((params === undefined || params === null) && operations[name].isBare === true) return {}
  return invalidParamsFault([{ field: 'params', description: 'must be an object' }])
}

// The body of a request: of a type we read, never more of it than allowed, and a JSON object.

/** Before anything is read. `isOptional`: a request that carries nothing needs no type. */
export function mediaTypeFault(headers: Headers, isOptional: boolean): Fault | undefined {
  const type = headers.get('content-type')
  const encoding = (headers.get('content-encoding') ?? 'identity').trim().toLowerCase()
  const isBare = type === null && isOptional
  if (encoding === 'identity' && (isBare || matchJsonMediaType(type ?? '') !== undefined)) return undefined
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
