// The local API: who may use it, what a run request must hold, and what the open request is told.
// Covered here: AG-01 to AG-03, AG-05, AG-06, AG-11 (its answer), AG-22 (as far as never fetched), AG-24, AG-27.
// Streams and resume: test/conformance/agui. By the core: AG-07 to AG-10.

import { describe, expect, test } from 'vitest'
import { aguiChannel } from '../../../../adapters/agui/index.ts'
import type { NormalizeResult, WatchResult } from '../../../../src/contract/adapter.ts'
import type { InboundMessage, RawRequest } from '../../../../src/contract/index.ts'
import { createWebHmac } from '../../../../src/lib/index.ts'
import type { JsonObject } from '../../../../src/lib/json-value.ts'
import { jsonToBytes } from '../../../../src/testing/adapter-contract.ts'
import { createAttempt, createTextReply } from '../../../../src/testing/adapter-contract-outbound.ts'
import { type AdapterFixtures, createAdapterFromFixtures } from '../../../../src/testing/adapter-fixtures.ts'
import { fixtures } from '../../../fixtures/agui/index.ts'

const kit: AdapterFixtures = fixtures
const adapter = createAdapterFromFixtures(kit)
const user = (content: unknown) => [{ id: 'm1', role: 'user', content }]
const run = (fields: object) => ({ threadId: 't1', runId: 'r1', messages: user('hello'), ...fields })

async function receive(payload: unknown, changes: Partial<RawRequest> = {}): Promise<NormalizeResult> {
  return adapter.receive({ ...fixtures.sign(jsonToBytes(payload)), ...changes }, kit.connection)
}

async function read(payload: unknown): Promise<InboundMessage> {
  const reception = await receive(payload)
  const first = reception.kind === 'read' ? reception.events[0] : undefined
  return first?.kind === 'message' ? first : expect.unreachable(JSON.stringify(reception))
}

describe('who may run', () => {
  const json = { 'content-type': 'application/json' }
  const rejected = (reason: string) => ({ kind: 'rejected', reason })
  test.each<[string, Partial<RawRequest>, object]>([
    ['this machine', { headers: { 'content-type': 'application/json; charset=utf-8' } }, { kind: 'read' }],
    ['a guest', { headers: json, from: 'guest' }, { kind: 'read' }],
    ['another machine', { from: 'remote' }, rejected('missing_credential')],
    ['a form', { headers: { 'content-type': 'text/plain' } }, rejected('malformed_request')],
    ['no content type', { headers: {} }, rejected('malformed_request')],
    ['a type that starts alike', { headers: { 'content-type': 'application/jsonp' } }, rejected('malformed_request')],
  ])('%s', async (_name, changes, expected) => {
    expect(await receive(run({}), changes)).toMatchObject(expected)
  })
})

describe('a run request', () => {
  test('AG-01 needs neither tools nor context', async () => {
    expect(await read(run({}))).toMatchObject({
      semanticId: '["t1","r1"]',
      isSenderChosenId: true,
      isExclusive: true,
      mustReplyIndividually: 'run',
      subject: 'gw:user/local',
      thread: { candidates: ['t1'], platformVerified: false },
      message: {
        id: 'm1',
        thread_id: 't1',
        received_via: 'agui',
        sender: { auth_method: 'agui-session', verified: true },
      },
    })
  })

  test('AG-02 a binary block is a file part', async () => {
    const url = 'https://xxx.supabase.co/storage/v1/object/sign/b/p.jpg?token=xxx'
    const content = [
      { type: 'text', text: 'look' },
      { type: 'binary', mimeType: 'image/jpeg', url },
    ]
    expect((await read(run({ messages: user(content) }))).message.parts).toEqual([
      { kind: 'text', mime: 'text/plain', content: 'look' },
      { kind: 'file', mime: 'image/jpeg', bytes_ref: { kind: 'url', url } },
    ])
  })

  test('AG-06 AG-24 takes the trailing user messages only, and no identity from the body', async () => {
    const messages = [
      ...user('old'),
      { id: 'a', role: 'assistant', content: 'x' },
      { id: 'm2', role: 'user', content: 'new' },
    ]
    const each = await read(run({ messages, forwardedProps: { user_id: 'root' } }))
    expect(each.message.parts).toEqual([{ kind: 'text', mime: 'text/plain', content: 'new' }])
    expect(each.subject).toBe('gw:user/local')
  })

  test('AG-22 a block of another type is carried by name only, and never passes for ours', async () => {
    const content = [
      { type: 'image', source: { type: 'file', value: 'h' } },
      { type: 'tool_call', id: '1', name: 'a/b' },
    ]
    const { parts } = (await read(run({ messages: user(content) }))).message
    expect(parts).toEqual([{ kind: 'agui:image' }, { kind: 'agui:tool_call' }])
  })

  test('AG-27 nulls where nothing is needed do no harm', async () => {
    expect(await read(run({ tools: null, forwardedProps: null, state: null, resume: null }))).toBeDefined()
  })

  const binary = (fields: object) => run({ messages: user([{ type: 'binary', mimeType: 'image/png', ...fields }]) })
  test.each<[string, unknown, string]>([
    ['no threadId', run({ threadId: undefined }), 'thread_id_missing_or_empty'],
    ['a blank threadId', run({ threadId: ' ' }), 'thread_id_missing_or_empty'],
    ['AG-27 an empty runId', run({ runId: '' }), 'run_id_missing_or_empty'],
    ['no messages', run({ messages: [] }), 'messages_missing_or_empty'],
    [
      'a last word that is not the user’s',
      run({ messages: [{ id: 'a', role: 'assistant', content: 'x' }] }),
      'last_message_is_not_from_a_user',
    ],
    ['a message without id', run({ messages: [{ role: 'user', content: 'x' }] }), 'invalid_user_message'],
    ['a blank message', run({ messages: user('  ') }), 'empty_message'],
    [
      'more blocks than a message may have',
      run({ messages: user(Array.from({ length: 65 }, () => ({ type: 'text', text: 'a' }))) }),
      'too_many_parts',
    ],
    ['AG-03 AG-05 a binary block without a place', binary({ id: 'only' }), 'attachment_without_url'],
    ['a binary block by http', binary({ url: 'http://e.com/x' }), 'attachment_url_must_be_https'],
    ['a binary block that is not base64', binary({ data: '***' }), 'attachment_not_base64_or_too_large'],
    ['a block without a type', run({ messages: user([{ text: 'x' }]) }), 'invalid_content_block'],
  ])('%s is refused by name', async (_name, payload, reason) => {
    expect(await receive(payload)).toMatchObject({ kind: 'unreadable', reason, subject: 'gw:user/local' })
  })
})

describe('what is kept of a request', () => {
  const kept = fixtures.sign(jsonToBytes(run({})))
  test.each([['gw:token/89abcdef'], ['test:ada'], [null]])(
    'is not read again as this machine’s when %j sent it',
    async (subject) => {
      expect(await adapter.reread?.(kept, kit.connection, { subject })).toBeUndefined()
    },
  )

  test('is read again as this machine’s own, with the chain it named', async () => {
    const caller = {
      caller_agent: 'a',
      caller_user: 0,
      caller_host: 'https://a.example',
      chain_depth: 1,
      chain_root: 'r',
    }
    expect(await adapter.reread?.(kept, kit.connection, { subject: 'gw:user/local', caller })).toMatchObject({
      kind: 'read',
      events: [{ subject: 'gw:user/local', message: { channel: { caller } } }],
    })
  })
})

describe('the answer', () => {
  const reply = createTextReply('hi', { thread_id: 't1', in_reply_to: 'm1' })
  const answered: WatchResult = { kind: 'answered', response: reply, runId: 'r1' }
  const accepted = { kind: 'accepted', inboxId: 'i', flagged: false } as const
  const duplicate = { kind: 'duplicate', inboxId: 'i' } as const
  const answer = (...given: Parameters<NonNullable<typeof adapter.acknowledge>>) => {
    const { status, body } = adapter.acknowledge?.(...given) ?? expect.unreachable('no acknowledge')
    return [status, JSON.parse(body ?? 'null')]
  }

  test('is the reply, for the first request and for its repetition', () => {
    const body = {
      threadId: 't1',
      runId: 'r1',
      status: 'completed',
      messages: [{ role: 'assistant', content: 'hi' }],
      response: reply,
    }
    expect(answer([accepted], answered)).toEqual([200, body])
    expect(answer([duplicate], answered)).toEqual([200, body])
  })

  test.each(['open __init__.py and snake__case <b>x</b> [x](y)', '{"content":[{"type":"text"}]}'])(
    'says %j in the words of the agent',
    (content) => {
      const response = { ...reply, parts: [{ kind: 'text' as const, mime: 'text/markdown' as const, content }] }
      expect(answer([accepted], { kind: 'answered', response, runId: 'r1' })[1].messages[0].content).toBe(content)
    },
  )

  test('takes out of Markdown what leads astray, and leaves plain text as it is', () => {
    const content = '**Status:** [x](javascript:alert(1)) <b>\n- `a__b`'
    const said = (mime: 'text/plain' | 'text/markdown') => {
      const response = { ...reply, parts: [{ kind: 'text' as const, mime, content }] }
      return answer([accepted], { kind: 'answered', response, runId: 'r1' })[1].messages[0].content
    }
    expect(said('text/plain')).toBe(content)
    expect(said('text/markdown')).toBe('**Status:** x \\<b>\n- `a__b`')
  })

  test.each<[string, number, object, Parameters<NonNullable<typeof adapter.acknowledge>>]>([
    ['pending is 202', 202, { status: 'pending' }, [[accepted], { kind: 'pending' }]],
    [
      'AG-11 a busy thread is 409 with a remedy',
      409,
      { error: { code: 'conversation_busy', remedy: expect.any(String) } },
      [[{ kind: 'refused', reason: 'conversation_busy' }], undefined],
    ],
    [
      'a refusal at the door is 403',
      403,
      { error: { code: 'no_such_rule' } },
      [[{ kind: 'refused', reason: 'no_such_rule' }], undefined],
    ],
    [
      'a refused run is 403',
      403,
      { error: { code: 'not_allowed' } },
      [[accepted], { kind: 'ended', state: 'refused', reason: 'not_allowed' }],
    ],
    [
      'a dead run is 500',
      500,
      { error: { code: 'agent_failed' } },
      [[accepted], { kind: 'ended', state: 'dead', reason: 'agent_failed' }],
    ],
    [
      'any other end is told as it is',
      200,
      { status: 'merged', code: 'm' },
      [[accepted], { kind: 'ended', state: 'merged', reason: 'm' }],
    ],
  ])('%s', (_name, status, body, given) => {
    expect(answer(...given)).toEqual([status, expect.objectContaining(matching(body))])
  })

  test('is appended to the run’s log under the attempt’s key', async () => {
    const appended: unknown[] = []
    const logging = createAdapterFromFixtures(kit, undefined, undefined, {
      append: async (...given) => void appended.push(given),
    })
    const [call] = logging.render(reply, kit.replyTo)
    expect(await logging.deliver(call?.call as JsonObject, createAttempt(1))).toEqual({
      kind: 'delivered',
      vendorId: 'client-0001',
    })
    expect(appended).toEqual([['run-1', 'client-0001', { type: 'done', response: reply }]])
    expect(await logging.deliver(call?.call as JsonObject, createAttempt(1, { runId: undefined }))).toEqual({
      kind: 'refused',
      reason: 'no_run_to_answer',
    })
  })

  test('is tried again when the log is away', async () => {
    const failing = createAdapterFromFixtures(kit, undefined, undefined, {
      append: () => Promise.reject(new Error('down')),
    })
    const [call] = failing.render(reply, kit.replyTo)
    expect(await failing.deliver(call?.call as JsonObject, createAttempt(1))).toEqual({
      kind: 'retry',
      reason: 'run_log_unavailable',
    })
  })

  test('needs a run log to exist at all', () => {
    const deps = { connection: kit.connection, fetch, now: () => 0, hmac: createWebHmac() }
    expect(() => aguiChannel.create({}, deps)).toThrow('[agui] needs the run log')
  })
})

function matching(body: object): object {
  return Object.fromEntries(
    Object.entries(body).map(([key, value]) => [
      key,
      typeof value === 'object' ? expect.objectContaining(value) : value,
    ]),
  )
}
