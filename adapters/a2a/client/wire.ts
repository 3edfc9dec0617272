// Builds A2A requests (A2A 1.0.1 and 0.3, JSON-RPC and HTTP+JSON). The protocol's names stay in here and in read-wire.ts.
import type { Json, JsonObject } from '../../../src/contract/index.ts'
import type { RemotePart } from './task.ts'

export type Dialect = '1.0' | '0.3'
export type Binding = 'JSONRPC' | 'HTTP+JSON'

/** One way to reach an agent, as its card lists it. */
export type RemoteInterface = {
  readonly url: string
  readonly binding: Binding
  readonly dialect: Dialect
  /** A routing key of the peer's own; echoed in every request. */
  readonly tenant?: string
}

export type OutboundMessage = {
  readonly messageId: string
  readonly contextId: string
  readonly taskId?: string
  readonly parts: readonly RemotePart[]
  readonly metadata: JsonObject
}

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

export const cardPath = '.well-known/agent-card.json'
export const legacyCardPath = '.well-known/agent.json'
/** What we read, in both spellings of JSON that the protocol has. */
export const jsonTypes = 'application/json, application/a2a+json'
const versionHeader = 'a2a-version'
const pageSize = '20'

/** Undefined: the dialect has no such operation. */
export function wireRequest(at: RemoteInterface, operation: Operation): WireRequest | undefined {
  if (at.dialect === '0.3' && operation.kind === 'list') return undefined
  const isStream = operation.kind === 'stream' || operation.kind === 'subscribe'
  const headers = {
    [versionHeader]: at.dialect,
    accept: isStream ? 'text/event-stream' : jsonTypes,
  }
  return at.binding === 'JSONRPC' ? rpcRequest(at, operation, headers) : restRequest(at, operation, headers)
}

const rpcMethods: Readonly<Record<Dialect, Readonly<Record<Operation['kind'], string>>>> = {
  '1.0': {
    send: 'SendMessage',
    stream: 'SendStreamingMessage',
    get: 'GetTask',
    cancel: 'CancelTask',
    subscribe: 'SubscribeToTask',
    list: 'ListTasks',
  },
  '0.3': {
    send: 'message/send',
    stream: 'message/stream',
    get: 'tasks/get',
    cancel: 'tasks/cancel',
    subscribe: 'tasks/resubscribe',
    list: '',
  },
}

function rpcRequest(at: RemoteInterface, operation: Operation, headers: WireRequest['headers']): WireRequest {
  const tenant = at.tenant === undefined ? {} : { tenant: at.tenant }
  const params = { ...tenant, ...operationParams(at, operation) }
  const call = { jsonrpc: '2.0', id: 1, method: rpcMethods[at.dialect][operation.kind], params }
  return {
    method: 'POST',
    url: at.url,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(call),
  }
}

function operationParams(at: RemoteInterface, operation: Operation): JsonObject {
  switch (operation.kind) {
    case 'send':
    case 'stream':
      return sendMessageParams(at, operation.message)
    case 'get':
    case 'cancel':
    case 'subscribe':
      return { id: operation.taskId }
    case 'list':
      return {
        contextId: operation.contextId,
        pageSize: Number(pageSize),
        historyLength: 50,
        ...(operation.pageToken === undefined ? {} : { pageToken: operation.pageToken }),
      }
  }
}

function restRequest(at: RemoteInterface, operation: Operation, headers: WireRequest['headers']): WireRequest {
  const tenant = at.tenant === undefined ? '' : `/${encodeURIComponent(at.tenant)}`
  const base = `${at.url.replace(/\/+$/, '')}${tenant}${at.dialect === '0.3' ? '/v1' : ''}`
  switch (operation.kind) {
    case 'send':
    case 'stream':
      return {
        method: 'POST',
        url: `${base}/message:${operation.kind}`,
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(sendMessageParams(at, operation.message)),
      }
    case 'get':
      return { method: 'GET', url: `${base}/tasks/${encodeURIComponent(operation.taskId)}`, headers }
    case 'subscribe':
      return { method: 'GET', url: `${base}/tasks/${encodeURIComponent(operation.taskId)}:subscribe`, headers }
    case 'cancel':
      return {
        method: 'POST',
        url: `${base}/tasks/${encodeURIComponent(operation.taskId)}:cancel`,
        headers: { ...headers, 'content-type': 'application/json' },
        body: '{}',
      }
    case 'list': {
      const query = new URLSearchParams({ contextId: operation.contextId, pageSize, historyLength: '50' })
      if (operation.pageToken !== undefined) query.set('pageToken', operation.pageToken)
      return { method: 'GET', url: `${base}/tasks?${query}`, headers }
    }
  }
}

/** It never has to answer before it is done: the task is followed under its id. */
function sendMessageParams({ dialect, binding }: RemoteInterface, message: OutboundMessage): JsonObject {
  const { messageId, contextId, taskId, metadata } = message
  const ids = { messageId, contextId, ...(taskId === undefined ? {} : { taskId }) }
  if (dialect === '1.0') {
    const parts = message.parts.map(toWirePart)
    return { message: { ...ids, role: 'ROLE_USER', parts, metadata }, configuration: { returnImmediately: true } }
  }
  const configuration = { blocking: false }
  if (binding === 'JSONRPC') {
    const parts = message.parts.map(legacyRpcPart)
    return { message: { kind: 'message', ...ids, role: 'user', parts, metadata }, configuration }
  }
  const content = message.parts.map(legacyRestPart)
  return { request: { ...ids, role: 'ROLE_USER', content, metadata }, configuration }
}

function toWirePart(part: RemotePart): Json {
  switch (part.kind) {
    case 'text':
      return { text: part.text, ...mediaTypeField(part) }
    case 'bytes':
      return { raw: part.base64, ...filenameField(part), ...mediaTypeField(part) }
    case 'url':
      return { url: part.url, ...filenameField(part), ...mediaTypeField(part) }
    case 'data':
      return { data: part.data }
  }
}

function legacyRpcPart(part: RemotePart): Json {
  switch (part.kind) {
    case 'text':
      return { kind: 'text', text: part.text }
    case 'bytes':
      return { kind: 'file', file: { bytes: part.base64, ...legacyFileFields(part) } }
    case 'url':
      return { kind: 'file', file: { uri: part.url, ...legacyFileFields(part) } }
    case 'data':
      return { kind: 'data', data: part.data }
  }
}

function legacyRestPart(part: RemotePart): Json {
  switch (part.kind) {
    case 'text':
      return { text: part.text }
    case 'bytes':
      return { file: { fileWithBytes: part.base64, ...legacyFileFields(part) } }
    case 'url':
      return { file: { fileWithUri: part.url, ...legacyFileFields(part) } }
    case 'data':
      return { data: { data: part.data } }
  }
}

function mediaTypeField({ mediaType }: { readonly mediaType?: string }): JsonObject {
  return mediaType === undefined ? {} : { mediaType }
}

function filenameField({ name }: { readonly name?: string }): JsonObject {
  return name === undefined ? {} : { filename: name }
}

function legacyFileFields({ name, mediaType }: { readonly name?: string; readonly mediaType?: string }): JsonObject {
  return { ...(name === undefined ? {} : { name }), ...(mediaType === undefined ? {} : { mimeType: mediaType }) }
}
