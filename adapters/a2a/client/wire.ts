// Requests to remote agents: one operation as what goes over the wire, in either version and binding.
import { asFields, type Fields, isPlainObject, type JsonObject, toJson } from '../../../src/lib/index.ts'
import { type FaultName, findFaultName } from '../protocol/faults.ts'
import { downgradeSendParams, type LegacyForm, upgradePart } from '../protocol/legacy.ts'
import { type A2aMessage, type A2aPart, standardBase64 } from '../protocol/objects.ts'
import { buildRestRoute, type Dialect, operations } from '../protocol/operations.ts'
import { type FaultCode, RemoteFault } from './fault.ts'
import {
  chainRefusals,
  type RemoteArtifact,
  type RemoteEvent,
  type RemoteMessage,
  type RemoteState,
  type RemoteTask,
} from './task.ts'

export type Binding = 'JSONRPC' | 'HTTP+JSON'

/** One way to reach an agent, as its card lists it. */
export type RemoteInterface = {
  readonly url: string
  readonly binding: Binding
  readonly dialect: Dialect
  /** A routing key of the peer's own; echoed in every request. */
  readonly tenant?: string
}

export type OutboundMessage = Omit<A2aMessage, 'role'> & { readonly contextId: string }

export type Operation =
  | { readonly kind: 'send' | 'stream'; readonly message: OutboundMessage }
  | { readonly kind: 'get' | 'cancel' | 'subscribe'; readonly taskId: string }
  | { readonly kind: 'list'; readonly contextId: string; readonly pageToken?: string }

export type WireRequest = {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** What we read, in both spellings of JSON that the protocol has. */
export const jsonTypes = 'application/json, application/a2a+json'

/** Undefined: the dialect has no such operation. */
export function operationToHttpRequest(at: RemoteInterface, operation: Operation): WireRequest | undefined {
  const { dialect, url, tenant } = at
  const { rpc, legacyRpc, isStream } = operations[operation.kind]
  const method = dialect === '1.0' ? rpc : legacyRpc
  if (method === undefined) return undefined
  const headers = { 'a2a-version': dialect, accept: isStream === true ? 'text/event-stream' : jsonTypes }
  const params = operationParams(at, operation)
  if (at.binding === 'HTTP+JSON') return buildRestRequest(at, operation, params, headers)
  const body = { jsonrpc: '2.0', id: 1, method, params: { ...(tenant === undefined ? {} : { tenant }), ...params } }
  return buildJsonPostRequest(url, headers, body)
}

function buildRestRequest(
  { dialect, url, tenant }: RemoteInterface,
  operation: Operation,
  params: JsonObject,
  headers: WireRequest['headers'],
): WireRequest | undefined {
  const route = buildRestRoute(operation.kind, dialect, 'taskId' in operation ? { id: operation.taskId } : {})
  if (route === undefined) return undefined
  const at = tenant === undefined ? '' : `/${encodeURIComponent(tenant)}`
  const place = `${url.replace(/\/+$/, '')}${at}${dialect === '0.3' ? '/v1' : ''}${route.path}`
  if (route.method === 'POST') return buildJsonPostRequest(place, headers, 'taskId' in operation ? {} : params)
  const members = 'taskId' in operation ? [] : Object.entries(params).map(([name, value]) => [name, String(value)])
  const query = new URLSearchParams(members).toString()
  return { method: 'GET', url: query === '' ? place : `${place}?${query}`, headers }
}

function buildJsonPostRequest(url: string, headers: WireRequest['headers'], body: JsonObject): WireRequest {
  return {
    method: 'POST',
    url,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
}

function operationParams(at: RemoteInterface, operation: Operation): JsonObject {
  switch (operation.kind) {
    case 'send':
    case 'stream': {
      // It never has to answer before it is done: the task is followed under its id.
      const message: A2aMessage = { ...operation.message, role: 'ROLE_USER' }
      if (at.dialect === '0.3') return downgradeSendParams(message, chooseLegacyForm(at))
      // Plain JSON with the protocol's own names.
      return { message: message as unknown as JsonObject, configuration: { returnImmediately: true } }
    }
    case 'get':
    case 'cancel':
    case 'subscribe':
      return { id: operation.taskId }
    case 'list': {
      const { contextId, pageToken } = operation
      return { contextId, pageSize: 20, historyLength: 50, ...(pageToken === undefined ? {} : { pageToken }) }
    }
  }
}

function chooseLegacyForm({ binding }: Pick<RemoteInterface, 'binding'>): LegacyForm {
  return binding === 'JSONRPC' ? 'rpc' : 'rest'
}

// Parses A2A answers. One tolerant reader for both versions and both bindings; whatever does not fit is malformed, from every
// peer.

type Reads = Pick<RemoteInterface, 'dialect' | 'binding'>

const maxParts = 256
const maxHistory = 500
const maxIdLength = 512

/** What a task or a message was sent back as. */
export function readSendResult(at: Reads, result: unknown): RemoteEvent {
  const event = readEvent(at, result)
  if (event.kind !== 'task' && event.kind !== 'message') throw malformedAnswerFault()
  return event
}

/** One event of a stream: wrapped under its name in 1.0, marked with its kind in 0.3. */
export function readEvent(at: Reads, input: unknown): RemoteEvent {
  const fields = requireWireFields(input)
  if (at.dialect === '0.3' && at.binding === 'JSONRPC') return readEventByKind(at, fields)
  if (isPlainObject(fields['task'])) return { kind: 'task', task: readRemoteTask(at, fields['task']) }
  const message = fields['message'] ?? fields['msg']
  if (isPlainObject(message)) return { kind: 'message', message: readRemoteMessage(at, message) }
  if (isPlainObject(fields['statusUpdate'])) return readStatusUpdate(at, fields['statusUpdate'])
  if (isPlainObject(fields['artifactUpdate'])) return readArtifactUpdate(at, fields['artifactUpdate'])
  throw malformedAnswerFault()
}

function readEventByKind(at: Reads, fields: Fields): RemoteEvent {
  switch (fields['kind']) {
    case 'task':
      return { kind: 'task', task: readRemoteTask(at, fields) }
    case 'message':
      return { kind: 'message', message: readRemoteMessage(at, fields) }
    case 'status-update':
      return readStatusUpdate(at, fields)
    case 'artifact-update':
      return readArtifactUpdate(at, fields)
    default:
      throw malformedAnswerFault()
  }
}

export function readRemoteTask(at: Reads, input: unknown): RemoteTask {
  const fields = requireWireFields(input)
  const status = requireWireFields(fields['status'])
  return {
    id: requireWireText(fields['id']),
    ...readContextId(fields),
    ...readRemoteStatus(at, status),
    artifacts: readBoundedList(fields['artifacts'], maxParts).map((artifact) => readArtifact(at, artifact)),
    history: readBoundedList(fields['history'], maxHistory).map((message) => readRemoteMessage(at, message)),
  }
}

/** One page of tasks, and the token of the next one. */
export function readTasks(at: Reads, input: unknown): { tasks: readonly RemoteTask[]; next: string | undefined } {
  const fields = requireWireFields(input)
  const next = fields['nextPageToken']
  return {
    tasks: readBoundedList(fields['tasks'], 100).map((task) => readRemoteTask(at, task)),
    next: typeof next === 'string' && next !== '' ? next : undefined,
  }
}

function readStatusUpdate(at: Reads, fields: Fields): RemoteEvent {
  const status = requireWireFields(fields['status'])
  return {
    kind: 'status',
    taskId: requireWireText(fields['taskId']),
    ...readContextId(fields),
    ...readRemoteStatus(at, status),
  }
}

function readArtifactUpdate(at: Reads, fields: Fields): RemoteEvent {
  return {
    kind: 'artifact',
    taskId: requireWireText(fields['taskId']),
    ...readContextId(fields),
    artifact: readArtifact(at, fields['artifact']),
    isAppended: fields['append'] === true,
  }
}

function readRemoteStatus(at: Reads, status: Fields): Pick<RemoteTask, 'state' | 'stateAt' | 'said'> {
  const message = status['message'] ?? status['update']
  const { timestamp } = status
  return {
    state: readTaskState(status['state']),
    ...(typeof timestamp === 'string' ? { stateAt: timestamp.slice(0, 64) } : {}),
    ...(isPlainObject(message) ? { said: readRemoteMessage(at, message) } : {}),
  }
}

function readRemoteMessage(at: Reads, input: unknown): RemoteMessage {
  const fields = requireWireFields(input)
  const role = String(fields['role'] ?? '').toLowerCase()
  return {
    messageId: requireWireText(fields['messageId']),
    ...readContextId(fields),
    isFromAgent: role === 'agent' || role === 'role_agent',
    parts: readRemoteParts(at, fields['parts'] ?? fields['content']),
    ...readChainRefusal(fields['metadata']),
  }
}

/** Its own words about a refusal are not passed on; a code that we know is. */
function readChainRefusal(metadata: unknown): Pick<RemoteMessage, 'refusal'> {
  const own = isPlainObject(metadata) ? metadata['mentionable'] : undefined
  const refusal = chainRefusals.find((code) => isPlainObject(own) && own['refusal'] === code)
  return refusal === undefined ? {} : { refusal }
}

function readArtifact(at: Reads, input: unknown): RemoteArtifact {
  const fields = requireWireFields(input)
  const { name } = fields
  return {
    id: requireWireText(fields['artifactId']),
    ...(typeof name === 'string' && name !== '' ? { name: name.slice(0, 200) } : {}),
    parts: readRemoteParts(at, fields['parts']),
  }
}

function readRemoteParts(at: Reads, input: unknown): readonly A2aPart[] {
  return readBoundedList(input, maxParts).map((part) => readRemotePart(at, requireWireFields(part)))
}

function readRemotePart(at: Reads, given: Fields): A2aPart {
  const fields = at.dialect === '1.0' ? given : upgradeRemotePart(at, given)
  const { text, raw, url } = fields
  const about = {
    ...pickMatchingTextField(fields, 'mediaType', /^[\w.+-]+\/[\w.+-]+/),
    ...pickMatchingTextField(fields, 'filename', /./),
  }
  if (typeof text === 'string') return { text, ...about }
  if (typeof raw === 'string') return { raw: standardBase64(raw) ?? throwMalformedAnswer(), ...about }
  if (typeof url === 'string' && url !== '') return { url, ...about }
  if (!Object.hasOwn(fields, 'data')) throw malformedAnswerFault()
  return { data: toJson(fields['data']) ?? null, ...about }
}

/** Not every peer names the kind of a part. */
function upgradeRemotePart(at: Reads, part: Fields): Fields {
  const kind = ['text', 'file', 'data'].find((name) => Object.hasOwn(part, name))
  return asFields(upgradePart({ ...part, kind }, chooseLegacyForm(at)))
}

const states: ReadonlySet<string> = new Set([
  'submitted',
  'working',
  'input_required',
  'auth_required',
  'completed',
  'failed',
  'cancelled',
  'rejected',
])

/** `TASK_STATE_INPUT_REQUIRED`, `input-required`: one state. `canceled` is spelled in two ways. */
function readTaskState(input: unknown): RemoteState {
  if (typeof input !== 'string') throw malformedAnswerFault()
  const plain = input
    .replace(/^TASK_STATE_/, '')
    .toLowerCase()
    .replaceAll('-', '_')
    .replace(/^canceled$/, 'cancelled')
  // Checked against the list right here.
  return states.has(plain) ? (plain as RemoteState) : 'unknown'
}

const remoteFaults: Readonly<Partial<Record<FaultName, FaultCode>>> = {
  task_not_found: 'remote_task_lost',
  task_not_cancelable: 'remote_unsupported',
  unsupported_operation: 'remote_unsupported',
  method_not_found: 'remote_unsupported',
  version_not_supported: 'remote_version_refused',
  internal_error: 'remote_failed',
  invalid_agent_response: 'remote_failed',
}

/** The result of a JSON-RPC answer; its error is thrown as ours. */
export function rpcResult(answer: unknown): unknown {
  const fields = requireWireFields(answer)
  const { error } = fields
  if (isPlainObject(error)) throw new RemoteFault(readRemoteFaultCode(fields) ?? 'remote_refused')
  if (!Object.hasOwn(fields, 'result')) throw malformedAnswerFault()
  return fields['result']
}

/** What an answer says that is no success; `body` is what could be read of it. */
export function httpFault(status: number, body: unknown, retryAfter: string | null): RemoteFault {
  if (status === 401 || status === 403) return new RemoteFault('remote_unauthorized')
  const known = readRemoteFaultCode(body)
  if (known !== undefined) return new RemoteFault(known)
  if (status === 429 || status >= 500) return new RemoteFault('remote_unreachable', retryAfterSeconds(retryAfter))
  if (status === 404) return new RemoteFault('remote_task_lost')
  return new RemoteFault(status === 405 ? 'remote_unsupported' : 'remote_refused')
}

/** By its reason in 1.0; by its code in 0.3, and in a JSON-RPC body that came with an error's status. */
function readRemoteFaultCode(body: unknown): FaultCode | undefined {
  const fields = asFields(body)
  const error = isPlainObject(fields['error']) ? fields['error'] : fields
  const details = Array.isArray(error['details']) ? error['details'] : []
  const reason = details.map((detail) => asFields(detail)['reason']).find((each) => typeof each === 'string')
  const known = findFaultName(reason, error['code'])
  return known === undefined ? undefined : remoteFaults[known]
}

function retryAfterSeconds(retryAfter: string | null): number | undefined {
  return retryAfter !== null && /^\d{1,6}$/.test(retryAfter.trim()) ? Number(retryAfter) : undefined
}

export function malformedAnswerFault(): RemoteFault {
  return new RemoteFault('remote_malformed')
}

function requireWireFields(input: unknown): Fields {
  if (!isPlainObject(input)) throw malformedAnswerFault()
  return input
}

function readBoundedList(input: unknown, most: number): readonly unknown[] {
  if (input === undefined || input === null) return []
  if (!Array.isArray(input)) throw malformedAnswerFault()
  if (input.length > most) throw new RemoteFault('remote_too_much')
  return input
}

function requireWireText(input: unknown): string {
  if (typeof input !== 'string' || input === '' || input.length > maxIdLength) throw malformedAnswerFault()
  return input
}

function readContextId({ contextId }: Fields): { readonly contextId?: string } {
  return typeof contextId === 'string' && contextId !== '' ? { contextId: requireWireText(contextId) } : {}
}

function pickMatchingTextField(fields: Fields, name: string, pattern: RegExp): JsonObject {
  const value = fields[name]
  return typeof value === 'string' && pattern.test(value) ? { [name]: value.slice(0, 200) } : {}
}

function throwMalformedAnswer(): never {
  throw malformedAnswerFault()
}
