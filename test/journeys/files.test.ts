// Files on their way: opened at the platform once, kept as descriptors, handed to agents anew, and sent back out.

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { telegramChannel } from '../../adapters/telegram/index.ts'
import { type AgentContext, type AgentReply, defineAgent } from '../../src/agents/define-agent.ts'
import { type NormalizedMessage, type Part, textOf } from '../../src/contract/index.ts'
import { type Database, nameStatement } from '../../src/db/client.ts'
import { GatewayError } from '../../src/lib/errors.ts'
import { replay } from '../../src/turns/replay.ts'
import { type MemoryBlobs, memoryBlobs } from '../doubles/memory-blobs.ts'
import { startTelegramApi } from '../doubles/telegram-api.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { watchedDatabase } from '../doubles/watched-database.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

type Run = (message: NormalizedMessage, context: AgentContext) => Promise<AgentReply> | AgentReply
type Config = Parameters<typeof createTestGateway>[1]

const files = nameStatement(
  'test_files',
  'select id, inbox_id as "inboxId", session_id as "sessionId" from attachments',
)
const lines = nameStatement('test_lines', 'select envelope from messages order by seq')
const everything = nameStatement(
  'test_everything',
  `select string_agg(query_to_xml(format('select * from %I', tablename), true, false, '')::text, '') as dump
   from pg_tables where schemaname = 'public'`,
)
const inboxIds = nameStatement('test_inbox_ids', 'select id from inbox order by seq')
/** A field of a part that is there in some kinds only. */
function fieldOf(part: Part | undefined, ...path: readonly string[]): unknown {
  return path.reduce((at: unknown, key) => (at as Record<string, unknown> | undefined)?.[key], part)
}

const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52])

describeOnDatabase('files', (database) => {
  let vendor: VendorStub
  let blobs: MemoryBlobs
  const gateways: TestGateway[] = []
  const heard: NormalizedMessage[] = []
  const read: string[] = []

  const listen: Run = async (message, { attachments }) => {
    heard.push(message)
    for (const part of message.parts) {
      const id = 'attachment' in part ? (part.attachment as { id: string }).id : undefined
      const bytes = id === undefined ? undefined : await attachments.bytes(id, 1024)
      if (bytes !== undefined) read.push(Buffer.from(bytes).toString('latin1'))
    }
    return `heard ${textOf(message.parts)}`
  }
  const start = (run: Run = listen, config: Config = {}, on: Database = database()): TestGateway => {
    const agents = [defineAgent({ slug: 'demo', run })]
    const connections = loopbackConnections(vendor.origin)
    const gateway = createTestGateway(on, { agents, connections, ...config }, { files: blobs })
    gateways.push(gateway)
    return gateway
  }
  const dump = async () => (await database().query<{ dump: string }>(everything, []))[0]?.dump ?? ''
  const asked = (route: string) => vendor.calls.filter((call) => call.route === route).length
  const letter = { id: 'm1', from: 'ada', text: 'look', files: [{ id: 'f1', mime: 'text/plain', name: 'a.txt' }] }

  beforeEach(async () => {
    vendor = await startVendorStub()
    vendor.files.set('f1', { bytes: new TextEncoder().encode('hello file') })
    blobs = memoryBlobs()
    heard.splice(0)
    read.splice(0)
  })
  afterEach(async () => {
    for (const gateway of gateways.splice(0)) gateway.stop()
    expect(vendor.unexpected).toEqual([])
    await vendor.close()
  })

  describe('on the way in', () => {
    test('a file is fetched once, kept, and read by the agent; the transcript names it and nothing more', async () => {
      const gateway = start()
      await gateway.deliver(letter)
      await settleUntil(gateway, () => vendor.messages.length === 1)
      expect(read).toEqual(['hello file'])
      const [, part] = heard[0]?.parts ?? []
      expect(part).toMatchObject({ kind: 'file', mime: 'text/plain', name: 'a.txt', size: 10 })
      expect(fieldOf(part, 'bytes_ref')).toMatchObject({
        kind: 'url',
        url: expect.stringMatching(/^https:\/\/parley\.example\//),
      })
      expect([asked('file'), blobs.objects.size]).toEqual([1, 1])
      const [row, more] = await database().query<{ id: string; inboxId: string; sessionId: string }>(files, [])
      expect([row?.inboxId, row?.sessionId, more]).toEqual([expect.any(String), expect.any(String), undefined])
      const [first] = await database().query<{ envelope: Record<string, Record<string, unknown>> }>(lines, [])
      const [path] = [...blobs.objects.keys()]
      const ref = { bucket: 'agent-files', path, mime_type: 'text/plain' }
      expect(first?.envelope['metadata']).toMatchObject({
        user_message_attachments: ref,
        attachments: [
          { ...ref, id: row?.id, size: 10, name: 'a.txt', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
        ],
      })
      const stored = JSON.stringify(first)
      for (const secret of ['channel', 'token=', 'http', Buffer.from('hello file').toString('base64')])
        expect(stored).not.toContain(secret)
    })

    test('a later turn gets the file of an earlier one under a handle of its own, until it is gone', async () => {
      const gateway = start()
      await gateway.deliver(letter)
      await settleUntil(gateway, () => vendor.messages.length === 1)
      await gateway.deliver({ id: 'm2', from: 'ada', text: 'again' })
      await settleUntil(gateway, () => vendor.messages.length === 2)
      const urlIn = (parts: readonly Part[] = []) => String(fieldOf(parts[1], 'bytes_ref', 'url'))
      const before = urlIn(heard[0]?.parts)
      const later = urlIn(heard[1]?.history?.[0]?.parts)
      expect(later).toContain('token=')
      expect(later).not.toBe(before)
      const [row] = await database().query<{ id: string }>(files, [])
      await gateway.deps.attachments.remove(row?.id ?? '', 'test')
      await gateway.deliver({ id: 'm3', from: 'ada', text: 'and now' })
      await settleUntil(gateway, () => vendor.messages.length === 3)
      expect(heard[2]?.history?.[0]?.parts[1]).toEqual({
        kind: 'text',
        mime: 'text/plain',
        content: '[file a.txt: no longer available]',
      })
      expect(asked('file')).toBe(1)
    })

    test.each(['before:record_step', 'after:record_step', 'before:complete_turn'])(
      'a crash at %s fetches nothing a second time and leaves one file',
      async (where) => {
        let isBroken = false
        const breaking = watchedDatabase(database(), (name) => {
          if (isBroken || name !== where) return
          isBroken = true
          throw new GatewayError('storage_unavailable', 'the database went away')
        })
        const gateway = start(listen, {}, breaking)
        await gateway.deliver(letter)
        await settleUntil(gateway, () => vendor.messages.length === 1)
        expect(isBroken).toBe(true)
        expect([asked('file'), blobs.objects.size]).toEqual([1, 1])
        expect(await database().query(files, [])).toHaveLength(1)
        expect(read.at(-1)).toBe('hello file')
      },
    )

    test.each<[string, () => void, string, number]>([
      ['gone', () => vendor.files.clear(), 'it is gone', 1],
      [
        'a login page',
        () => vendor.files.set('f1', { bytes: png, type: 'text/html' }),
        'the channel does not give it out',
        1,
      ],
      [
        'too large for the channel',
        () => vendor.failAlways('file', { kind: 'answer', status: 413, body: '' }),
        'too large for this channel',
        1,
      ],
      [
        'out of order',
        () => vendor.failAlways('file', { kind: 'answer', status: 500, body: '' }),
        'the channel did not answer',
        4,
      ],
      ['of another type', () => vendor.files.set('f1', { bytes: png }), 'its bytes are not what its type says', 1],
      ['empty', () => vendor.files.set('f1', { bytes: new Uint8Array() }), 'it is empty', 1],
    ])('a file that is %s becomes words that the agent can read', async (_name, arrange, words, tries) => {
      arrange()
      const gateway = start()
      await gateway.deliver(letter)
      await settleUntil(gateway, () => vendor.messages.length === 1)
      expect(textOf(heard[0]?.parts ?? [])).toBe(`look\n[file a.txt: not received, ${words}]`)
      expect([asked('file'), blobs.objects.size]).toEqual([tries, 0])
    })

    test('a platform that falters is asked again', async () => {
      vendor.failNext('file', { kind: 'answer', status: 503, body: '' }, { kind: 'drop', when: 'before' })
      const gateway = start()
      await gateway.deliver(letter)
      await settleUntil(gateway, () => vendor.messages.length === 1)
      expect([read, asked('file')]).toEqual([['hello file'], 3])
    })

    test('nothing is fetched for somebody who is not let in', async () => {
      const gateway = start(listen, {
        connections: loopbackConnections(vendor.origin, { access: { mode: 'allow_list', allow: ['loopback:bob'] } }),
      })
      await gateway.deliver(letter)
      await gateway.deliver({ ...letter, id: 'm2', from: 'bob' })
      await settleUntil(gateway, () => heard.length === 1)
      expect([asked('file'), heard[0]?.id]).toEqual([1, 'm2'])
    })

    test('a gateway without a place for files says so, and answers all the same', async () => {
      const [store] = blobs.stores
      blobs = {
        ...blobs,
        stores: [{ ...store, write: () => Promise.reject(new GatewayError('config_invalid', 'there is no place')) }],
      }
      const gateway = start()
      await gateway.deliver(letter)
      await settleUntil(gateway, () => vendor.messages.length === 1)
      expect(textOf(heard[0]?.parts ?? [])).toContain('this gateway keeps no files')
    })

    test('a replay tells of the file and fetches nothing', async () => {
      const gateway = start()
      await gateway.deliver(letter)
      await settleUntil(gateway, () => vendor.messages.length === 1)
      const before = await dump()
      const [first] = await database().query<{ id: string }>(inboxIds, [])
      const report = await replay(gateway.deps, first?.id ?? '', { fixture: 'none' })
      expect([report.isSame, report.diff.filter((line) => !line.startsWith(' '))]).toEqual([true, []])
      expect([asked('file'), await dump()]).toEqual([1, before])
    })

    test('what only the platform and we should know is in no row and no log', async () => {
      const gateway = start()
      await gateway.deliver(letter)
      await settleUntil(gateway, () => vendor.messages.length === 1)
      const shown = `${await dump()}${JSON.stringify(gateway.logged)}${JSON.stringify(vendor.messages)}`
      for (const secret of ['loopback-secret-of-the-tests', '/files/', 'token=', 'storage/v1/object'])
        expect(shown).not.toContain(secret)
      expect(shown).toContain('agent-inputs/')
    })
  })

  describe('on the way out', () => {
    const inline = (text: string, name = 'answer.txt'): Part => ({
      kind: 'file',
      bytes_ref: { kind: 'inline', data_base64: Buffer.from(text).toString('base64') },
      mime: 'text/plain',
      name,
    })
    const sent = () =>
      vendor.messages.map(({ text, file }) => [text, file && Buffer.from(file.data, 'base64').toString()])

    test('a file goes out once, after the words, and no row holds its bytes', async () => {
      let isBroken = false
      const breaking = watchedDatabase(database(), (name) => {
        if (isBroken || name !== 'before:complete_turn') return
        isBroken = true
        throw new GatewayError('storage_unavailable', 'the database went away')
      })
      const gateway = start(
        () => ({ parts: [{ kind: 'text', mime: 'text/plain', content: 'here' }, inline('the answer')] }),
        {},
        breaking,
      )
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'file please' })
      await settleUntil(gateway, () => vendor.messages.length === 2)
      expect(sent()).toEqual([
        ['here', undefined],
        ['', 'the answer'],
      ])
      expect([isBroken, await database().query(files, [])]).toEqual([true, [expect.anything()]])
      expect(await dump()).not.toContain(Buffer.from('the answer').toString('base64'))
    })

    test('what somebody sent can be sent back by its id, and what is not theirs cannot', async () => {
      let foreign = ''
      const gateway = start((message) => {
        const id = foreign === '' ? String(fieldOf(message.parts[1], 'attachment', 'id')) : foreign
        const attachment = { id, bucket: 'made', path: 'up' }
        const bytes_ref = { kind: 'content_addressed', algo: 'sha256', digest: '0'.repeat(64) } as const
        return { parts: [{ kind: 'file', bytes_ref, name: 'x', attachment }] }
      })
      await gateway.deliver(letter)
      await settleUntil(gateway, () => vendor.messages.length === 1)
      expect(sent()).toEqual([['', 'hello file']])
      foreign = (await database().query<{ id: string }>(files, []))[0]?.id ?? ''
      await gateway.deliver({ id: 'm2', from: 'eve', text: 'give me theirs', conversation: 'elsewhere' })
      await settleUntil(gateway, () => vendor.messages.length === 2)
      expect(sent()[1]).toEqual(['[file x: not available]', undefined])
    })

    test("somebody else's address becomes a link and is never fetched; our own handle becomes the file again", async () => {
      const gateway = start((message) => ({
        parts: [
          { kind: 'file', bytes_ref: { kind: 'url', url: 'https://example.org/a.pdf' }, name: 'a.pdf' },
          { kind: 'file', bytes_ref: fieldOf(message.parts[1], 'bytes_ref') as { kind: 'url'; url: string } },
        ],
      }))
      await gateway.deliver(letter)
      await settleUntil(gateway, () => vendor.messages.length === 2)
      expect(sent()[0]?.[0]).toContain('https://example.org/a.pdf')
      expect(sent()[1]).toEqual(['', 'hello file'])
      expect(await dump()).not.toContain('token=')
    })
  })

  test('a photo on Telegram reaches the agent, and one goes back', async () => {
    const api = await startTelegramApi()
    api.files.set('large', { bytes: png, path: 'photos/file_7.png' })
    const echo: Run = async (message, context) => {
      await listen(message, context)
      return { parts: message.parts.filter((part) => part.kind === 'file') }
    }
    const settings = {
      botToken: api.token,
      webhookSecret: 'a-webhook-secret-of-forty-characters-xyz',
      apiRoot: api.apiRoot,
    }
    const connections = [
      { channel: 'telegram', id: 'default', access: { mode: 'public' as const, allow: [] }, settings },
    ]
    const agents = [defineAgent({ slug: 'demo', run: echo })]
    const gateway = createTestGateway(database(), { agents, connections }, { files: blobs }, [telegramChannel])
    gateways.push(gateway)
    const [at] = gateway.gateway.connections
    if (at === undefined) expect.unreachable('no connection')
    const message = {
      message_id: 3,
      date: Math.floor(Date.now() / 1000),
      chat: { id: 5, type: 'private' },
      from: { id: 5, is_bot: false, first_name: 'Ada' },
      photo: [{ file_id: 'small' }, { file_id: 'large', file_size: 16 }],
      caption: 'look',
    }
    await gateway.gateway.receive(at, {
      bytes: new TextEncoder().encode(JSON.stringify({ update_id: 1, message })),
      headers: { 'x-telegram-bot-api-secret-token': settings.webhookSecret },
      receivedAt: new Date().toISOString(),
      from: 'remote',
    })
    await settleUntil(gateway, () => api.sent.length === 1)
    expect(read).toEqual([Buffer.from(png).toString('latin1')])
    expect(heard[0]?.parts).toMatchObject([{ kind: 'file', mime: 'image/png', name: 'photo.jpg' }, { content: 'look' }])
    expect(api.sent).toMatchObject([{ chat_id: '5', file: { method: 'sendPhoto', name: 'photo.jpg' } }])
    expect(new Uint8Array(api.sent[0]?.file?.bytes ?? [])).toEqual(png)
    expect(api.calls.filter(({ route }) => route === 'file')).toHaveLength(1)
    const shown = `${await dump()}${JSON.stringify(gateway.logged)}`
    for (const secret of [api.token, '/file/bot', 'photos/file_7', 'token=']) expect(shown).not.toContain(secret)
    await api.close()
  })
})
