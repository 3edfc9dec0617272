// Files as different agents meet them: the demo agent, one elsewhere, and one that hears more while it works.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Agent, defineAgent } from '../../src/agents/define-agent.ts'
import { demoAgent } from '../../src/agents/demo-agent.ts'
import { httpAgent } from '../../src/agents/http-agent.ts'
import { secret } from '../../src/lib/secret.ts'
import { startScriptedServer } from '../../src/testing/scripted-server.ts'
import { memoryBlobs } from '../doubles/memory-blobs.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const letter = { id: 'm1', from: 'ada', text: 'look', files: [{ id: 'f1', mime: 'text/plain', name: 'a.txt' }] }

describeOnDatabase('a file for an agent', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  const start = (agent: Agent) => {
    const connections = loopbackConnections(vendor.origin)
    gateway = createTestGateway(database(), { agents: [agent], connections }, { files: memoryBlobs() })
  }
  beforeEach(async () => {
    vendor = await startVendorStub()
    vendor.files.set('f1', { bytes: new TextEncoder().encode('hello file') })
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  test('the demo agent says what it was sent, and sends one back', async () => {
    start(demoAgent)
    await gateway.deliver(letter)
    await settleUntil(gateway, () => vendor.messages.length === 1)
    const digest = Buffer.from(await crypto.subtle.digest('SHA-256', new TextEncoder().encode('hello file'))).toString(
      'hex',
    )
    expect(vendor.messages[0]?.text).toContain(`File: a.txt (text/plain, 10 bytes, sha256 ${digest.slice(0, 12)}…).`)
    await gateway.deliver({ id: 'm2', from: 'ada', text: '/file hello ☺', command: { name: 'file', args: 'hello ☺' } })
    await settleUntil(gateway, () => vendor.messages.length === 3)
    const { text, file } = vendor.messages[2] ?? {}
    expect([text, file?.name, Buffer.from(file?.data ?? '', 'base64').toString()]).toEqual([
      '',
      'demo.txt',
      'hello ☺\n',
    ])
  })

  test('an agent elsewhere is sent a handle, and neither bytes nor what only the platform understands', async () => {
    const remote = await startScriptedServer({
      notFound: {},
      routeOf: () => 'ask',
      apply: () => ({
        status: 200,
        body: { thread_id: 't', in_reply_to: 'm', agent: 'demo', status: 'completed', parts: [] },
      }),
    })
    start(defineAgent({ slug: 'demo', run: httpAgent(remote.origin, { secret: secret('a-secret-for-the-remote') }) }))
    await gateway.deliver(letter)
    await settleUntil(gateway, () => remote.calls.length === 1)
    const [call] = remote.calls
    expect(call?.body).toMatchObject({
      parts: [{ kind: 'text' }, { kind: 'file', bytes_ref: { kind: 'url', expires_at: expect.any(String) }, size: 10 }],
    })
    expect(JSON.stringify(call?.body)).not.toMatch(/"channel","ref"|"kind":"channel"|aGVsbG8gZmlsZQ/)
    await remote.close()
  })

  test('a file that joins a running turn is brought before anybody hears of it', async () => {
    const isRunning = Promise.withResolvers<void>()
    const hasMore = Promise.withResolvers<void>()
    start(
      defineAgent({
        slug: 'demo',
        busy: 'steer',
        async run(_message, context) {
          isRunning.resolve()
          await hasMore.promise
          return `heard ${String((await context.hear())?.content)}`
        },
      }),
    )
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'begin' })
    const settled = gateway.settle()
    await isRunning.promise
    await gateway.deliver({ ...letter, id: 'm2' })
    hasMore.resolve()
    await settled
    await settleUntil(gateway, () => vendor.messages.length === 1)
    expect(vendor.messages[0]?.text).toMatch(/^heard look\s+\[file: a\.txt/)
    expect(vendor.calls.filter(({ route }) => route === 'file')).toHaveLength(1)
  })
})
