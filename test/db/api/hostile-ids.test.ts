// Hostile characters in every field that a caller can fill, on every route of the document and every method of A2A: the caller is told
// what is wrong, nothing fails on our side, and the next caller is served.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { a2a, a2aChannel } from '../../../adapters/a2a/index.ts'
import { aguiChannel } from '../../../adapters/agui/index.ts'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import type { DocumentedOperation, OpenApi, Parameter } from '../../../src/api/openapi/document.ts'
import { putToWork } from '../../doubles/background-gateway.ts'
import { createTestApp, operatorToken } from '../../doubles/test-app.ts'
import {
  createTestGateway,
  loopbackChannels,
  loopbackConnections,
  type TestGateway,
} from '../../doubles/test-gateway.ts'
import { madeToken } from '../../doubles/tokens.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const hostile: Readonly<Record<string, string>> = {
  nul: 'a\u0000b',
  escape: 'a\u001b[31mb',
  bell: 'a\u0007b',
  lines: 'a\r\nb: c',
  c1: 'a\u009b31mb',
  surrogate: 'a\ud800b',
  bidi: 'a\u202eb',
  separator: 'a\u2028b',
  long: 'a'.repeat(20_000),
  proto: '__proto__',
}
/** Must never be taken for an id. */
const refusedAsId = ['nul', 'escape', 'bell', 'lines', 'c1', 'surrogate', 'bidi', 'separator', 'long']

type Body = Record<string, unknown>
type Schema = { readonly [name: string]: unknown }
type Sent = { readonly name: string; readonly status: number; readonly body: string }

describeOnDatabase('hostile characters', (database) => {
  let gateway: TestGateway
  let app: ReturnType<typeof createTestApp>
  let document: OpenApi
  let runToken = ''
  let stop: () => Promise<unknown>

  beforeAll(async () => {
    const connections = [
      ...loopbackConnections('http://127.0.0.1:9'),
      { channel: 'agui', id: 'demo', settings: {} },
      a2a({ blockMs: 200, streamMs: 300, heartbeatMs: 100 }),
    ]
    const agents = [defineAgent({ slug: 'demo', run: () => 'ok' })]
    const runtime = { sealKeys: async () => [new Uint8Array(32).fill(7)] }
    gateway = createTestGateway(database(), { agents, connections }, runtime, [
      ...loopbackChannels,
      aguiChannel,
      a2aChannel,
    ])
    app = createTestApp(gateway, database(), { watchMs: 300 })
    const work = putToWork(gateway)
    stop = async () => {
      await work.stop()
      gateway.stop()
    }
    document = await (await app.request('http://bot.example/openapi.json')).json()
  })
  beforeEach(async () => {
    runToken = (await madeToken(database(), { scopes: ['run'], principal: 'gw:user/walker' })).clear
  })
  afterAll(() => stop())

  const ask = async (name: string, path: string, init: RequestInit): Promise<Sent> => {
    const response = await app.request(`http://bot.example${path}`, { ...init, signal: AbortSignal.timeout(5_000) })
    const isStream = (response.headers.get('content-type') ?? '').startsWith('text/event-stream')
    return { name, status: response.status, body: await (isStream ? firstOf(response) : response.text()) }
  }
  const tokenFor = (path: string): string => (path.startsWith('/admin') ? operatorToken : runToken)
  const isHonestServed = async (): Promise<number> => {
    const id = crypto.randomUUID()
    const body = { threadId: id, runId: id, messages: [{ id, role: 'user', content: 'hello' }] }
    return (await ask('honest', '/api/v1/agent/run', posted(body, runToken))).status
  }

  test('in paths, queries, headers and bodies of every documented route are never a server error', async () => {
    const faults: Sent[] = []
    let asked = 0
    for (const [path, methods] of Object.entries(document.paths)) {
      // Asked below, with its own requests; the readiness of a test gateway is not asked.
      if (path.startsWith('/a2a') || path === '/readyz' || path === '/metrics') continue
      for (const [method, operation] of Object.entries(methods)) {
        for (const variants of inBatches(variantsOf(document, path, operation))) {
          await Promise.all(
            variants.map(async (variant) => {
              const headers = { authorization: `Bearer ${tokenFor(path)}`, ...variant.headers }
              const init =
                variant.body === undefined ? { headers } : posted(variant.body, tokenFor(path), variant.headers)
              const sent = await ask(`${method} ${path} ${variant.name}`, variant.path, {
                ...init,
                method: method.toUpperCase(),
              })
              asked += 1
              if (sent.status >= 500) faults.push(sent)
            }),
          )
        }
      }
    }
    expect(faults.map(({ name, status, body }) => `${name}: ${status} ${body.slice(0, 120)}`)).toEqual([])
    expect(asked).toBeGreaterThan(500)
    expect(await isHonestServed()).toBe(200)
  })

  test.each(['threadId', 'runId', 'message id'])(
    'in the %s of a run are answered 400 with what to correct',
    async (field) => {
      for (const kind of refusedAsId) {
        const value = hostile[kind] ?? ''
        const fine = crypto.randomUUID()
        const body = {
          threadId: field === 'threadId' ? value : fine,
          runId: field === 'runId' ? value : fine,
          messages: [{ id: field === 'message id' ? value : fine, role: 'user', content: 'hello' }],
        }
        const sent = await ask(kind, '/api/v1/agent/run', posted(body, runToken))
        expect([kind, sent.status]).toEqual([kind, 400])
        expect(JSON.parse(sent.body)).toMatchObject({ code: expect.any(String), remedy: expect.any(String) })
      }
    },
  )

  test('in the words of a message are no reason to refuse it', async () => {
    for (const kind of ['escape', 'bidi', 'c1', 'surrogate', 'nul']) {
      const id = crypto.randomUUID()
      const body = { threadId: id, runId: id, messages: [{ id, role: 'user', content: `say ${hostile[kind]}` }] }
      expect([kind, (await ask(kind, '/api/v1/agent/run', posted(body, runToken))).status]).toEqual([kind, 200])
    }
  })

  test('in every field of every method of A2A, in either version and binding, are never a server error', async () => {
    /** Ids that are none and were taken for one. */
    const taken: Sent[] = []
    const idField = new RegExp(`(?:messageId|contextId|taskId|params\\.id) (?:${refusedAsId.join('|')})$`)
    const faults: Sent[] = []
    let asked = 0
    const note = (sent: Sent): void => {
      asked += 1
      const code = Number(/"code":(-?\d+)/.exec(sent.body)?.[1] ?? 0)
      // JSON-RPC says in its body what went wrong on our side (-32603).
      if (sent.status >= 500 || code === -32603) faults.push(sent)
    }
    const headersOf = (version: string) => ({ 'a2a-version': version, authorization: `Bearer ${runToken}` })
    for (const [version, calls] of Object.entries(a2aCalls)) {
      for (const [method, params] of Object.entries(calls)) {
        for (const batch of inBatches(leaves({ id: 'r1', params })))
          await Promise.all(
            batch.map(async ({ name, value }) => {
              const body = { jsonrpc: '2.0', method, ...(value as object) }
              const sent = await ask(
                `${version} ${method} ${name}`,
                '/a2a',
                posted(body, runToken, { 'a2a-version': version }),
              )
              note(sent)
              if (idField.test(name) && !sent.body.includes('"error"')) taken.push(sent)
            }),
          )
      }
    }
    for (const kind of Object.keys(hostile)) {
      const id = encoded(hostile[kind] ?? '')
      for (const [method, path] of a2aPaths(id)) {
        const init = { method, headers: { ...headersOf('1.0'), 'content-type': 'application/json' } }
        note(
          await ask(`${method} ${path.slice(0, 80)} ${kind}`, path, method === 'POST' ? { ...init, body: '{}' } : init),
        )
      }
      const message = { messageId: hostile[kind], contextId: hostile[kind], role: 'ROLE_USER', parts: [{ text: 'hi' }] }
      note(
        await ask(`message:send ${kind}`, '/a2a/message:send', posted({ message }, runToken, { 'a2a-version': '1.0' })),
      )
    }
    expect(faults.map(({ name, status, body }) => `${name}: ${status} ${body.slice(0, 160)}`)).toEqual([])
    expect(taken.map(({ name, body }) => `${name}: ${body.slice(0, 160)}`)).toEqual([])
    expect(asked).toBeGreaterThan(200)
    expect(await isHonestServed()).toBe(200)
  })
})

/** A few at once: what is asked together is judged together, and the walk is short. */
function* inBatches<T>(all: Iterable<T>, size = 16): Generator<readonly T[]> {
  let batch: T[] = []
  for (const each of all) {
    batch.push(each)
    if (batch.length < size) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** A stream may go on for long: its first piece says whether it was refused. */
async function firstOf({ body }: Response): Promise<string> {
  const reader = body?.getReader()
  const first = await reader?.read()
  await reader?.cancel()
  return new TextDecoder().decode(first?.value)
}

function posted(body: unknown, token: string, more: Record<string, string> = {}): RequestInit {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...more }
  return { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) }
}

/** As a caller who wants it so writes it: percent signs for every byte; half a surrogate pair as no encoder would. */
function encoded(text: string): string {
  if (!text.isWellFormed()) return 'a%ED%A0%80b'
  return encodeURIComponent(text)
}

type Variant = {
  readonly name: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly body?: unknown
}

/** One field at a time is hostile, the others are fine. */
function* variantsOf(document: OpenApi, path: string, operation: DocumentedOperation): Generator<Variant> {
  const parameters = operation.parameters ?? []
  const fill = (chosen?: Parameter, value = ''): string => {
    const given = (each: Parameter): string => (each === chosen ? value : encodeURIComponent(fineFor(each)))
    let filled = path
    for (const each of parameters.filter((one) => one.in === 'path'))
      filled = filled.replace(`{${each.name}}`, given(each))
    const asked = parameters.filter((one) => one.in === 'query' && (one.required || one === chosen))
    const query = asked.map((each) => `${each.name}=${given(each)}`).join('&')
    return (query === '' ? filled : `${filled}?${query}`).replace('*', 'x')
  }
  const schema = Object.values(operation.requestBody?.content ?? {})[0]
  const example = schema === undefined ? undefined : (schema.example ?? sampleOf(document, schema.schema ?? {}))
  const fine = example === undefined ? {} : { body: example }
  for (const parameter of parameters) {
    for (const [kind, text] of Object.entries(hostile)) {
      const name = `${parameter.in} ${parameter.name} ${kind}`
      if (parameter.in === 'header') {
        // What a server of HTTP lets through in a header: no control characters below 0x20.
        if (!/^[\t\u0020-\u00ff]*$/.test(text)) continue
        yield { name, path: fill(), headers: { [parameter.name]: text }, ...fine }
      } else yield { name, path: fill(parameter, encoded(text)), headers: {}, ...fine }
    }
  }
  for (const parameter of parameters.filter((one) => one.in === 'path'))
    for (const raw of ['%00', '%', '%E0%A4%A', '%2e%2e%2f', '..%5c', '%0d%0a'])
      yield { name: `path ${parameter.name} ${raw}`, path: fill(parameter, raw), headers: {}, ...fine }
  if (example !== undefined)
    for (const { name, value } of leaves(example))
      yield { name: `body ${name}`, path: fill(), headers: {}, body: value }
}

function fineFor({ name, schema }: Parameter): string {
  const { enum: words, type } = schema as { enum?: readonly string[]; type?: string }
  if (words?.[0] !== undefined) return words[0]
  return type === 'integer' || name === 'limit' ? '1' : '00000000-0000-7000-8000-000000000000'
}

/** A value that fits its schema, with every property there is: each of them can be made hostile. */
function sampleOf(document: OpenApi, schema: Schema, depth = 0): unknown {
  if (depth > 6) return 'x'
  const reference = schema['$ref']
  if (typeof reference === 'string') {
    const name = reference.split('/').at(-1) ?? ''
    return sampleOf(document, (document.components.schemas[name] ?? {}) as Schema, depth + 1)
  }
  const [first] = (schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf'] ?? []) as Schema[]
  if (first !== undefined) return sampleOf(document, first, depth + 1)
  if (schema['const'] !== undefined) return schema['const']
  const [word] = (schema['enum'] ?? []) as unknown[]
  if (word !== undefined) return word
  if (schema['type'] === 'array') return [sampleOf(document, (schema['items'] ?? {}) as Schema, depth + 1)]
  if (schema['type'] === 'integer' || schema['type'] === 'number') return 1
  if (schema['type'] === 'boolean') return true
  const properties = schema['properties'] as Record<string, Schema> | undefined
  if (properties === undefined) return schema['type'] === 'object' ? { x: 'x' } : 'x'
  return Object.fromEntries(
    Object.entries(properties).map(([name, each]) => [name, sampleOf(document, each, depth + 1)]),
  )
}

/** The same value with one text of it, or one name, made hostile. */
function* leaves(whole: unknown): Generator<{ readonly name: string; readonly value: unknown }> {
  const places: (readonly (string | number)[])[] = []
  const walk = (value: unknown, path: readonly (string | number)[]): void => {
    if (typeof value === 'string' || typeof value === 'number') places.push(path)
    else if (typeof value === 'object' && value !== null)
      for (const [name, each] of Object.entries(value)) walk(each, [...path, name])
  }
  walk(whole, [])
  for (const path of places)
    for (const [kind, text] of Object.entries(hostile)) {
      const copy = structuredClone(whole)
      let spot = copy as Body
      for (const step of path.slice(0, -1)) spot = spot[step] as Body
      const last = path.at(-1)
      if (last === undefined) continue
      spot[last] = text
      yield { name: `${path.join('.')} ${kind}`, value: copy }
    }
}

const legacyMessage = {
  kind: 'message',
  messageId: 'm1',
  contextId: 'c1',
  taskId: 't1',
  role: 'user',
  parts: [{ kind: 'text', text: 'hi' }],
}
const message = {
  messageId: 'm1',
  contextId: 'c1',
  taskId: 't1',
  role: 'ROLE_USER',
  parts: [{ text: 'hi', filename: 'a.txt', mediaType: 'text/plain' }],
}
const config = {
  taskId: 't1',
  id: 'p1',
  url: 'https://example.com/push',
  token: 'x',
  authentication: { scheme: 'Bearer', credentials: 'x' },
}
const a2aCalls: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  '1.0': {
    SendMessage: {
      message,
      configuration: { acceptedOutputModes: ['text/plain'], returnImmediately: true },
      metadata: { a: 'b' },
    },
    SendStreamingMessage: { message },
    GetTask: { id: 't1', historyLength: 1 },
    ListTasks: {
      contextId: 'c1',
      status: 'TASK_STATE_WORKING',
      pageToken: 'p',
      statusTimestampAfter: '2025-01-01T00:00:00Z',
    },
    CancelTask: { id: 't1' },
    SubscribeToTask: { id: 't1' },
    CreateTaskPushNotificationConfig: config,
    GetTaskPushNotificationConfig: { taskId: 't1', id: 'p1' },
    ListTaskPushNotificationConfigs: { taskId: 't1', pageToken: 'p' },
    DeleteTaskPushNotificationConfig: { taskId: 't1', id: 'p1' },
  },
  '0.3': {
    'message/send': { message: legacyMessage, configuration: { blocking: false, acceptedOutputModes: ['text/plain'] } },
    'message/stream': { message: legacyMessage },
    'tasks/get': { id: 't1', historyLength: 1 },
    'tasks/cancel': { id: 't1' },
    'tasks/resubscribe': { id: 't1' },
    'tasks/pushNotificationConfig/set': {
      taskId: 't1',
      pushNotificationConfig: { id: 'p1', url: 'https://example.com/push', token: 'x' },
    },
    'tasks/pushNotificationConfig/get': { id: 't1', pushNotificationConfigId: 'p1' },
    'tasks/pushNotificationConfig/list': { id: 't1' },
    'tasks/pushNotificationConfig/delete': { id: 't1', pushNotificationConfigId: 'p1' },
  },
}

function a2aPaths(id: string): readonly (readonly [string, string])[] {
  return [
    ['GET', `/a2a/tasks/${id}`],
    ['POST', `/a2a/tasks/${id}:cancel`],
    ['GET', `/a2a/tasks/${id}:subscribe`],
    ['GET', `/a2a/tasks/${id}/pushNotificationConfigs`],
    ['GET', `/a2a/tasks/t1/pushNotificationConfigs/${id}`],
    ['DELETE', `/a2a/tasks/t1/pushNotificationConfigs/${id}`],
    ['GET', `/a2a/tasks?contextId=${id}&pageToken=${id}`],
    ['GET', `/a2a/${id}/tasks`],
    ['GET', `/a2a/${id}/v1/card`],
    ['GET', `/.well-known/agent-card/${id}`],
  ]
}
