// What the A2A adapter makes of a desk that fails or says odd things; what it makes of a real one is in test/conformance/a2a.
import { expect, test } from 'vitest'
import { a2aChannel } from '../../../../adapters/a2a/index.ts'
import { normalizeParts } from '../../../../adapters/a2a/normalize.ts'
import { renderParts } from '../../../../adapters/a2a/render.ts'
import { isUnguessableId } from '../../../../adapters/a2a/server/send-message.ts'
import { doMediaTypesOverlap, isMediaTypeAccepted } from '../../../../adapters/a2a/verify.ts'
import type { Adapter, ServeContext, TaskService, TaskSnapshot } from '../../../../src/contract/index.ts'
import { GatewayError } from '../../../../src/lib/errors.ts'
import { createUnpinnedFetch, createWebHmac } from '../../../../src/lib/index.ts'
import { noTasks } from '../../../../src/testing/no-tasks.ts'
import { idleDoor } from '../../../../src/testing/serve-context.ts'
import { fixtures } from '../../../fixtures/a2a/index.ts'

const snapshot: TaskSnapshot = {
  task: {
    id: 't1',
    contextId: 'c1',
    agent: 'demo',
    owner: 'gw:user/local',
    state: 'working',
    said: null,
    stateAt: '2026-11-17T12:00:00.000Z',
    createdAt: '2026-11-17T12:00:00.000Z',
    dialect: '1.0',
    metadata: {},
  },
  messages: [],
  outputs: [],
  cursor: '0.0',
}

function adapter(tasks: Partial<TaskService>, settings: object = {}): Adapter {
  return a2aChannel.create(settings, {
    connection: fixtures.connection,
    fetch,
    now: Date.now,
    hmac: createWebHmac(),
    tasks: { ...noTasks, ...tasks },
    guardedFetch: createUnpinnedFetch(fetch),
    runLog: { append: async () => {} },
    callers: {
      identify: async () => ({ kind: 'identified', bearer: undefined, caller: undefined, agentChain: undefined }),
      challenge: () => 'Bearer',
    },
    agents: () => [{ slug: 'demo', label: 'Demo', description: '', skills: [] }],
    newId: () => 'id-1',
  })
}

const subscribe = (): Request =>
  new Request('http://127.0.0.1/a2a/tasks/t1:subscribe', { headers: { 'a2a-version': '1.0' } })

const broken = (failed: unknown[]): ServeContext => ({
  ...idleDoor,
  fail(error) {
    failed.push(error)
    return 'reference-1'
  },
})

test('ST-06 a stream that breaks says so in a last frame, by a reference and nothing else', async () => {
  const failed: unknown[] = []
  const served = adapter({
    read: async () => snapshot,
    async *watch() {
      yield [{ cursor: '0.1', at: snapshot.task.stateAt, runId: 'r1', kind: 'words', delta: 'so far' }]
      throw new Error('the password is hunter2')
    },
  })
  const response = await served.serve?.(subscribe(), broken(failed))
  const frames = (await response?.text())?.split('\n\n') ?? []
  expect(frames.map((frame) => frame.split('\n').at(-1)?.slice(0, 20))).toEqual([
    'data: {"task":{"id":',
    'data: {"artifactUpda',
    'data: {"error":{"cod',
    '',
  ])
  expect(frames[2]).toContain('internal error (reference reference-1)')
  expect(frames.join('')).not.toContain('hunter2')
  expect(failed).toHaveLength(1)
})

test('what breaks before the first event is an error of its binding, and worth another try where it may pass', async () => {
  const failed: unknown[] = []
  const busy = new GatewayError('storage_unavailable', 'not now', { retryable: true })
  const served = adapter({ read: () => Promise.reject(busy) })
  const response = await served.serve?.(subscribe(), broken(failed))
  expect([response?.status, response?.headers.get('retry-after')]).toEqual([503, '2'])
  expect(await response?.json()).toMatchObject({ error: { code: 503, status: 'UNAVAILABLE' } })
  const rpc = { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 't1' } }
  const asked = new Request('http://127.0.0.1/a2a', {
    method: 'POST',
    headers: { 'a2a-version': '1.0', 'content-type': 'application/json' },
    body: JSON.stringify(rpc),
  })
  const crashed = await adapter({ read: () => Promise.reject(new Error('x')) }).serve?.(asked, broken(failed))
  expect(await crashed?.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -32603 } })
})

test('a run that is tried again replaces its words', async () => {
  const facts = { at: snapshot.task.stateAt, runId: 'r1' }
  const served = adapter({
    read: async () => snapshot,
    async *watch() {
      yield [
        { ...facts, cursor: '0.1', kind: 'words', delta: 'wrong' },
        { ...facts, cursor: '0.2', kind: 'reset' },
        { ...facts, cursor: '0.3', kind: 'words', delta: 'right' },
      ]
    },
  })
  const text = (await (await served.serve?.(subscribe(), idleDoor))?.text()) ?? ''
  const updates = text.split('\n\n').flatMap((frame) => {
    const data = frame.split('data: ')[1]
    return data === undefined ? [] : [JSON.parse(data).artifactUpdate]
  })
  expect(updates.slice(1)).toMatchObject([
    { append: false, artifact: { parts: [{ text: 'wrong' }] } },
    { append: false, artifact: { parts: [{ text: 'right' }] } },
  ])
})

test('A2-07 a tool call and its result are one part; words about one stay words', () => {
  const call = { type: 'tool-call', toolCallId: 't1', toolName: 'weather', input: { city: 'Oslo' } }
  const parts = normalizeParts([
    { data: call },
    { text: 'calling weather(…)' },
    { data: { type: 'tool-error', toolCallId: 't2', error: { message: 'no' } } },
    { data: { type: 'tool-result', toolCallId: 't1', output: ['rain'] } },
  ])
  expect(parts).toEqual([
    { kind: 'tool_call', id: 't1', name: 'weather', args: { city: 'Oslo' }, result: ['rain'] },
    { kind: 'text', mime: 'text/plain', content: 'calling weather(…)' },
    { kind: 'tool_call', id: 't2', name: 'unknown', args: {}, error: { message: 'no' } },
  ])
})

test('a link says what it is called and what it is about: in words, or beside an address with a type', () => {
  const link = { kind: 'link', url: 'https://e.example/docs', title: 'The docs', description: 'How to begin.' } as const
  expect(renderParts([link, { ...link, mime: 'application/pdf' }], [])).toEqual([
    { text: 'The docs (https://e.example/docs) – How to begin.' },
    {
      url: 'https://e.example/docs',
      filename: 'The docs',
      mediaType: 'application/pdf',
      metadata: { mentionable: { description: 'How to begin.' } },
    },
  ])
})

test.each([
  ['JSON', { kind: 'inline', data_base64: btoa('{"bars":[1,2]}') }, { data: { bars: [1, 2] } }],
  ['bytes', { kind: 'inline', data_base64: 'AAH/' }, { raw: 'AAH/' }],
  ['an address', { kind: 'url', url: 'https://e.example/chart' }, { url: 'https://e.example/chart' }],
] as const)('an artifact of %s says its type', (_form, bytes_ref, content) => {
  expect(renderParts([{ kind: 'artifact', name: 'sales', artifact_type: 'chart', bytes_ref }], [])).toEqual([
    { ...content, filename: 'sales', metadata: { mentionable: { artifact_type: 'chart' } } },
  ])
})

test.each([
  ['01a1ea38-44ba-7f43-ad23-57f2eae7876c', true],
  ['00000000-0000-0000-0000-000000000000', false],
  ['1', false],
  ['conversation', false],
  ['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', false],
  ['c3VwZXIgcmFuZG9tIGlkIGhlcmU', true],
])('%s is something that nobody guesses: %s', (id, expected) => {
  expect(isUnguessableId(id)).toBe(expected)
})

test('types meet by name, by family and by wildcards on either side', () => {
  expect(isMediaTypeAccepted('Image/PNG; q=1', ['image/*'])).toBe(true)
  expect(isMediaTypeAccepted('text/html', ['text/plain'])).toBe(false)
  expect(doMediaTypesOverlap(['text/*'], ['text/plain'])).toBe(true)
  expect(doMediaTypesOverlap(['video/mp4'], ['text/plain', 'application/json'])).toBe(false)
})
