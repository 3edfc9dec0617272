// Replies on ActivityPub: cases AP-130 to AP-144, and X-003. AP-142 needs peers: test/interop/activitypub.
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type InboxCall, noteFamily } from '../../../adapters/activitypub/wire/delivery.ts'
import type { NormalizedResponse, RenderedCall } from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/json-value.ts'
import {
  type DeliveryScene,
  deliveryScene,
  plainCall,
  startedAt,
} from '../../unit/adapters/activitypub/deliver/delivery-setup.ts'
import { type InboxServer, type Received, startInbox } from '../../unit/adapters/activitypub/deliver/inbox-server.ts'
import { type TestKeys, testKeys } from '../../unit/adapters/activitypub/own-keys.ts'
import {
  alice,
  demo,
  drafts,
  publicAudience,
  replyTo,
  saying,
} from '../../unit/adapters/activitypub/render/reply-setup.ts'

const anchor = '<span class="h-card"><a class="u-url mention" href="https://social.example/@alice">'
const text = (value: unknown): string => JSON.stringify(value)

describe('what is said', () => {
  test('AP-130: a public mention is answered unlisted, and whoever wrote is named, addressed and called', () => {
    const [draft] = drafts(saying('Hello'))
    expect(draft?.note).toMatchObject({
      type: 'Note',
      inReplyTo: 'https://social.example/notes/1',
      to: [alice.actor, `${demo}/followers`],
      cc: [publicAudience],
      tag: [{ type: 'Mention', href: alice.actor, name: alice.handle }],
      content: `<p>${anchor}@<span>alice@social.example</span></a></span> Hello</p>`,
      context: 'https://social.example/contexts/9',
      conversation: 'tag:social.example,2026:objectId=9',
    })
  })

  test('AP-130: whose page is not known is linked by their actor, as in what was stored without one', () => {
    const { url: _, ...stored } = replyTo()
    for (const to of [stored, replyTo({ url: null })])
      expect(drafts(saying('Hello'), to)[0]?.note['content']).toContain(`href="${alice.actor}">`)
  })

  test('AP-131: a direct note is answered to its author, and nothing of it is public', () => {
    const [draft] = drafts(saying('Hello'), replyTo({ visibility: 'direct' }))
    expect(draft?.note).toMatchObject({ to: [alice.actor], cc: [] })
    expect(text(draft)).not.toMatch(/#Public|as:Public|"Public"|followers/)
  })

  test('AP-132: what only followers may read is answered to its author alone', () => {
    const [draft] = drafts(saying('Hello'), replyTo({ visibility: 'followers' }))
    expect(draft).toMatchObject({ visibility: 'direct', note: { to: [alice.actor], cc: [] } })
  })

  test('AP-133: a name in the words that policy does not let through is text, and nobody is told', () => {
    const [draft] = drafts(saying('Ask @bob@x.example'))
    expect(draft?.note['tag']).toHaveLength(1)
    expect(draft?.note['content']).toContain('Ask @bob@x.example')
    expect(draft?.recipients.map(({ actor }) => actor)).toEqual([alice.actor])
  })

  test('AP-134: another agent here that the words call is addressed, called and named', () => {
    for (const name of ['@scribe', '@scribe@bots.example']) {
      const [draft] = drafts(saying(`Over to ${name}`), replyTo(), { names: [name] })
      const scribe = 'https://bots.example/ap/scribe'
      expect(draft?.note['to']).toContain(scribe)
      expect(draft?.note['tag']).toContainEqual({ type: 'Mention', href: scribe, name: '@scribe@bots.example' })
      expect(draft?.note['content']).toContain('<a class="u-url mention" href="https://bots.example/@scribe">')
      expect(draft?.recipients).toContainEqual(expect.objectContaining({ actor: scribe, inbox: `${scribe}/inbox` }))
    }
  })

  test('AP-135: tables, headings, pictures and code become what servers keep; a picture is attached with its words', () => {
    const markdown =
      '# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n![A red chart](https://files.example/c.png)\n\n```js\nx()\n```'
    const [draft] = drafts(saying(markdown))
    const html = String(draft?.note['content'])
    const tags = new Set([...html.matchAll(/<([a-z0-9]+)/g)].map(([, name]) => name))
    const kept = 'p br span a del s pre blockquote code b strong u i em ul ol li'.split(' ')
    expect([...tags].filter((tag) => !kept.includes(tag ?? ''))).toEqual([])
    expect(draft?.note['attachment']).toEqual([
      { type: 'Image', mediaType: 'image/png', url: 'https://files.example/c.png', name: 'A red chart' },
    ])
  })

  test('X-003: what asks somebody for something goes to nobody but them, whatever was public before', () => {
    const policy = {
      kind: 'consent_required',
      message: 'May I read your calendar?',
      url: 'https://bots.example/consent/1',
    }
    const parts: NormalizedResponse['parts'] = [
      { kind: 'text', mime: 'text/plain', content: 'Let me see.' },
      { kind: 'policy', policy },
    ]
    const notes = drafts(saying('', { parts, status: 'input_required' }))
    expect(notes.map(({ visibility }) => visibility)).toEqual(['unlisted', 'direct'])
    expect(text(notes[0])).not.toContain('calendar')
    expect(notes[1]?.note).toMatchObject({ to: [alice.actor], cc: [] })
    expect(text(notes[1])).toContain('consent/1')
    const control = { about: 'access_challenge' }
    expect(drafts(saying('Your code is 1234', { control }))).toMatchObject([{ visibility: 'direct' }])
  })
})

describe('what is sent', () => {
  let keys: TestKeys
  let inbox: InboxServer
  let scene: DeliveryScene
  beforeAll(async () => {
    keys = await testKeys(demo)
  })
  beforeEach(async () => {
    inbox = await startInbox()
    scene = deliveryScene(keys, [inbox.origin])
  })
  afterEach(() => inbox.close())

  const expanded = async (reply = saying('Hello'), to: JsonObject = {}): Promise<readonly RenderedCall[]> => {
    const here = { inbox: `${inbox.origin}/inbox`, shared_inbox: null, ...to }
    return scene.expand(drafts(reply, replyTo(here)).map((call) => ({ call, primary: true })))
  }
  const sent = (at: number): Received => {
    const found = inbox.received[at]
    if (found === undefined) throw new Error(`there is no request ${at}`)
    return found
  }
  const callOf = (calls: readonly RenderedCall[], at = 0) => calls[at]?.call as InboxCall
  const kindOf = ({ headers }: Received) => ('signature-input' in headers ? 'rfc9421' : 'cavage')

  test('AP-136: 40 KB become a thread of small notes that calls once and stays one conversation', async () => {
    const calls = await expanded(saying('some words to read '.repeat(2100)))
    const notes = calls.map(({ call }) => (call as InboxCall).activity['object'] as JsonObject)
    expect(notes.length).toBeGreaterThan(10)
    for (const { call } of calls) expect(text((call as InboxCall).activity).length).toBeLessThan(60_000)
    expect(notes.map(({ tag }) => (tag as readonly unknown[]).length)).toEqual(notes.map((_, at) => (at === 0 ? 1 : 0)))
    expect(notes.slice(1).map(({ inReplyTo }) => inReplyTo)).toEqual(notes.slice(0, -1).map(({ id }) => id))
    expect(new Set(notes.map(({ context }) => context)).size).toBe(1)
    // A server where nobody follows the agent drops what is not addressed to somebody there.
    for (const { to } of notes) expect(to).toContain(alice.actor)
    expect(String(notes[1]?.['content'])).toMatch(/\(2\/\d+\)<\/p>$/)
  })

  test.each([401, 400, 500])(
    'AP-137: a server that answers %d to RFC 9421 is asked in the old form, and from then on at once',
    async (status) => {
      inbox.answer = (request) => ({ status: kindOf(request) === 'rfc9421' ? status : 202 })
      const family = 'activitypub_host'
      const value = { scheme: 'rfc9421', failures: 0, restsUntil: 0 }
      await scene.notes.keep({ family, key: inbox.origin, value, lifeMs: 60_000 })
      expect(await scene.deliver(plainCall(`${inbox.origin}/inbox`))).toMatchObject({ kind: 'delivered' })
      expect(inbox.received.map(kindOf)).toEqual(['rfc9421', 'cavage'])
      expect(await scene.restart().deliver(plainCall(`${inbox.origin}/inbox`))).toMatchObject({ kind: 'delivered' })
      expect(inbox.received.map(kindOf)).toEqual(['rfc9421', 'cavage', 'cavage'])
    },
  )

  test('AP-137: a server that only reads RFC 9421 is found out, too', async () => {
    inbox.answer = (request) => ({ status: kindOf(request) === 'cavage' ? 401 : 202 })
    const call = plainCall(`${inbox.origin}/inbox`)
    expect(await scene.deliver(call)).toMatchObject({ kind: 'delivered' })
    expect(await scene.deliver(call)).toMatchObject({ kind: 'delivered' })
    expect(inbox.received.map(kindOf)).toEqual(['cavage', 'rfc9421', 'rfc9421'])
  })

  test('AP-138: what a server says about later, never and itself is kept to', async () => {
    const call = plainCall(`${inbox.origin}/inbox`)
    const told = async (status: number, headers: Readonly<Record<string, string>> = {}) => {
      inbox.answer = () => ({ status, headers })
      return scene.deliver(call)
    }
    expect(await told(429, { 'retry-after': '120' })).toMatchObject({ kind: 'retry', afterMs: 120_000 })
    const date = new Date(startedAt + 90_000).toUTCString()
    expect(await told(503, { 'retry-after': date })).toMatchObject({ kind: 'retry', afterMs: 90_000 })
    expect(await told(502)).toEqual({ kind: 'retry', reason: 'inbox_http_502' })
    expect(await told(403)).toEqual({ kind: 'refused', reason: 'inbox_http_403' })
    expect(await told(422)).toEqual({ kind: 'refused', reason: 'inbox_http_422' })
    expect(await told(202)).toMatchObject({ kind: 'delivered' })
  })

  test('AP-138: an inbox that is gone is not asked again, and nobody follows from there any more', async () => {
    const follower = { actor: 'https://gone.example/users/x', inbox: `${inbox.origin}/gone`, shared_inbox: null }
    const other = { actor: 'https://here.example/users/y', inbox: `${inbox.origin}/here`, shared_inbox: null }
    await scene.records.put('follower', 'demo x', follower, { agent: 'demo' })
    await scene.records.put('follower', 'demo y', other, { agent: 'demo' })
    const calls = await expanded()
    expect(calls.map(({ primary, orderKey }) => [primary, orderKey?.slice(inbox.origin.length)])).toEqual([
      [true, '/inbox'],
      [false, '/gone'],
      [false, '/here'],
    ])
    inbox.answer = ({ path }) => ({ status: path === '/gone' ? 410 : 202 })
    expect(await scene.deliver(callOf(calls, 1))).toEqual({ kind: 'refused', reason: 'inbox_gone' })
    expect(scene.records.keys('follower')).toEqual(['demo y'])
    inbox.answer = () => ({ status: 202 })
    expect(await scene.restart().deliver(callOf(calls, 1))).toEqual({ kind: 'refused', reason: 'inbox_gone' })
    expect(inbox.received).toHaveLength(1)
  })

  test('AP-139: a second try says the same names, also by another process', async () => {
    const calls = JSON.parse(text(await expanded())) as readonly RenderedCall[]
    await scene.deliver(callOf(calls))
    scene.clock.at += 3_600_000
    await scene.restart().deliver(callOf(calls), { number: 2 })
    const said = inbox.received.map(({ json }) => ({ ...json, proof: undefined }))
    expect(said[0]).toMatchObject({
      type: 'Create',
      id: expect.stringMatching(/\/ap\/demo\/notes\/[0-9a-f]{32}#create$/),
    })
    expect(said[1]).toEqual(said[0])
  })

  test('AP-139: a note that was not queued with others is named by its row', async () => {
    const [draft] = drafts(saying('Hello'), replyTo({ inbox: `${inbox.origin}/inbox`, shared_inbox: null }))
    if (draft === undefined) throw new Error('nothing was rendered')
    expect(await scene.deliver(draft)).toMatchObject({ kind: 'delivered' })
    scene.clock.at += 3_600_000
    await scene.restart().deliver(draft, { number: 2 })
    const [first, second] = inbox.received.map(({ json }) => ({ ...json, proof: undefined }))
    expect(second).toEqual(first)
    await scene.deliver(draft, { clientId: 'turn-2:0' })
    expect(sent(2).json['id']).not.toBe(sent(0).json['id'])
  })

  test('AP-140: a note that is taken back is taken back wherever it went, and stands as a Tombstone here', async () => {
    const calls = await expanded()
    const outcome = await scene.deliver(callOf(calls))
    const id = outcome.kind === 'delivered' ? (outcome.vendorId ?? '') : ''
    expect(outcome).toEqual({ kind: 'delivered', vendorId: id, name: `o:${id}` })
    expect(await scene.records.count('outbox')).toBe(1)
    const { sends } = await scene.operate('posts.delete', { id })
    expect(sends).toHaveLength(1)
    await scene.deliver(sends[0]?.call as InboxCall)
    expect(sent(1)).toMatchObject({
      path: '/inbox',
      json: { type: 'Delete', actor: demo, object: { id, type: 'Tombstone', formerType: 'Note' } },
    })
    expect(await scene.records.get(noteFamily, id)).toMatchObject({ note: { type: 'Tombstone' } })
    expect(await scene.records.count('outbox')).toBe(0)
    await expect(scene.operate('posts.edit', { id, markdown: 'Back again' })).rejects.toThrow('taken back')
    // What still waited for another inbox does not bring it back.
    expect(await scene.restart().deliver(callOf(calls))).toEqual({ kind: 'refused', reason: 'note_withdrawn' })
    expect(await scene.records.count('outbox')).toBe(0)
  })

  test('AP-141: other words go out under the same name, later than the first', async () => {
    const outcome = await scene.deliver(callOf(await expanded()))
    const id = outcome.kind === 'delivered' ? (outcome.vendorId ?? '') : ''
    const { sends } = await scene.operate('posts.edit', { id, markdown: '# Better' })
    expect(await scene.deliver(sends[0]?.call as InboxCall)).toMatchObject({ kind: 'delivered' })
    const { json } = sent(1)
    expect(json).toMatchObject({ type: 'Update', id: `${id}#update-1`, object: { id, type: 'Note' } })
    const note = json['object'] as JsonObject
    expect(Date.parse(String(note['updated']))).toBeGreaterThan(Date.parse(String(note['published'])))
    expect(note['content']).toContain(`${anchor}@<span>alice@social.example`)
    expect(note['content']).toContain('<strong>Better</strong>')
    expect(await scene.records.get(noteFamily, id)).toMatchObject({ note: { updated: note['updated'] } })
  })

  test('AP-143: an inbox that leads inside is not asked, and the reason is kept', async () => {
    const guarded = deliveryScene(keys, [])
    for (const url of ['https://127.0.0.1/inbox', `${inbox.origin}/inbox`, 'https://localhost/inbox']) {
      const outcome = await guarded.deliver(plainCall(url))
      expect(outcome).toMatchObject({ kind: 'refused', reason: expect.stringMatching(/^inbox_/) })
    }
    expect(inbox.received).toEqual([])
  })

  test('AP-144: what waited six hours carries the time it is sent at', async () => {
    const calls = await expanded()
    scene.clock.at += 6 * 3_600_000
    await scene.deliver(callOf(calls))
    expect(Date.parse(sent(0).headers['date'] ?? '')).toBe(scene.clock.at)
    expect(sent(0).json['published']).toBe(new Date(startedAt).toISOString())
  })
})
