// A file that an agent answers with goes along with its note: other servers fetch it at an address that nobody else knows.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { nameStatement } from '../../src/db/client.ts'
import { type Fediverse, startFediverse } from '../doubles/fediverse.ts'
import { type FediverseGateway, startFediverseGateway } from '../doubles/fediverse-gateway.ts'
import { aMention, type Person, settlePerson } from '../doubles/fediverse-person.ts'
import { createTestApp, operatorToken } from '../doubles/test-app.ts'
import { settleUntil } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const social = 'social.localhost'
const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 1, 2, 3, 4])
const page = new TextEncoder().encode('<!doctype html><html><script>alert(1)</script></html>')
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

const painter = defineAgent({
  slug: 'demo',
  run: () => ({
    parts: [
      { kind: 'text', mime: 'text/markdown', content: 'Here: ![A red square](square.png)' },
      {
        kind: 'file',
        mime: 'image/png',
        name: 'square.png',
        bytes_ref: { kind: 'inline', data_base64: base64(png) },
      },
      {
        kind: 'file',
        mime: 'text/html',
        name: 'page.html',
        bytes_ref: { kind: 'inline', data_base64: base64(page) },
      },
    ],
  }),
})

const owners = nameStatement('test_file_owners', 'select distinct owner from attachments')

type Attached = {
  readonly url: string
  readonly name: string
  readonly mediaType: string
  readonly type: string
}

describeOnDatabase('files into the fediverse', (database) => {
  let fediverse: Fediverse
  let bot: FediverseGateway
  let alice: Person
  beforeEach(async () => {
    fediverse = await startFediverse()
    alice = settlePerson(fediverse, social)
  })
  afterEach(async () => {
    await bot.stop()
    await fediverse.stop()
  })

  const answered = async (to?: (agent: string) => object) => {
    bot = await startFediverseGateway(database(), fediverse, { hosts: [social], agents: [painter] })
    const agent = bot.actor('demo')
    await alice.post(bot.inbox('demo'), aMention(alice, agent, 'paint', { ...to?.(agent) }))
    await settleUntil(bot.gateway, () => alice.received.length > 0)
    const { object } = alice.received[0]?.body ?? {}
    return { id: String(object.id), attached: object.attachment as readonly Attached[] }
  }
  const asked = async (url: string, init: RequestInit = {}): Promise<Response> => {
    const { pathname, port } = new URL(url)
    return fetch(`http://127.0.0.1:${port}${pathname}`, init)
  }

  test('they are attached with what the words say of them, and are there for whoever was told where', async () => {
    const { attached } = await answered()
    expect(attached).toEqual([
      {
        type: 'Image',
        mediaType: 'image/png',
        name: 'A red square',
        url: expect.stringMatching(/\/ap\/demo\/media\/[0-9a-f]{32}-[0-9a-f]{32}$/),
      },
      { type: 'Document', mediaType: 'text/html', name: 'page.html', url: expect.stringContaining('/ap/demo/media/') },
    ])
    const [picture, document] = attached
    const shown = await asked(picture?.url ?? '')
    expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'image/png'])
    expect(new Uint8Array(await shown.arrayBuffer())).toEqual(png)
    const part = await asked(picture?.url ?? '', { headers: { range: 'bytes=0-3' } })
    expect([part.status, new Uint8Array(await part.arrayBuffer())]).toEqual([206, png.slice(0, 4)])
    const saved = await asked(document?.url ?? '', { method: 'HEAD' })
    const safe = ['content-type', 'x-content-type-options', 'content-security-policy'].map((name) =>
      saved.headers.get(name),
    )
    expect(safe).toEqual(['application/octet-stream', 'nosniff', "sandbox; default-src 'none'"])
    expect(saved.headers.get('content-disposition')).toMatch(/^attachment;/)
  })

  test('no other name below the note leads to them, and nobody posts there', async () => {
    const { attached, id } = await answered()
    const url = attached[0]?.url ?? ''
    for (const other of [`${url}0`, url.replace(/-[0-9a-f]{32}$/, `-${'0'.repeat(32)}`), url.split('-')[0] ?? ''])
      expect((await asked(other)).status).toBe(404)
    expect((await asked(`${url.split('/media/')[0]}/media/${id.split('/').at(-1)}`)).status).toBe(404)
    expect((await asked(url, { method: 'POST' })).status).toBe(405)
  })

  test('of a direct note they are kept by nobody on the way, and go with whoever is forgotten', async () => {
    const { attached } = await answered((agent) => ({ to: [agent], cc: [] }))
    const url = attached[0]?.url ?? ''
    const shown = await asked(url)
    expect([shown.status, shown.headers.get('cache-control')]).toEqual([200, 'private, no-store'])
    const app = createTestApp(bot.gateway, database())
    const [owner] = await database().query<{ owner: string }>(owners, [])
    const forgotten = await app.request('/admin/erase', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${operatorToken}` },
      body: JSON.stringify({ principal: owner?.owner, confirm: true }),
    })
    expect(forgotten.status).toBe(200)
    expect((await asked(url)).status).toBe(404)
  })

  test('once the file itself is taken back, its address says that it is no more', async () => {
    const { attached } = await answered()
    const { service: desk } = bot.gateway.files
    for (const { id } of await desk.list({ before: null, limit: 10 })) await desk.remove(id, 'test')
    expect((await asked(attached[0]?.url ?? '')).status).toBe(410)
  })
})
