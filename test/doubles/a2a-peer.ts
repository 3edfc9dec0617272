// A gateway that speaks A2A, asked as other agents ask it: over either binding, from this machine or from elsewhere.
import { a2a, a2aChannel } from '../../adapters/a2a/index.ts'
import type { Agent } from '../../src/agents/define-agent.ts'
import type { ParleyConfig } from '../../src/config.ts'
import type { ConnectionConfig } from '../../src/contract/index.ts'
import type { Database } from '../../src/db/client.ts'
import type { Runtime } from '../../src/gateway/assemble.ts'
import { createObedientAgent, type ObedientAgent } from './a2a-agent.ts'
import { putToWork } from './background-gateway.ts'
import { type Heard, listenTo } from './event-stream.ts'
import { createTestApp } from './test-app.ts'
import { createTestGateway, type TestGateway } from './test-gateway.ts'
import { madeToken } from './tokens.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies are looked into by the tests that name them.
export type Body = any
export type Binding = 'JSONRPC' | 'HTTP+JSON'
export const bindings: readonly Binding[] = ['JSONRPC', 'HTTP+JSON']

export type Answer = {
  readonly status: number
  readonly headers: Headers
  /** What came back, out of its envelope. */
  readonly result: Body
  /** In either binding: the code of JSON-RPC, the words, and which fields. */
  readonly error: { readonly code: number; readonly message: string; readonly fields: readonly string[] } | undefined
  readonly body: Body
}

export type Asking = {
  readonly token?: string
  readonly isElsewhere?: boolean
  readonly headers?: Readonly<Record<string, string>>
  /** Where the connection is served; without it at /a2a. */
  readonly base?: string
  /** Below this agent; without it at the hub. */
  readonly agent?: string
  readonly signal?: AbortSignal
}

export type Stream = {
  readonly response: Response
  readonly frames: readonly (Heard & { readonly body: Body })[]
  readonly ended: Promise<void>
  readonly hangUp: () => Promise<void>
}

const paths: Readonly<Record<string, (params: Body) => readonly [string, string, Body?]>> = {
  SendMessage: (params) => ['POST', '/message:send', params],
  SendStreamingMessage: (params) => ['POST', '/message:stream', params],
  GetTask: ({ id, ...rest }) => ['GET', `/tasks/${id}${query(rest)}`],
  ListTasks: (params) => ['GET', `/tasks${query(params)}`],
  CancelTask: ({ id, ...rest }) => ['POST', `/tasks/${id}:cancel`, rest],
  SubscribeToTask: ({ id }) => ['GET', `/tasks/${id}:subscribe`],
  CreateTaskPushNotificationConfig: ({ taskId, ...rest }) => ['POST', `/tasks/${taskId}/pushNotificationConfigs`, rest],
  GetTaskPushNotificationConfig: ({ taskId, id }) => ['GET', `/tasks/${taskId}/pushNotificationConfigs/${id}`],
  ListTaskPushNotificationConfigs: ({ taskId }) => ['GET', `/tasks/${taskId}/pushNotificationConfigs`],
  DeleteTaskPushNotificationConfig: ({ taskId, id }) => ['DELETE', `/tasks/${taskId}/pushNotificationConfigs/${id}`],
  GetExtendedAgentCard: () => ['GET', '/extendedAgentCard'],
}

function query(params: Readonly<Record<string, unknown>>): string {
  const entries = Object.entries(params).map(([name, value]) => [name, String(value)])
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries)}`
}

export type A2aPeer = Awaited<ReturnType<typeof startA2a>>

export type StartOptions = {
  readonly settings?: Parameters<typeof a2a>[0]
  readonly agents?: readonly Agent[]
  readonly connections?: readonly ConnectionConfig[]
  readonly runtime?: Partial<Runtime>
  readonly config?: Pick<ParleyConfig, 'tokenIssuers' | 'turns'>
}

export function startA2a(database: Database, options: StartOptions = {}) {
  const obedient: ObedientAgent = createObedientAgent()
  const connections = options.connections ?? [a2a(options.settings)]
  const sealKeys = async () => [new Uint8Array(32).fill(7)]
  const gateway: TestGateway = createTestGateway(
    database,
    { ...options.config, agents: options.agents ?? [obedient.agent], connections },
    { sealKeys, ...options.runtime },
    [a2aChannel],
  )
  const app = createTestApp(gateway, database, {
    sourceOf: (context) => (context.req.header('x-test-elsewhere') === undefined ? 'local' : 'remote'),
  })
  const work = putToWork(gateway)
  const request = async (path: string, init: RequestInit = {}, how: Asking = {}): Promise<Response> => {
    const headers = new Headers({ 'a2a-version': '1.0', ...how.headers })
    for (const [name, value] of new Headers(init.headers)) headers.set(name, value)
    if (how.headers?.['a2a-version'] === '') headers.delete('a2a-version')
    if (how.isElsewhere === true) headers.set('x-test-elsewhere', 'yes')
    if (how.token !== undefined) headers.set('authorization', `Bearer ${how.token}`)
    return app.request(path, { ...init, headers, ...(how.signal === undefined ? {} : { signal: how.signal }) })
  }
  const at = ({ agent, base = '/a2a' }: Asking): string => (agent === undefined ? base : `${base}/${agent}`)
  const send = (binding: Binding, method: string, params: Body, how: Asking): Promise<Response> => {
    if (binding === 'JSONRPC') {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 'r1', method, params })
      return request(at(how), { method: 'POST', headers: { 'content-type': 'application/json' }, body }, how)
    }
    const [verb, path, body] = paths[method]?.(params) ?? ['GET', '/nothing']
    const type = { 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body), headers: type }
    return request(at(how) + path, { method: verb, ...sent }, how)
  }
  return {
    gateway,
    app,
    obedient,
    request,
    async call(binding: Binding, method: string, params: Body = {}, how: Asking = {}): Promise<Answer> {
      return answerOf(binding, await send(binding, method, params, how))
    },
    async open(binding: Binding, method: string, params: Body = {}, how: Asking = {}): Promise<Stream> {
      return streamOf(binding, await send(binding, method, params, how))
    },
    token: async (terms = {}) => (await madeToken(database, { scopes: ['run'], ...terms })).clear,
    async stop(): Promise<void> {
      obedient.release()
      await work.stop()
      gateway.stop()
    },
  }
}

const reasons: Readonly<Record<string, number>> = {
  TASK_NOT_FOUND: -32001,
  TASK_NOT_CANCELABLE: -32002,
  PUSH_NOTIFICATION_NOT_SUPPORTED: -32003,
  UNSUPPORTED_OPERATION: -32004,
  CONTENT_TYPE_NOT_SUPPORTED: -32005,
  INVALID_AGENT_RESPONSE: -32006,
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: -32007,
  EXTENSION_SUPPORT_REQUIRED: -32008,
  VERSION_NOT_SUPPORTED: -32009,
}

export async function answerOf(binding: Binding, response: Response): Promise<Answer> {
  const text = await response.text()
  const body: Body = text === '' ? undefined : JSON.parse(text)
  const { status, headers } = response
  const error = body?.error
  if (error === undefined)
    return { status, headers, body, result: binding === 'JSONRPC' ? body?.result : body, error: undefined }
  const details: Body[] = (binding === 'JSONRPC' ? error.data : error.details) ?? []
  const fields = details.flatMap((detail) => (detail.fieldViolations ?? []).map((each: Body) => each.field))
  const reason = details.find((detail) => 'reason' in detail)?.reason
  const code = binding === 'JSONRPC' ? error.code : (reasons[reason] ?? (fields.length > 0 ? -32602 : error.code))
  return { status, headers, body, result: undefined, error: { code, message: error.message, fields } }
}

export function streamOf(binding: Binding, response: Response): Stream {
  const { heard, ended, hangUp } = listenTo(response)
  return {
    response,
    get frames() {
      return heard.map((each) => ({ ...each, body: binding === 'JSONRPC' ? each.data['result'] : each.data }))
    },
    ended,
    hangUp,
  }
}

let count = 0

/** A message of its own; `said` may be more than words. */
export function aMessage(text: string, more: Body = {}): Body {
  count += 1
  return {
    messageId: `m-${count}-${Math.random().toString(16).slice(2)}`,
    role: 'ROLE_USER',
    parts: [{ text }],
    ...more,
  }
}
