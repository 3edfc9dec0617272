// A file that is too large to be sent along in an answer of A2A is fetched from a URL that is signed for its reader.
import { afterEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { type A2aPeer, aMessage, startA2a } from '../doubles/a2a-peer.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const size = 5 * 1024 * 1024

describeOnDatabase('a large file of an agent', (database) => {
  let peer: A2aPeer
  afterEach(() => peer.stop())

  test('comes by a URL that leads to its bytes, another one each time', async () => {
    const agent = defineAgent({
      slug: 'demo',
      async run(_message, { principal }) {
        // As if its caller had brought it before: what an agent makes itself is smaller.
        const stored = await peer.gateway.files.service.store({
          body: new Blob([Buffer.alloc(size, 'a')]).stream(),
          name: 'large.txt',
          owner: { principal, threadId: null },
          origin: { receivedVia: 'agui', nativeId: null },
        })
        if (stored.kind === 'refused') throw new Error(stored.code)
        const { id, bucket, path } = stored.descriptor
        const bytes_ref = { kind: 'inline' as const, data_base64: '' }
        return {
          parts: [{ kind: 'file', bytes_ref, mime: 'text/plain', name: 'large.txt', attachment: { id, bucket, path } }],
        }
      },
    })
    peer = startA2a(database(), { agents: [agent] })
    const { task } = (await peer.call('JSONRPC', 'SendMessage', { message: aMessage('hello') })).result
    const [part] = task.artifacts[0].parts
    expect(part).toMatchObject({
      url: expect.stringMatching(/^https?:/),
      filename: 'large.txt',
      mediaType: 'text/plain',
    })
    const again = (await peer.call('HTTP+JSON', 'GetTask', { id: task.id })).result.artifacts[0].parts[0]
    expect(again.url).not.toBe(part.url)
    const { pathname, search } = new URL(again.url)
    const file = await peer.app.request(`${pathname}${search}`)
    expect([file.status, (await file.arrayBuffer()).byteLength]).toEqual([200, size])
  })
})
