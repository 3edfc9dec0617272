// A reply that comes in pieces, from an agent and to a platform.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { httpAgent } from '../../../src/agents/http-agent.ts'
import type { Database } from '../../../src/db/client.ts'
import { secret } from '../../../src/lib/secret.ts'
import { loneContext } from '../../doubles/agent-context.ts'
import { aMessage } from '../../doubles/inbox-drafts.ts'
import { createTestGateway, loopbackConnections, settleUntil } from '../../doubles/test-gateway.ts'
import { startVendorStub } from '../../doubles/vendor-stub.ts'
import type { Case } from '../conform.ts'

/** What an agent elsewhere streams, as it is shown while it comes and as it is taken in the end. */
async function streamed(...chunks: readonly object[]) {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const chunk of chunks) response.write(`data: ${JSON.stringify(chunk)}\n\n`)
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const shown: string[] = []
  const context = { ...loneContext('remote'), show: (delta: string) => void shown.push(delta) }
  try {
    const run = httpAgent(`http://127.0.0.1:${port}/`, { secret: secret('a secret that both sides know') })
    return { shown: shown, reply: await run(aMessage(), context) }
  } finally {
    server.close()
  }
}

const text = (delta: string) => ({ t: 'text', index: 0, mime: 'text/plain', delta })
const done = (content: string) => ({
  t: 'done',
  response: {
    thread_id: 'c1',
    in_reply_to: 'm1',
    agent: 'remote',
    parts: [{ kind: 'text', mime: 'text/plain', content }],
    status: 'completed',
  },
})

export const streamCases: readonly Case[] = [
  {
    id: 'ST-02',
    claim: 'the end of the answer ends its text: nothing waits for a piece that never comes',
    run: () => streamed({ t: 'start' }, text('hel'), done('hello')),
    expected: { shown: ['hel'], reply: { parts: [{ content: 'hello' }], status: 'completed' } },
  },
  {
    id: 'ST-03',
    claim: 'an answer ends once: what follows is not even read',
    run: () => streamed({ t: 'start' }, done('first'), text('more'), done('second')),
    expected: { shown: [], reply: { parts: [{ content: 'first' }] } },
    differs: 'nothing is read after the first done, so nothing is left to audit',
  },
]

export function segmentCases(database: () => Database): readonly Case[] {
  return [
    {
      id: 'ST-05',
      claim: 'a send that fails after the second of four parts goes on with the third, and repeats none',
      run: async () => {
        const vendor = await startVendorStub()
        const words = ['first', 'second', 'third', 'fourth'].map((word) => word.padEnd(9, '.'))
        const agent = defineAgent({ slug: 'demo', run: () => words.join(' ') })
        const connections = loopbackConnections(vendor.origin, { settings: { maxTextLength: 10 } })
        const gateway = createTestGateway(database(), { agents: [agent], connections })
        const pass = { kind: 'delay', ms: 0 } as const
        vendor.failNext('send', pass, pass, { kind: 'drop', when: 'before' })
        await gateway.deliver({ id: 'm1', from: 'ada', text: 'hello' })
        await settleUntil(gateway, () => vendor.messages.length >= words.length)
        const said = vendor.messages.map((message) => message.text.trim())
        gateway.stop()
        await vendor.close()
        return said
      },
      equals: ['first....', 'second...', 'third....', 'fourth...'],
    },
  ]
}
