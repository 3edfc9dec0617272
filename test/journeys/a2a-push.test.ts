// Whoever asked for it is told how their task stands: in order, with what they gave to be recognised by, again after a failure,
// and never once they are gone.
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { a2a } from '../../adapters/a2a/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { sha256Hex } from '../../src/lib/index.ts'
import { createPinnedFetch } from '../../src/node/guarded-fetch.ts'
import { type A2aPeer, aMessage, startA2a } from '../doubles/a2a-peer.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies are looked into by the tests that name them.
type Told = { readonly headers: IncomingHttpHeaders; readonly body: any; readonly text: string }

const isOver = (states: readonly string[]): boolean =>
  states.length > 0 && states.every((state) => ['delivered', 'refused', 'dead'].includes(state))
const pushCalls = nameStatement('test_push_calls', "select state from outbox where purpose = 'push'")

describeOnDatabase('push notifications of A2A', (database) => {
  let peer: A2aPeer
  let server: Server
  let url: string
  let told: Told[]
  let answers: { readonly status: number; readonly headers?: Record<string, string> }[]

  beforeEach(async () => {
    told = []
    answers = []
    server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        told.push({ headers: request.headers, body: JSON.parse(text), text })
        const { status, headers } = answers.shift() ?? { status: 200 }
        response.writeHead(status, headers).end()
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
    // As on Node, which pins addresses: what the operator wrote down is reached, and nothing else that is private.
    const runtime = { guardedFetch: createPinnedFetch() }
    peer = startA2a(database(), { connections: [a2a({ push: { allow: ['127.0.0.1'] } })], runtime })
  })
  afterEach(async () => {
    await peer.stop()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  const send = async (config: object, text = 'hello') => {
    const configuration = { taskPushNotificationConfig: { url, ...config } }
    return (await peer.call('JSONRPC', 'SendMessage', { message: aMessage(text), configuration })).result.task
  }
  const outboxStates = async () => (await database().query<{ state: string }>(pushCalls, [])).map(({ state }) => state)
  const untilTold = (count: number) => expect.poll(() => told.length, { timeout: 15_000 }).toBeGreaterThanOrEqual(count)
  const statesTold = () => told.map(({ body }) => (body.task ?? body.statusUpdate).status.state)

  test('PU-09, PU-10: the task is told with its result, to somebody who can tell that it is us', async () => {
    const authentication = { scheme: 'Bearer', credentials: 'their-own-secret' }
    const task = await send({ token: 'their-token', authentication })
    await expect.poll(statesTold, { timeout: 15_000 }).toContain('TASK_STATE_COMPLETED')
    const last = told.at(-1)
    expect(last?.body.task).toMatchObject({ id: task.id, artifacts: task.artifacts })
    expect(last?.headers).toMatchObject({
      authorization: 'Bearer their-own-secret',
      'x-a2a-notification-token': 'their-token',
      'content-type': 'application/a2a+json',
      'a2a-version': '1.0',
      'idempotency-key': expect.any(String),
    })
  })

  test('PU-17: whoever wants a token and gives none is shown one that our key vouches for, over these very bytes', async () => {
    answers = [{ status: 500 }]
    const task = await send({ authentication: { scheme: 'Bearer' } })
    await expect.poll(statesTold, { timeout: 15_000 }).toContain('TASK_STATE_COMPLETED')
    const keys = createLocalJWKSet(await (await peer.request('/a2a/.well-known/jwks.json')).json())
    const { origin } = new URL(url)
    const issuer = 'https://parley.localhost/a2a/demo'
    const shown = await Promise.all(
      told.map(async ({ headers, text }) => {
        const token = (headers.authorization ?? '').replace(/^Bearer /, '')
        const { payload } = await jwtVerify(token, keys, { audience: origin, issuer, maxTokenAge: '5m' })
        expect(payload).toMatchObject({ sub: task.id, request_body_sha256: await sha256Hex(text) })
        expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBeLessThanOrEqual(300)
        return payload.jti
      }),
    )
    expect(told[1]?.headers['idempotency-key']).toBe(told[0]?.headers['idempotency-key'])
    expect(new Set(shown).size).toBe(told.length)
  })

  test('where cards are not signed, neither are notifications, and the card says so', async () => {
    await peer.stop()
    const connections = [a2a({ push: { allow: ['127.0.0.1'] }, signing: false })]
    peer = startA2a(database(), { connections, runtime: { guardedFetch: createPinnedFetch() } })
    await send({ authentication: { scheme: 'Bearer' } })
    await untilTold(1)
    expect(told[0]?.headers.authorization).toBeUndefined()
    const card = await (await peer.request('/a2a/demo/.well-known/agent-card.json')).json()
    expect(JSON.stringify(card.capabilities.extensions)).not.toContain('signed-push')
  })

  test('PU-11: what fails is told again under the same key, and whoever is gone is told nothing more', async () => {
    answers = [{ status: 500 }]
    await send({})
    await untilTold(2)
    expect(told[1]?.headers['idempotency-key']).toBe(told[0]?.headers['idempotency-key'])
    await expect.poll(outboxStates, { timeout: 15_000 }).toSatisfy(isOver)
    expect(statesTold().at(-1)).toBe('TASK_STATE_COMPLETED')
    told = []
    answers = [{ status: 410 }]
    await send({}, 'once more')
    await untilTold(1)
    await expect.poll(outboxStates, { timeout: 15_000 }).toSatisfy(isOver)
    expect(told).toHaveLength(1)
  })

  test('a message that is sent again makes no second receiver, and nobody is told twice', async () => {
    const configuration = { taskPushNotificationConfig: { url } }
    const params = { message: aMessage('hello'), configuration }
    const { task } = (await peer.call('JSONRPC', 'SendMessage', params)).result
    await expect.poll(statesTold, { timeout: 15_000 }).toContain('TASK_STATE_COMPLETED')
    await expect.poll(outboxStates, { timeout: 15_000 }).toSatisfy(isOver)
    const before = told.length
    expect((await peer.call('JSONRPC', 'SendMessage', params)).result.task.id).toBe(task.id)
    const list = await peer.call('JSONRPC', 'ListTaskPushNotificationConfigs', { taskId: task.id })
    expect(list.result.configs).toHaveLength(1)
    expect(await outboxStates()).toHaveLength(before)
  })

  test('PU-08: a redirect is not followed', async () => {
    answers = [
      { status: 302, headers: { location: 'http://127.0.0.1:9/elsewhere' } },
      { status: 302, headers: { location: 'http://127.0.0.1:9/elsewhere' } },
    ]
    await send({})
    await untilTold(1)
    await expect.poll(outboxStates, { timeout: 15_000 }).toSatisfy(isOver)
    expect(await outboxStates()).not.toContain('delivered')
  })

  test('PU-13: whoever asked in the older version is told in it', async () => {
    const pushNotificationConfig = { url }
    const message = { kind: 'message', role: 'user', messageId: 'old-1', parts: [{ kind: 'text', text: 'hello' }] }
    const params = { message, configuration: { blocking: true, pushNotificationConfig } }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params })
    const asked = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
    await peer.request('/a2a', asked, { headers: { 'a2a-version': '' } })
    await expect
      .poll(() => told.at(-1)?.body, { timeout: 15_000 })
      .toMatchObject({ kind: 'task', status: { state: 'completed' } })
  })
})
