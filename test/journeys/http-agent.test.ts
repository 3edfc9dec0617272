// An agent behind an address: asked with a signed message, answered with a response or its stream.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { httpAgent } from '../../src/agents/http-agent.ts'
import { createWebHmac, verifyHmacSha256 } from '../../src/lib/index.ts'
import { secret } from '../../src/lib/secret.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

type Asked = { readonly headers: IncomingMessage['headers']; readonly body: Buffer }
type Answer = (response: ServerResponse, asked: Asked) => void

const words = 'a secret that both sides know'

describeOnDatabase('an agent behind an address', (database) => {
  let vendor: VendorStub
  let server: Server
  let gateway: TestGateway
  let run: ReturnType<typeof httpAgent>
  const asked: Asked[] = []
  let answers: Answer[] = []

  const reply = (text: string, asking: Asked) => {
    const { thread_id, id } = JSON.parse(asking.body.toString()) as { thread_id: string; id: string }
    const parts = [{ kind: 'text', mime: 'text/plain', content: text }]
    return { thread_id, in_reply_to: id, agent: 'remote', parts, status: 'completed' }
  }
  const withJson =
    (text: string): Answer =>
    (response, asking) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(reply(text, asking)))
    }
  const withStream =
    (text: string, isWhole: boolean): Answer =>
    (response, asking) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: ${JSON.stringify({ t: 'start' })}\n\n`)
      response.write(`data: ${JSON.stringify({ t: 'text', index: 0, mime: 'text/plain', delta: text })}\n\n`)
      if (isWhole) response.write(`data: ${JSON.stringify({ t: 'done', response: reply(text, asking) })}\n\n`)
      response.end()
    }
  const withStatus =
    (status: number, body = ''): Answer =>
    (response) => {
      response.writeHead(status)
      response.end(body)
    }
  const say = async (...given: Answer[]) => {
    answers = given
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'hello' })
    await settleUntil(gateway, () => vendor.messages.length > 0)
    return vendor.messages.map((message) => message.text)
  }

  beforeEach(async () => {
    asked.length = 0
    vendor = await startVendorStub()
    server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const asking = { headers: request.headers, body: Buffer.concat(chunks) }
        asked.push(asking)
        answers[Math.min(asked.length, answers.length) - 1]?.(response, asking)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    run = httpAgent(`http://127.0.0.1:${port}/agent`, { secret: secret(words) })
    gateway = createTestGateway(database(), {
      agents: [defineAgent({ slug: 'demo', run })],
      connections: loopbackConnections(vendor.origin),
    })
  })
  afterEach(async () => {
    gateway.stop()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await vendor.close()
  })

  test('is sent the message signed with a time, and without the original payload', async () => {
    expect(await say(withJson('from afar'))).toEqual(['from afar'])
    const [first] = asked
    const at = String(first?.headers['x-parley-timestamp'])
    expect(Math.abs(Number(at) - Date.now() / 1000)).toBeLessThan(300)
    const signed = Buffer.concat([Buffer.from(`${at}.`), first?.body ?? Buffer.alloc(0)])
    const header = String(first?.headers['x-parley-signature'])
    expect(await verifyHmacSha256(createWebHmac(), signed, header, words)).toBe(true)
    expect(await verifyHmacSha256(createWebHmac(), signed, header, 'another secret')).toBe(false)
    expect(JSON.parse(first?.body.toString() ?? '{}')).not.toHaveProperty('raw')
  })

  test('is told in the headers of the chain of agents who calls it, and how far the chain has come', async () => {
    await say(withJson('from afar'))
    expect(asked[0]?.headers).toMatchObject({
      'x-agents-api-caller-agent': 'demo',
      'x-agents-api-caller-host': expect.stringMatching(/^https?:\/\//),
      'x-agents-api-chain-depth': '1',
      'x-agents-api-chain-root': expect.stringMatching(/./),
    })
  })

  test('is not asked where the chain of agents has come as far as it may, and the person is told why', async () => {
    const relay = (slug: string, next: string) =>
      defineAgent({ slug, run: async (_message, { agents }) => (await agents.call(next, 'hello')) ?? 'no answer' })
    gateway.stop()
    gateway = createTestGateway(database(), {
      agents: [
        relay('a', 'b'),
        relay('b', 'c'),
        relay('c', 'd'),
        relay('d', 'demo'),
        defineAgent({ slug: 'demo', run }),
      ],
      connections: loopbackConnections(vendor.origin),
    })
    expect(await say(withJson('from afar'))).toEqual([
      expect.stringContaining('I do not pass this on: the chain of agents it came through is at its end.'),
    ])
    expect(asked).toEqual([])
  })

  test('may stream; the end of the stream is the answer', async () => {
    expect(await say(withStream('bit by bit', true))).toEqual(['bit by bit'])
  })

  test('that breaks off or fails is asked again under the same key', async () => {
    expect(await say(withStatus(503), withStream('half', false), withJson('whole'))).toEqual(['whole'])
    expect(asked).toHaveLength(3)
    expect(new Set(asked.map((each) => each.headers['idempotency-key'])).size).toBe(1)
  })

  test.each([
    ['no JSON', withStatus(200, '<html>canary</html>')],
    ['JSON that is no response', withStatus(200, '{"canary":1}')],
    ['a refusal', withStatus(400, 'canary')],
  ])('that answers with %s ends in an apology without its words', async (_name, answer) => {
    const texts = await say(answer)
    expect(texts[0]).toContain('Sorry')
    expect(texts.join()).not.toContain('canary')
  })
})
