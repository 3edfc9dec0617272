// The JSON-RPC 2.0 binding: one POST per request.
import type { ServeDoor } from '../../../src/contract/index.ts'
import { answerType } from '../verify/media-type.ts'
import { readVersion } from '../verify/version.ts'
import { type Fault, fault, isFault } from '../wire/faults.ts'
import { type Fields, isFields } from '../wire/fields.ts'
import { fromLegacy } from '../wire/legacy/requests.ts'
import { type OperationName, operationOf, operations } from '../wire/operations.ts'
import { answer } from './answer.ts'
import { faultResponse, type RpcId, type Tongue } from './binding.ts'
import { type A2aDeps, invalidParams } from './call.ts'
import { identify } from './enter.ts'
import { mediaTypeFault, readJson } from './read-json.ts'

export type Arriving = {
  readonly request: Request
  readonly door: ServeDoor
  /** The agent that the path names. */
  readonly mount: string | undefined
  readonly origin: string
}

export async function serveRpc(deps: A2aDeps, arriving: Arriving): Promise<Response> {
  const { request, door, mount, origin } = arriving
  const { settings } = deps
  const mediaType = answerType(request.headers.get('content-type') ?? undefined, undefined)
  const tongue: Tongue = { dialect: '1.0', form: 'rpc', table: settings.errorTable, id: null, mediaType }
  if (request.method !== 'POST') {
    const only = fault('method_not_allowed', 'JSON-RPC is asked by POST', { headers: { allow: 'POST' } })
    return faultResponse(tongue, only)
  }
  const foreign = mediaTypeFault(request.headers, false)
  if (foreign !== undefined) return faultResponse(tongue, foreign)
  const caller = await identify(deps, request, door, mount)
  if (isFault(caller)) return faultResponse(tongue, caller)
  const body = await readJson(request, settings.maxBodyBytes)
  if (isFault(body)) return faultResponse(tongue, body)
  const envelope = readEnvelope(body)
  const answering = { ...tongue, id: envelope.id ?? null }
  if ('problem' in envelope) return faultResponse(answering, fault('invalid_request', envelope.problem))
  const dialect = readVersion(request, settings.protocolVersions)
  if (typeof dialect !== 'string') return faultResponse(answering, dialect)
  const spoken = { ...answering, dialect }
  const name = operationOf(envelope.method, dialect)
  if (name === undefined) return faultResponse(spoken, unknownMethod(envelope.method, dialect))
  const told = { ...spoken, isEventStream: dialect === '0.3' && operations[name].isStream === true }
  if (envelope.id === undefined) return unanswered(told, name)
  const params = paramsOf(body, name)
  if (isFault(params)) return faultResponse(told, params)
  const blocksByDefault = settings.legacyBlocking
  const read = dialect === '1.0' ? params : fromLegacy(name, params, { form: 'rpc', blocksByDefault })
  return answer(deps, { request, door, caller, mount, tenant: undefined, dialect, origin }, told, {
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
function unanswered(tongue: Tongue, name: OperationName): Response {
  if (operations[name].isRead === true) return new Response(null, { status: 204 })
  return faultResponse(
    tongue,
    invalidParams([{ field: 'id', description: 'is needed: without it you would not learn the outcome' }]),
  )
}

function unknownMethod(method: string, dialect: string): Fault {
  const other = operationOf(method, dialect === '1.0' ? '0.3' : '1.0')
  const advice =
    other === undefined ? '' : `; it is of ${dialect === '1.0' ? '0.3' : '1.0'}, and A2A-Version says ${dialect}`
  return fault('method_not_found', `there is no such method in version ${dialect}${advice}`)
}

function paramsOf(body: Fields, name: OperationName): Fields | Fault {
  const { params } = body
  if (isFields(params)) return params
  if ((params === undefined || params === null) && operations[name].isBare === true) return {}
  return invalidParams([{ field: 'params', description: 'must be an object' }])
}
