// A2A in workerd: the Worker serves cards, answers and streams; its WebCrypto signs what the kit of WebCrypto elsewhere verifies.

import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { createLocalJWKSet, flattenedVerify } from 'jose'
import { expect, test } from 'vitest'
import { a2a } from '../../../adapters/a2a/index.ts'
import { cardSigningText, makePrivateCardKeyJson, readCardKey } from '../../../adapters/a2a/protocol/card-signature.ts'
import { createPageTokens } from '../../../adapters/a2a/server/call.ts'
import { canonicalJson, createWebHmac } from '../../../src/lib/index.ts'
import { createWorker } from '../../../src/worker.ts'
import { describeInWorkerd } from './harness.ts'

const worker = createWorker({ connections: [a2a({ anonymous: true })] })
const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }

async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const context = createExecutionContext()
  const response = await worker.fetch(new Request(`https://parley.example${path}`, { headers, ...init }), env, context)
  const whole = new Response(await response.arrayBuffer(), response)
  await waitOnExecutionContext(context)
  return whole
}

const sending = (messageId: string) => ({
  method: 'POST',
  body: JSON.stringify({ message: { messageId, role: 'ROLE_USER', parts: [{ text: 'hello from workerd' }] } }),
})

describeInWorkerd('A2A in workerd', () => {
  test('cards are served to anybody whom the operator opened it to, by their names', async () => {
    const response = await ask('/a2a/demo/.well-known/agent-card.json')
    expect(response.status).toBe(200)
    const etag = response.headers.get('etag') ?? ''
    expect(await response.json()).toMatchObject({ supportedInterfaces: [{ protocolBinding: 'JSONRPC' }, {}, {}, {}] })
    const again = await ask('/a2a/demo/.well-known/agent-card.json', { headers: { 'if-none-match': etag } })
    expect(again.status).toBe(304)
  })

  test('a message becomes a task with its answer, and the same message finds it', async () => {
    const id = crypto.randomUUID()
    const { task } = (await (await ask('/a2a/message:send', sending(id))).json()) as { task: { id: string } }
    expect(task).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } })
    const again = (await (await ask('/a2a/message:send', sending(id))).json()) as { task: { id: string } }
    expect(again.task.id).toBe(task.id)
  })

  test('a stream begins with the task and ends with it', async () => {
    const response = await ask('/a2a/message:stream', sending(crypto.randomUUID()))
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const text = await response.text()
    expect(text).toMatch(/^id: 0\ndata: \{"task":/)
    expect(text).toContain('TASK_STATE_COMPLETED')
  })
})

test('a card is signed with a key that was made here, and verified from its canonical form', async () => {
  const key = await readCardKey(await makePrivateCardKeyJson())
  const signed = await key.sign({ name: 'ö', skills: [], b: 1, a: '\u2028' }, 'https://parley.example/jwks.json')
  const [signature] = signed['signatures'] as unknown as { protected: string; signature: string }[]
  const text = cardSigningText(signed)
  expect(text).toBe(canonicalJson({ a: '\u2028', b: 1, name: 'ö', skills: [] }))
  const payload = btoa(String.fromCharCode(...new TextEncoder().encode(text)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
  const keys = createLocalJWKSet({ keys: [key.publicJwk as { kty: string }] })
  const jws = { protected: signature?.protected ?? '', signature: signature?.signature ?? '', payload }
  expect((await flattenedVerify(jws, keys)).protectedHeader?.kid).toBe(key.kid)
})

test('tokens of pages are marked by WebCrypto as by Node', async () => {
  const tokens = createPageTokens(createWebHmac(), async () => 'secret')
  const token = await tokens.write({ stateAt: '2026-01-01T00:00:00.000Z', id: 'x' }, ['me'])
  expect(await tokens.read(token, ['me'])).toEqual({ stateAt: '2026-01-01T00:00:00.000Z', id: 'x' })
  expect(await tokens.read(token, ['you'])).toBeUndefined()
})
