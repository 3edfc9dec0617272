// Bob may talk to the agent on Telegram. What Alice talks with it about, on Telegram, on another channel or through the API,
// he can neither read, join, stop, decide nor change: by token, command, thread, message, run or reply token.
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentContext, defineAgent } from '../../../src/agents/define-agent.ts'
import type { createApp } from '../../../src/api/app.ts'
import { channels, telegram } from '../../../src/channels.ts'
import { type ConnectionConfig, type NormalizedMessage, textOf } from '../../../src/contract/index.ts'
import { nameStatement } from '../../../src/db/client.ts'
import { type AtWork, createDoor, putToWork, until } from '../../doubles/background-gateway.ts'
import { namingBot } from '../../doubles/bot-mention.ts'
import type { LoopbackEvent } from '../../doubles/loopback/index.ts'
import { startTelegramApi, type TelegramApi, testBotToken } from '../../doubles/telegram-api.ts'
import { createTestApp, operatorToken } from '../../doubles/test-app.ts'
import {
  createTestGateway,
  loopbackChannels,
  loopbackConnections,
  type TestGateway,
} from '../../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const webhookSecret = 'a-webhook-secret-of-forty-characters-xyz'
const alice = { id: 1, subject: 'telegram:1' }
const bob = { id: 2, subject: 'telegram:2' }
const secretOfAlice = 'the-word-that-only-alice-said'

type Heard = { readonly text: string; readonly principal: string; readonly sessionId: string; readonly past: string }
type Answer = { readonly status: number; readonly body: Record<string, unknown> }

const sessionsOf = nameStatement('test_sessions', 'select id, owner, connection from sessions order by created_at')
const statesOf = nameStatement(
  'test_states',
  'select message_id as id, state, reason, message::text as said from inbox',
)
const runsOf = nameStatement('test_runs', 'select id, owner, status from runs order by created_at')
const actionsOf = nameStatement('test_actions', 'select id, status, resolver from pending_actions')

describeOnDatabase('what belongs to Alice', (database) => {
  let vendor: VendorStub
  let api: TelegramApi
  let gateway: TestGateway
  let work: AtWork
  let app: ReturnType<typeof createApp>
  let door = createDoor()
  let nextUpdate = 1
  let bobsToken = ''
  const heard: Heard[] = []

  const run = async (message: NormalizedMessage, context: AgentContext) => {
    const text = textOf(message.parts)
    const { principal, sessionId } = context
    heard.push({ text, principal, sessionId, past: JSON.stringify([context.history, context.transcript]) })
    if (text.includes('slowly')) await door.passed
    if (!text.includes('approve me')) return `re: ${text}`
    const asked = await context.pause.approval({
      summary: 'pay',
      apply_input: { iban: 'secret' },
      preview: { size: 1 },
    })
    return asked.question
  }
  const start = (access: ConnectionConfig['access'] = { mode: 'public', allow: [] }) => {
    const bot = telegram({ botToken: testBotToken, webhookSecret, apiRoot: api.apiRoot, access })
    gateway = createTestGateway(
      database(),
      { agents: [defineAgent({ slug: 'demo', run })], connections: [bot, ...loopbackConnections(vendor.origin)] },
      {},
      [...channels, ...loopbackChannels],
    )
    work = putToWork(gateway)
    app = createTestApp(gateway, database())
  }
  const connection = (key: string) => {
    const at = gateway.gateway.connections.find((each) => each.key === key)
    if (at === undefined) throw new Error(`no connection ${key}`)
    return at
  }
  const arrival = (body: unknown, headers: Record<string, string>) => ({
    bytes: new TextEncoder().encode(JSON.stringify(body)),
    headers: { 'content-type': 'application/json', ...headers },
    receivedAt: new Date().toISOString(),
    from: 'local' as const,
  })
  /** An update as Telegram sends it: in the private chat of the writer, unless it says otherwise. */
  const write = (
    from: typeof alice,
    text: string,
    chat: object = { id: from.id, type: 'private' },
    signedBy = webhookSecret,
  ) => {
    const id = nextUpdate++
    const date = Math.floor(Date.now() / 1000)
    const sender = { id: from.id, is_bot: false, first_name: 'X' }
    const message = { message_id: id, date, chat, from: sender, text, entities: namingBot() }
    const headers = { 'x-telegram-bot-api-secret-token': signedBy }
    return gateway.gateway.receive(connection('telegram/default'), arrival({ update_id: id, message }, headers))
  }
  const runApi = (threadId: string, content: string, runId = randomUUID()) => {
    const messages = [{ id: randomUUID(), role: 'user', content }]
    return gateway.gateway.receive(connection('agui/demo'), arrival({ threadId, runId, messages }, {}))
  }
  const say = (event: Partial<LoopbackEvent>) => gateway.deliver({ id: randomUUID(), text: 'hello', ...event })
  const toldTo = (chat: number) => api.sent.filter(({ chat_id }) => chat_id === String(chat)).map(({ text }) => text)
  const ask = async (method: string, path: string, token: string, body?: object): Promise<Answer> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await app.request(path, { method, headers, ...sent })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  const rows = <Row>(asked: typeof sessionsOf) => database().query<Row>(asked, [])
  const sessionOf = async (owner: string) => {
    const all = await rows<{ id: string; owner: string }>(sessionsOf)
    return all.find((each) => each.owner === owner)?.id ?? ''
  }

  beforeEach(async () => {
    heard.length = 0
    nextUpdate = 1
    door = createDoor()
    vendor = await startVendorStub()
    api = await startTelegramApi()
    start()
    const made = await ask('POST', '/admin/tokens', operatorToken, { label: 'bob', principal: bob.subject })
    bobsToken = String(made.body['token'])
  })
  afterEach(async () => {
    door.open()
    await work.stop()
    gateway.stop()
    await vendor.close()
    await api.close()
  })

  test('is not there for a token of Bob, and what is his is', async () => {
    await write(alice, `approve me ${secretOfAlice}`)
    await write(bob, 'hello')
    await until(() => toldTo(1).length === 1 && toldTo(2).length === 1)
    const [theirs, his] = [await sessionOf(alice.subject), await sessionOf(bob.subject)]
    const [action] = await rows<{ id: string }>(actionsOf)
    const nobodys = randomUUID()
    expect((await ask('GET', `/admin/sessions/${his}`, bobsToken)).status).toBe(200)
    const listed = await ask('GET', '/admin/sessions', bobsToken)
    expect((listed.body['sessions'] as { id: string }[]).map(({ id }) => id)).toEqual([his])
    expect((await ask('GET', '/admin/approvals', bobsToken)).body).toMatchObject({ actions: [] })
    const tries: readonly [string, (id: string) => string, string, object?][] = [
      ['GET', (id) => `/admin/sessions/${id}`, theirs],
      ['POST', (id) => `/admin/sessions/${id}/title`, theirs, { title: 'mine' }],
      ['DELETE', (id) => `/admin/sessions/${id}`, theirs],
      ['GET', (id) => `/admin/approvals/${id}`, action?.id ?? ''],
      ['POST', (id) => `/admin/approvals/${id}/resolve`, action?.id ?? '', { decision: 'accepted' }],
      ['DELETE', (id) => `/admin/approvals/${id}`, action?.id ?? ''],
      ['GET', (id) => `/admin/tool-requests/${id}`, action?.id ?? ''],
    ]
    for (const [method, path, id, body] of tries) {
      const answer = await ask(method, path(id), bobsToken, body)
      expect(answer.status, `${method} ${path('…')}`).toBe(404)
      // Not even that there is such an id.
      expect(untraced(answer)).toEqual(untraced(await ask(method, path(nobodys), bobsToken, body)))
    }
    expect((await ask('GET', `/admin/sessions?owner=${alice.subject}`, bobsToken)).status).toBe(403)
    expect(await rows(actionsOf)).toMatchObject([{ status: 'pending' }])
    expect((await ask('GET', `/admin/sessions/${theirs}`, operatorToken)).body).toMatchObject({
      session: { owner: alice.subject, title: null },
    })
  })

  test('is not shown to a token of Bob by any route of the operator, whatever the id', async () => {
    await write(alice, secretOfAlice)
    await until(() => toldTo(1).length === 1)
    const [ran] = await rows<{ id: string }>(runsOf)
    for (const id of [ran?.id ?? '', randomUUID()]) {
      for (const path of [
        `/admin/runs/${id}`,
        `/admin/runs/${id}/events`,
        `/admin/explain/${id}`,
        `/admin/deliveries/${id}`,
      ]) {
        const answer = await ask('GET', path, bobsToken)
        expect(answer).toMatchObject({ status: 403, body: { error: { code: 'forbidden' } } })
        expect(JSON.stringify(answer)).not.toContain(secretOfAlice)
      }
      for (const path of [`/admin/runs/${id}/cancel`, `/admin/dead-letters/${id}/resubmit`, `/admin/replay/${id}`])
        expect((await ask('POST', path, bobsToken)).status).toBe(403)
    }
  })

  test('goes on whatever Bob commands from his own chat, and he learns nothing of it', async () => {
    await write(alice, 'slowly please')
    await until(() => heard.length === 1)
    await write(bob, '/status')
    await until(() => toldTo(2).length === 1)
    await write(bob, '/stop')
    await until(() => toldTo(2).length === 2)
    expect(toldTo(2)).toEqual([
      expect.stringMatching(/^Nothing is running/),
      expect.stringMatching(/^Nothing is running/),
    ])
    door.open()
    await until(() => toldTo(1).includes('re: slowly please'))
    expect(await rows(runsOf)).toMatchObject([{ owner: alice.subject, status: 'completed' }])
  })

  test('is not decided by Bob with a code he overheard', async () => {
    await write(alice, 'approve me')
    await until(() => toldTo(1).length === 1)
    const [action] = await rows<{ id: string }>(actionsOf)
    const code = /\/approve ([0-9a-f]+)/.exec(toldTo(1)[0] ?? '')?.[1] ?? action?.id.slice(-6)
    for (const [nth, line] of [`/approve ${code}`, `/reject ${code}`, `/approve ${action?.id}`, '/approve'].entries()) {
      await write(bob, line)
      await until(() => toldTo(2).length === nth + 1)
      expect(toldTo(2).at(-1)).toMatch(/^Nothing .*waits for an approval here/)
    }
    expect(await rows(actionsOf)).toMatchObject([{ status: 'pending', resolver: null }])
  })

  test('is stopped in a room they share by Alice, not by Bob', async () => {
    const room = { id: -5, type: 'group', title: 'Room' }
    await write(alice, 'slowly please', room)
    await until(() => heard.length === 1)
    await write(bob, '/stop', room)
    await until(() => toldTo(-5).length === 1)
    expect(toldTo(-5)[0]).toMatch(/^What runs here was started by another person/)
    door.open()
    await until(() => toldTo(-5).includes('re: slowly please'))
    expect(await rows(runsOf)).toMatchObject([{ owner: alice.subject, status: 'completed' }])
  })

  test('is not joined by its thread id: on the same connection, on another channel, through the API', async () => {
    await say({ from: 'alice', text: secretOfAlice, conversation: 'alices', claims: ['alices'] })
    await until(() => heard.length === 1)
    const [theirs] = await rows<{ id: string }>(sessionsOf)
    await say({ from: 'bob', conversation: 'alices', claims: ['alices'] })
    await say({ from: 'bob', conversation: 'of-bob', claims: ['alices', 'of-bob'] })
    await say({ from: 'bob', conversation: 'by-token', claims: ['alices'], replyToken: 'guessed' })
    await runApi('alices', 'hello')
    await runApi(theirs?.id ?? '', 'hello')
    await write(bob, 'hello')
    await until(() => heard.length === 7)
    for (const each of heard.slice(1)) {
      expect(each.past).not.toContain(secretOfAlice)
      expect(each.sessionId).not.toBe(heard[0]?.sessionId)
    }
    await say({ from: 'alice', text: 'again', conversation: 'alices', claims: ['alices'] })
    await until(() => heard.length === 8)
    expect(heard[7]).toMatchObject({ sessionId: heard[0]?.sessionId, past: expect.stringContaining(secretOfAlice) })
    expect(heard[7]?.past).not.toContain('loopback:bob')
  })

  test('is not reached by an update that only says it is from Telegram', async () => {
    await write(alice, secretOfAlice)
    await until(() => heard.length === 1)
    const inHerChat = { id: alice.id, type: 'private' }
    expect(await write(bob, '/status', inHerChat, `${webhookSecret}x`)).toMatchObject({ kind: 'rejected' })
    expect(await write(alice, 'pay Bob', inHerChat, '')).toMatchObject({ kind: 'rejected' })
    await until(() => toldTo(1).length === 1)
    expect(heard).toHaveLength(1)
  })

  test('is not edited or deleted by Bob who knows the id of a message', async () => {
    await say({ id: 'a1', from: 'alice', text: secretOfAlice, conversation: 'room', room: 'group' })
    await until(() => heard.length === 1)
    const change = { from: 'bob', conversation: 'room', room: 'group', target: 'a1' } as const
    await say({ ...change, id: 'e1', event: 'edit', version: '1', text: 'pay Bob' })
    await say({ ...change, id: 'd1', event: 'delete', version: '2', text: 'x' })
    const fates = async () => rows<{ id: string; state: string; reason: string; said: string }>(statesOf)
    await until(async () => (await fates()).every(({ state }) => !/queued|in_turn/.test(state)))
    const byId = Object.fromEntries((await fates()).map((row) => [row.id, row]))
    expect(byId['e1']).toMatchObject({ state: 'refused', reason: 'not_the_author' })
    expect(byId['d1']).toMatchObject({ state: 'refused', reason: 'not_the_author' })
    expect(byId['a1']?.said).toContain(secretOfAlice)
    expect(heard).toHaveLength(1)
  })
})

/** Every answer names a trace of its own. */
function untraced(answer: object): string {
  return JSON.stringify(answer).replace(/"trace":"[0-9a-f]{32}"/g, '')
}
