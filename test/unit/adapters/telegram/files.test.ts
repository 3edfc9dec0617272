// Files at Telegram: which parts become one, how they are opened and sent, and that the token is in none of it.
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { OpenedFile, Part } from '../../../../src/contract/index.ts'
import type { JsonObject } from '../../../../src/lib/json-value.ts'
import { createAttempt, createTextReply } from '../../../../src/testing/adapter-contract-outbound.ts'
import { type AdapterFixtures, createAdapterFromFixtures } from '../../../../src/testing/adapter-fixtures.ts'
import type { Fault } from '../../../../src/testing/scripted-server.ts'
import {
  apiFault,
  htmlBadGateway,
  startTelegramApi,
  type TelegramApi,
  testBotToken,
} from '../../../doubles/telegram-api.ts'
import { fixtures } from '../../../fixtures/telegram/index.ts'

const kit: AdapterFixtures = fixtures

async function partsOf(content: Readonly<Record<string, unknown>>): Promise<readonly Part[]> {
  const from = { id: 5, is_bot: false, first_name: 'Ada' }
  const message = { message_id: 1, date: 1_763_300_080, chat: { id: 5, type: 'private' }, from, ...content }
  const bytes = new TextEncoder().encode(JSON.stringify({ update_id: 1, message }))
  const reception = await createAdapterFromFixtures(kit).receive(await fixtures.sign(bytes), fixtures.connection)
  const [arrived] = reception.kind === 'read' ? reception.events : []
  return arrived?.kind === 'message' ? arrived.message.parts : expect.unreachable(JSON.stringify(reception))
}

const file = (id: string, facts: object = {}) => ({ file_id: id, file_unique_id: `u${id}`, file_size: 7, ...facts })

describe('what becomes a file', () => {
  test.each<[string, unknown, object]>([
    ['photo', [file('small'), file('large')], { mime: 'image/jpeg', name: 'photo.jpg' }],
    ['voice', file('large', { mime_type: 'audio/ogg' }), { mime: 'audio/ogg', name: 'voice.ogg' }],
    ['video_note', file('large'), { mime: 'video/mp4', name: 'video-note.mp4' }],
    ['video', file('large', { file_name: 'a.mov', mime_type: 'video/quicktime' }), { name: 'a.mov' }],
    ['audio', file('large', { file_name: 'a.mp3', mime_type: 'audio/mpeg' }), { mime: 'audio/mpeg', name: 'a.mp3' }],
    ['sticker', file('large', { is_animated: true }), { mime: 'application/gzip', name: 'sticker.tgs' }],
    ['sticker', file('large', { is_video: true }), { mime: 'video/webm' }],
    ['sticker', file('large'), { mime: 'image/webp' }],
    ['document', file('large'), {}],
  ])('a %s', async (field, content, facts) => {
    const parts = await partsOf({ [field]: content, caption: 'look' })
    expect(parts).toMatchObject([
      { kind: 'file', bytes_ref: { kind: 'channel', ref: { file_id: 'large' } }, size: 7, ...facts },
      { kind: 'text', content: 'look' },
    ])
  })

  test('an animation comes as a document too, and is one file', async () => {
    const animation = file('gif', { mime_type: 'video/mp4' })
    expect(await partsOf({ animation, document: animation })).toHaveLength(1)
  })

  test('without an id that can be asked for it is named', async () => {
    expect(await partsOf({ photo: [{ width: 1 }] })).toEqual([{ kind: 'text', mime: 'text/plain', content: '[photo]' }])
  })
})

describe('opening', () => {
  let api: TelegramApi
  beforeEach(async () => {
    api = await startTelegramApi()
  })
  afterEach(async () => {
    await api.close()
  })

  const open = (ref: JsonObject = { file_id: 'f' }): Promise<OpenedFile> =>
    createAdapterFromFixtures(kit, api.apiRoot).openFile?.(ref, AbortSignal.timeout(5000)) ??
    expect.unreachable('no openFile')

  test('gives the bytes as they are', async () => {
    const bytes = Uint8Array.from({ length: 70_000 }, (_, at) => at % 256)
    api.files.set('f', { bytes, path: 'photos/file 1.jpg' })
    const opened = await open({ file_id: 'f', mime: 'image/jpeg' })
    if (opened.kind !== 'opened') expect.unreachable(opened.kind)
    expect({ ...opened, body: null }).toEqual({ kind: 'opened', body: null, mime: 'image/jpeg', size: 70_000 })
    expect(new Uint8Array(await new Response(opened.body).arrayBuffer())).toEqual(bytes)
  })

  test('T69 21 MB are too large, and 19 MB are not', async () => {
    api.files.set('f', { bytes: new Uint8Array(21 * 1024 * 1024) })
    expect(await open()).toEqual({ kind: 'refused', reason: 'too_large' })
    expect(api.calls.map(({ route }) => route)).toEqual(['getFile'])
    api.files.set('f', { bytes: new Uint8Array(19 * 1024 * 1024) })
    const opened = await open()
    expect(opened).toMatchObject({ kind: 'opened', size: 19 * 1024 * 1024 })
    if (opened.kind === 'opened') await opened.body.cancel()
  })

  test.each(['../../etc/passwd', '/var/lib/telegram-bot-api/x', 'photos/../../x', ''])(
    'a path that leads elsewhere is not followed: %s',
    async (path) => {
      api.files.set('f', { bytes: new Uint8Array(1), path })
      expect(await open()).toEqual({ kind: 'refused', reason: 'not_allowed' })
      expect(api.calls).toHaveLength(1)
    },
  )

  test('a web page counts as one unless a web page was sent', async () => {
    api.files.set('f', { bytes: new TextEncoder().encode('<p>'), contentType: 'text/html; charset=utf-8' })
    expect(await open()).toEqual({ kind: 'refused', reason: 'login_page' })
    const opened = await open({ file_id: 'f', mime: 'text/html' })
    expect(opened.kind).toBe('opened')
    if (opened.kind === 'opened') await opened.body.cancel()
  })

  const cases: readonly [string, 'getFile' | 'file', Fault, object][] = [
    ['wrong id', 'getFile', apiFault(400, 'Bad Request: wrong file_id'), { kind: 'refused', reason: 'gone' }],
    ['unavailable', 'getFile', apiFault(400, 'Bad Request: file is temporarily unavailable'), { kind: 'retry' }],
    ['revoked', 'getFile', apiFault(401, 'Unauthorized'), { kind: 'refused', reason: 'not_allowed' }],
    ['slow down', 'getFile', apiFault(429, 'Too Many Requests'), { kind: 'retry' }],
    ['a proxy page', 'getFile', htmlBadGateway, { kind: 'retry' }],
    ['a drop', 'getFile', { kind: 'drop', when: 'before' }, { kind: 'retry' }],
    [
      'a drop of the download',
      'file',
      { kind: 'drop', when: 'before' },
      { kind: 'retry', reason: 'download_unreachable' },
    ],
    ['gone', 'file', { kind: 'answer', status: 410, body: '' }, { kind: 'refused', reason: 'gone' }],
    ['forbidden', 'file', { kind: 'answer', status: 403, body: '' }, { kind: 'refused', reason: 'not_allowed' }],
    ['a proxy page for the download', 'file', htmlBadGateway, { kind: 'retry', reason: 'download_502' }],
    [
      'another host',
      'file',
      { kind: 'answer', status: 302, body: '', headers: { location: 'https://evil.example/' } },
      { kind: 'refused', reason: 'not_allowed' },
    ],
  ]
  test.each(cases)('T68 %s: says why and never with what', async (_name, route, fault, expected) => {
    api.files.set('f', { bytes: new Uint8Array(3) })
    api.failAlways(route, fault)
    const opened = await open()
    expect(opened).toMatchObject(expected)
    for (const shown of [inspect(opened, { depth: 9 }), JSON.stringify(opened)]) {
      expect(shown).not.toContain(testBotToken)
      expect(shown).not.toContain('/file/')
    }
  })

  test('T68 a body that breaks off says nothing about where it came from', async () => {
    api.failAlways('file', { kind: 'answer', status: 200, body: 'short', headers: { 'content-length': '5000' } })
    api.files.set('f', { bytes: new Uint8Array(3) })
    const opened = await open()
    if (opened.kind !== 'opened') expect.unreachable(opened.kind)
    const reading = new Response(opened.body).arrayBuffer()
    // The double hears that the answer is over only when somebody hangs up.
    const error = await Promise.race([reading.catch((cause: unknown) => cause), api.close().then(() => reading)]).catch(
      (cause: unknown) => cause,
    )
    expect(inspect(error, { depth: 9 })).not.toContain(testBotToken)
    expect(error).toMatchObject({ code: 'provider_unavailable' })
  })
})

describe('sending', () => {
  const attachment = { id: '018f0000-0000-7000-8000-000000000001', bucket: 'b', path: 'p' }
  const digest = { kind: 'content_addressed', algo: 'sha256', digest: '0'.repeat(64) } as const
  const part = (mime: string, size: number, name = 'x'): Part => ({
    kind: 'file',
    bytes_ref: digest,
    mime,
    size,
    name,
    attachment,
  })
  const render = (parts: readonly Part[], hasFiles = true) =>
    createAdapterFromFixtures(
      kit,
      undefined,
      undefined,
      undefined,
      hasFiles ? { open: async () => undefined } : undefined,
    )
      .render(createTextReply('', { parts: [...parts] }), { chat_id: '5', message_thread_id: '9' })
      .map(
        ({ call }) =>
          call as { method: string; payload: { text?: string }; file?: { name: string }; files?: unknown[] },
      )

  const text: Part = { kind: 'text', mime: 'text/markdown', content: '**here**' }

  test.each([
    ['image/png', 'sendPhoto'],
    ['image/gif', 'sendAnimation'],
    ['video/mp4', 'sendVideo'],
    ['video/webm', 'sendDocument'],
    ['audio/mpeg', 'sendAudio'],
    ['audio/ogg; codecs=opus', 'sendVoice'],
    ['application/pdf', 'sendDocument'],
    ['constructor', 'sendDocument'],
  ])('%s goes as %s', (mime, method) => {
    expect(render([part(mime, 5)]).map((call) => call.method)).toEqual([method])
  })

  test('a picture that is too large for one goes as a document', () => {
    expect(render([part('image/jpeg', 10_000_001)])[0]?.method).toBe('sendDocument')
  })

  test('files of one family are shown together, in order, after words that are no caption', () => {
    const pictures = Array.from({ length: 12 }, () => part('image/png', 5))
    const calls = render([text, ...pictures, part('audio/ogg', 5), part('application/pdf', 5)])
    const lengths = calls.map(({ method, files }) => [method, files?.length])
    expect(lengths).toEqual([
      ['sendMessage', undefined],
      ['sendMediaGroup', 10],
      ['sendMediaGroup', 2],
      ['sendVoice', undefined],
      ['sendDocument', undefined],
    ])
    expect(calls[1]?.payload).toEqual({ chat_id: 5, message_thread_id: 9 })
  })

  test('short words are the caption of what they come with; long ones are a message of their own', () => {
    const [only, ...more] = render([text, part('image/png', 5)])
    expect([only?.method, more]).toEqual(['sendPhoto', []])
    expect(only?.payload).toMatchObject({ caption: 'here', caption_entities: [{ type: 'bold', offset: 0, length: 4 }] })
    const long: Part = { kind: 'text', mime: 'text/plain', content: 'x'.repeat(1025) }
    expect(render([long, part('image/png', 5)]).map(({ method }) => method)).toEqual(['sendMessage', 'sendPhoto'])
  })

  test('an album is one upload, and one that is not taken goes as documents, then by its names', async () => {
    const api = await startTelegramApi()
    const open = async () => ({ body: new Blob(['x']).stream(), size: 1, mimeType: 'a/b', name: '' })
    const adapter = createAdapterFromFixtures(kit, api.apiRoot, fetch, undefined, { open })
    const [album] = adapter.render(
      createTextReply('', { parts: [text, part('image/png', 1, 'a.png'), part('video/mp4', 1, 'b.mp4')] }),
      { chat_id: '5' },
    )
    const send = (outboxId: string) => adapter.deliver(album?.call ?? {}, createAttempt(1, { outboxId }))
    expect(await send('o1')).toEqual({ kind: 'delivered', vendorId: '1' })
    expect(api.sent.map(({ file }) => file?.name)).toEqual(['a.png', 'b.mp4'])
    expect(JSON.parse(api.sent[0]?.file?.media ?? '')).toMatchObject([
      { type: 'photo', caption: 'here' },
      { type: 'video' },
    ])
    api.failNext('sendMediaGroup', apiFault(400, 'Bad Request: PHOTO_INVALID_DIMENSIONS'))
    api.failNext('sendMediaGroup', apiFault(400, 'Bad Request: MEDIA_INVALID'))
    expect([await send('o2'), await send('o2'), await send('o2')].map(({ kind }) => kind)).toEqual([
      'retry',
      'retry',
      'delivered',
    ])
    expect(api.sent.at(-1)?.text).toBe('here\n[The file a.png, b.mp4 could not be sent: Telegram did not take it.]')
    await api.close()
  })

  test('what is too large, or has no place to be sent from, is named instead', () => {
    expect(render([part('image/png', 50_000_001, 'big.png')])[0]?.payload.text).toContain('big.png')
    const [only, ...more] = render([part('image/png', 5, 'a.png')], false)
    expect([only?.method, more]).toEqual(['sendMessage', []])
    expect(only?.payload.text).toContain('a.png')
  })

  test('every item of an album counts for what a group takes in a minute', async () => {
    const api = await startTelegramApi()
    const open = async () => ({ body: new Blob(['x']).stream(), size: 1, mimeType: 'a/b', name: '' })
    const adapter = createAdapterFromFixtures(kit, api.apiRoot, fetch, undefined, { open })
    const pictures = Array.from({ length: 10 }, () => part('image/png', 1))
    const [album] = adapter.render(createTextReply('', { parts: pictures }), { chat_id: '-5' })
    const send = () => adapter.deliver(album?.call ?? {}, createAttempt(1))
    expect([await send(), await send(), await send()].map(({ kind }) => kind)).toEqual([
      'delivered',
      'delivered',
      'retry',
    ])
    expect(api.sent).toHaveLength(20)
    await api.close()
  })

  test('a name cannot end the header it stands in, nor carry the token', async () => {
    const api = await startTelegramApi()
    const bytes = new TextEncoder().encode('x')
    const files = {
      open: async () => ({ body: new Blob([bytes]).stream(), size: 1, mimeType: 'text/plain', name: '' }),
    }
    const adapter = createAdapterFromFixtures(kit, api.apiRoot, fetch, undefined, files)
    const send = (name: string) => {
      const [first] = adapter.render(createTextReply('', { parts: [part('text/plain', 1, name)] }), { chat_id: '5' })
      return adapter.deliver(first?.call ?? {}, createAttempt(1))
    }
    expect(await send('a"; name="chat_id"\r\n\r\n6 é.txt')).toMatchObject({ kind: 'delivered' })
    expect(api.sent).toMatchObject([{ chat_id: '5', file: { name: 'a_; name=_chat_id_____6 é.txt' } }])
    expect(await send(`${testBotToken}.txt`)).toEqual({ kind: 'refused', reason: 'text_contains_credential' })
    expect(api.sent[0]?.file?.bytes.toString()).toBe('x')
    await api.close()
  })
})
