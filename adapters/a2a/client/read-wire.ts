// Parses A2A answers. One tolerant reader for both versions and both bindings; whatever does not fit is malformed, from every
// peer.
import type { Fields, Json } from '../../../src/contract/index.ts'
import { asFields, isPlainObject, ownField, toJson } from '../../../src/lib/index.ts'
import { type FaultCode, RemoteFault } from './fault.ts'
import {
  chainRefusals,
  type RemoteArtifact,
  type RemoteEvent,
  type RemoteMessage,
  type RemotePart,
  type RemoteState,
  type RemoteTask,
} from './task.ts'
import type { RemoteInterface } from './wire.ts'

type Reads = Pick<RemoteInterface, 'dialect' | 'binding'>

const maxParts = 256
const maxHistory = 500
const maxIdLength = 512

/** What a task or a message was sent back as. */
export function readSent(at: Reads, result: unknown): RemoteEvent {
  const event = readEvent(at, result)
  if (event.kind !== 'task' && event.kind !== 'message') throw malformedAnswer()
  return event
}

/** One event of a stream: wrapped under its name in 1.0, marked with its kind in 0.3. */
export function readEvent(at: Reads, input: unknown): RemoteEvent {
  const fields = requireWireFields(input)
  if (at.dialect === '0.3' && at.binding === 'JSONRPC') return readKindedEvent(at, fields)
  if (isPlainObject(fields['task'])) return { kind: 'task', task: readRemoteTask(at, fields['task']) }
  const message = fields['message'] ?? fields['msg']
  if (isPlainObject(message)) return { kind: 'message', message: readRemoteMessage(at, message) }
  if (isPlainObject(fields['statusUpdate'])) return readStatusUpdate(at, fields['statusUpdate'])
  if (isPlainObject(fields['artifactUpdate'])) return readArtifactUpdate(at, fields['artifactUpdate'])
  throw malformedAnswer()
}

function readKindedEvent(at: Reads, fields: Fields): RemoteEvent {
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
      throw malformedAnswer()
  }
}

export function readRemoteTask(at: Reads, input: unknown): RemoteTask {
  const fields = requireWireFields(input)
  const status = requireWireFields(fields['status'])
  return {
    id: requireWireText(fields['id']),
    ...readContextId(fields),
    ...readRemoteStatus(at, status),
    artifacts: requireList(fields['artifacts'], maxParts).map((artifact) => readArtifact(at, artifact)),
    history: requireList(fields['history'], maxHistory).map((message) => readRemoteMessage(at, message)),
  }
}

/** One page of tasks, and the token of the next one. */
export function readTasks(at: Reads, input: unknown): { tasks: readonly RemoteTask[]; next: string | undefined } {
  const fields = requireWireFields(input)
  const next = fields['nextPageToken']
  return {
    tasks: requireList(fields['tasks'], 100).map((task) => readRemoteTask(at, task)),
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

function readRemoteParts(at: Reads, input: unknown): readonly RemotePart[] {
  return requireList(input, maxParts).map((part) => readRemotePart(at, requireWireFields(part)))
}

function readRemotePart(at: Reads, fields: Fields): RemotePart {
  const { text, raw, url, file } = fields
  if (typeof text === 'string') return { kind: 'text', text, ...readPartMediaType(fields, 'mediaType') }
  if (at.dialect === '1.0') {
    const shown = { ...readPartMediaType(fields, 'mediaType'), ...readPartName(fields, 'filename') }
    if (typeof raw === 'string') return { kind: 'bytes', base64: plainBase64(raw), ...shown }
    if (typeof url === 'string') return { kind: 'url', url, ...shown }
  } else if (isPlainObject(file)) return readLegacyFile(file)
  if (!Object.hasOwn(fields, 'data')) throw malformedAnswer()
  return { kind: 'data', data: readData(at, fields['data']) }
}

function readLegacyFile(file: Fields): RemotePart {
  const shown = { ...readPartMediaType(file, 'mimeType'), ...readPartName(file, 'name') }
  const bytes = file['bytes'] ?? file['fileWithBytes']
  const uri = file['uri'] ?? file['fileWithUri']
  if (typeof bytes === 'string' && bytes !== '') return { kind: 'bytes', base64: plainBase64(bytes), ...shown }
  if (typeof uri === 'string' && uri !== '') return { kind: 'url', url: uri, ...shown }
  throw malformedAnswer()
}

function readData({ dialect, binding }: Reads, data: unknown): Json {
  const isWrapped = dialect === '0.3' && binding === 'HTTP+JSON' && isPlainObject(data) && Object.hasOwn(data, 'data')
  return toJson(isWrapped ? ownField(data, 'data') : data) ?? null
}

/** Both alphabets of base64 are in use, with and without padding; we write one. */
function plainBase64(text: string): string {
  const plain = text.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '')
  if (!/^[A-Za-z0-9+/]*$/.test(plain) || plain.length % 4 === 1) throw malformedAnswer()
  return plain.padEnd(Math.ceil(plain.length / 4) * 4, '=')
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
  if (typeof input !== 'string') throw malformedAnswer()
  const plain = input
    .replace(/^TASK_STATE_/, '')
    .toLowerCase()
    .replaceAll('-', '_')
    .replace(/^canceled$/, 'cancelled')
  // Checked against the list right here.
  return states.has(plain) ? (plain as RemoteState) : 'unknown'
}

const rpcFaults: Readonly<Record<string, FaultCode>> = {
  '-32001': 'remote_task_lost',
  '-32002': 'remote_unsupported',
  '-32004': 'remote_unsupported',
  '-32009': 'remote_version_refused',
  '-32601': 'remote_unsupported',
  '-32603': 'remote_failed',
  '-32006': 'remote_failed',
}

/** The result of a JSON-RPC answer; its error is thrown as ours. */
export function rpcResult(answer: unknown): unknown {
  const fields = requireWireFields(answer)
  const { error } = fields
  if (isPlainObject(error)) throw new RemoteFault(rpcFaults[String(error['code'])] ?? 'remote_refused')
  if (!Object.hasOwn(fields, 'result')) throw malformedAnswer()
  return fields['result']
}

const reasonFaults: Readonly<Record<string, FaultCode>> = {
  TASK_NOT_FOUND: 'remote_task_lost',
  TASK_NOT_CANCELABLE: 'remote_unsupported',
  UNSUPPORTED_OPERATION: 'remote_unsupported',
  VERSION_NOT_SUPPORTED: 'remote_version_refused',
  INVALID_AGENT_RESPONSE: 'remote_failed',
}

/** What an answer says that is no success; `body` is what could be read of it. */
export function httpFault(status: number, body: unknown, retryAfter: string | null): RemoteFault {
  if (status === 401 || status === 403) return new RemoteFault('remote_unauthorized')
  const known = readFaultReason(body)
  if (known !== undefined) return new RemoteFault(known)
  if (status === 429 || status >= 500) return new RemoteFault('remote_unreachable', retryAfterSeconds(retryAfter))
  if (status === 404) return new RemoteFault('remote_task_lost')
  return new RemoteFault(status === 405 ? 'remote_unsupported' : 'remote_refused')
}

/** By its reason in 1.0; by its code in 0.3, and in a JSON-RPC body that came with an error's status. */
function readFaultReason(body: unknown): FaultCode | undefined {
  const fields = asFields(body)
  const error = isPlainObject(fields['error']) ? fields['error'] : fields
  const details = Array.isArray(error['details']) ? error['details'] : []
  const reason = details.map((detail) => asFields(detail)['reason']).find((each) => typeof each === 'string')
  const byReason = typeof reason === 'string' ? reasonFaults[reason] : undefined
  return byReason ?? rpcFaults[String(error['code'])]
}

function retryAfterSeconds(retryAfter: string | null): number | undefined {
  return retryAfter !== null && /^\d{1,6}$/.test(retryAfter.trim()) ? Number(retryAfter) : undefined
}

export function malformedAnswer(): RemoteFault {
  return new RemoteFault('remote_malformed')
}

function requireWireFields(input: unknown): Fields {
  if (!isPlainObject(input)) throw malformedAnswer()
  return input
}

function requireList(input: unknown, most: number): readonly unknown[] {
  if (input === undefined || input === null) return []
  if (!Array.isArray(input)) throw malformedAnswer()
  if (input.length > most) throw new RemoteFault('remote_too_much')
  return input
}

function requireWireText(input: unknown): string {
  if (typeof input !== 'string' || input === '' || input.length > maxIdLength) throw malformedAnswer()
  return input
}

function readContextId({ contextId }: Fields): { readonly contextId?: string } {
  return typeof contextId === 'string' && contextId !== '' ? { contextId: requireWireText(contextId) } : {}
}

function readPartMediaType(fields: Fields, key: string): { readonly mediaType?: string } {
  const type = fields[key]
  return typeof type === 'string' && /^[\w.+-]+\/[\w.+-]+/.test(type) ? { mediaType: type.slice(0, 200) } : {}
}

function readPartName(fields: Fields, key: string): { readonly name?: string } {
  const name = fields[key]
  return typeof name === 'string' && name !== '' ? { name: name.slice(0, 200) } : {}
}
