// One delivery: what is asked before it leaves, what is remembered of servers, and what happens when something of ours is missing.
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { encodeMultibase } from '../../../../../adapters/activitypub/signatures/key-material.ts'
import { createPinnedFetch } from '../../../../../src/node/guarded-fetch.ts'
import { createMemoryRecords } from '../../../../../src/testing/memory-records.ts'
import { type TestKeys, testKeys } from '../own-keys.ts'
import { demo, drafts, replyTo, saying } from '../render/reply-setup.ts'
import { deliveryScene, plainCall, startedAt } from './delivery-setup.ts'
import { type InboxServer, startInbox } from './inbox-server.ts'

let keys: TestKeys
let inbox: InboxServer
beforeAll(async () => {
  keys = await testKeys(demo)
})
beforeEach(async () => {
  inbox = await startInbox()
})
afterEach(() => inbox.close())

const here = () => plainCall(`${inbox.origin}/inbox`)
const draftHere = (visibility = 'direct') => {
  const [draft] = drafts(saying('Hello'), replyTo({ inbox: `${inbox.origin}/inbox`, shared_inbox: null, visibility }))
  if (draft === undefined) throw new Error('nothing was rendered')
  return draft
}

describe('a delivery', () => {
  test('is signed for its inbox, says who we are, and follows nobody elsewhere', async () => {
    inbox.answer = () => ({ status: 307, headers: { location: 'https://elsewhere.example/' } })
    const scene = deliveryScene(keys, [inbox.origin])
    expect(await scene.deliver(here())).toEqual({ kind: 'refused', reason: 'inbox_redirect' })
    const [got] = inbox.received
    expect(got?.headers).toMatchObject({
      'content-type': 'application/activity+json',
      'user-agent': 'Parley test',
      host: new URL(inbox.origin).host,
      digest: expect.stringMatching(/^SHA-256=/),
      signature: expect.stringContaining(
        `keyId="${keys.rsa.id}",algorithm="rsa-sha256",headers="(request-target) host date digest"`,
      ),
    })
    expect(inbox.received).toHaveLength(1)
  })

  test('refuses for good when neither form is read, and asks twice, not more', async () => {
    inbox.answer = () => ({ status: 401 })
    const scene = deliveryScene(keys, [inbox.origin])
    expect(await scene.deliver(here())).toEqual({ kind: 'refused', reason: 'inbox_http_401' })
    expect(inbox.received).toHaveLength(2)
    // Nothing was learnt from it.
    expect(scene.notes.keys()).toEqual([])
  })

  test('is held back once its time is over, also between the first byte and the decision to send', async () => {
    const scene = deliveryScene(keys, [inbox.origin])
    expect(await scene.deliver(here(), { signal: AbortSignal.abort() })).toMatchObject({ kind: 'retry' })
    const late = new AbortController()
    const slow = createPinnedFetch({
      isPublic: () => true,
      resolve: async () => {
        late.abort()
        return ['127.0.0.1']
      },
    })
    const named = inbox.origin.replace('127.0.0.1', 'localhost')
    const slower = deliveryScene(keys, [named], { guardedFetch: slow })
    const outcome = await slower.deliver(plainCall(`${named}/inbox`), { signal: late.signal })
    expect(outcome).toEqual({ kind: 'retry', reason: 'inbox_aborted' })
    expect(inbox.received).toEqual([])
  })

  test('waits for keys that are not there yet', async () => {
    const ownKeysOf = () => Promise.reject(new Error('sealed'))
    expect(await deliveryScene(keys, [inbox.origin], { ownKeysOf }).deliver(here())).toEqual({
      kind: 'retry',
      reason: 'keys_unavailable',
    })
  })

  test('that nobody could check, because new keys were made while it was under way, is signed with those', async () => {
    inbox.answer = ({ headers }) => ({ status: headers['signature']?.includes('main-key-2') ? 202 : 401 })
    const newer = { ...keys, rsa: { ...keys.rsa, id: `${demo}#main-key-2` } }
    const ownKeysOf = async () => (inbox.received.length === 0 ? keys : newer)
    const scene = deliveryScene(keys, [inbox.origin], { ownKeysOf })
    expect(await scene.deliver(here())).toEqual({ kind: 'retry', reason: 'keys_changed' })
    expect(await scene.deliver(here())).toMatchObject({ kind: 'delivered' })
  })

  test('tells nobody of a note that could not be kept', async () => {
    const records = { ...createMemoryRecords(), put: () => Promise.reject(new Error('the database is away')) }
    const scene = deliveryScene(keys, [inbox.origin], { records })
    expect(await scene.deliver(draftHere())).toEqual({ kind: 'retry', reason: 'note_not_kept' })
    expect(inbox.received).toEqual([])
  })

  test('keeps a note before its server answers, and lists only what everybody may read', async () => {
    inbox.answer = () => ({ status: 500 })
    const scene = deliveryScene(keys, [inbox.origin])
    await scene.deliver(draftHere())
    expect(scene.records.keys('note')).toHaveLength(1)
    expect(scene.records.keys('outbox')).toEqual([])
    await scene.deliver(draftHere('unlisted'), { clientId: 'turn-2:0' })
    expect(scene.records.keys('outbox')).toHaveLength(1)
    const [id = ''] = scene.records.keys('note')
    expect(await scene.records.get('note', id)).toMatchObject({
      visibility: 'direct',
      audience: ['https://social.example/users/alice'],
      note: { id, type: 'Note', attributedTo: demo },
    })
  })

  test('an activity that is no note keeps nothing', async () => {
    const scene = deliveryScene(keys, [inbox.origin])
    expect(await scene.deliver(here())).toEqual({ kind: 'delivered' })
    expect(scene.records.keys('note')).toEqual([])
  })
})

describe('a server that is down', () => {
  test('rests after five failures, longer each time it fails again, and is tried when the rest is over', async () => {
    inbox.answer = () => ({ status: 500 })
    const scene = deliveryScene(keys, [inbox.origin])
    for (let tries = 0; tries < 5; tries += 1)
      expect(await scene.deliver(here())).toEqual({ kind: 'retry', reason: 'inbox_http_500' })
    const rest = { kind: 'retry', reason: 'host_rests', afterMs: 300_000, scope: 'conversation' }
    expect(await scene.restart().deliver(here())).toEqual(rest)
    expect(inbox.received).toHaveLength(5)
    scene.clock.at = startedAt + 300_000
    expect(await scene.deliver(here())).toEqual({ kind: 'retry', reason: 'inbox_http_500' })
    expect(await scene.deliver(here())).toEqual({ ...rest, afterMs: 600_000 })
    scene.clock.at += 600_000
    inbox.answer = () => ({ status: 202 })
    expect(await scene.deliver(here())).toMatchObject({ kind: 'delivered' })
    inbox.answer = () => ({ status: 500 })
    expect(await scene.deliver(here())).toEqual({ kind: 'retry', reason: 'inbox_http_500' })
    expect(await scene.deliver(here())).toEqual({ kind: 'retry', reason: 'inbox_http_500' })
  })

  test('is down also where it used to read RFC 9421', async () => {
    const scene = deliveryScene(keys, [inbox.origin])
    const value = { knock: 'rfc9421', failures: 0, restsUntil: 0 }
    await scene.notes.keep({ family: 'activitypub_host', key: inbox.origin, value, lifeMs: 60_000 })
    inbox.answer = () => ({ status: 502 })
    for (let tries = 0; tries < 5; tries += 1)
      expect(await scene.deliver(here())).toEqual({ kind: 'retry', reason: 'inbox_http_502' })
    expect(await scene.deliver(here())).toMatchObject({ kind: 'retry', reason: 'host_rests' })
  })

  test('a server of the old form that falls over the new one refused us, and is not down', async () => {
    const scene = deliveryScene(keys, [inbox.origin])
    inbox.answer = ({ headers }) => ({ status: 'signature-input' in headers ? 500 : 403 })
    expect(await scene.deliver(here())).toEqual({ kind: 'refused', reason: 'inbox_http_403' })
    expect(scene.notes.keys()).toEqual([])
  })

  test('asking us to wait is no failure', async () => {
    inbox.answer = () => ({ status: 429, headers: { 'retry-after': '7' } })
    const scene = deliveryScene(keys, [inbox.origin])
    for (let tries = 0; tries < 7; tries += 1)
      expect(await scene.deliver(here())).toMatchObject({ kind: 'retry', reason: 'inbox_http_429', afterMs: 7000 })
  })

  test('keeps a time to wait that makes no sense from holding anything for ever', async () => {
    const scene = deliveryScene(keys, [inbox.origin])
    for (const [said, afterMs] of [
      ['999999999', 86_400_000],
      ['-5', undefined],
      ['soon', undefined],
      [new Date(startedAt - 1000).toUTCString(), undefined],
    ] as const) {
      inbox.answer = () => ({ status: 429, headers: { 'retry-after': said } })
      const outcome = await scene.deliver(here())
      expect(outcome).toEqual({
        kind: 'retry',
        reason: 'inbox_http_429',
        ...(afterMs === undefined ? {} : { afterMs, scope: 'conversation' }),
      })
    }
  })

  test('a store that is away keeps no delivery back', async () => {
    const away = () => Promise.reject(new Error('away'))
    const scene = deliveryScene(keys, [inbox.origin], { ttlStore: { keep: away, read: away, take: away } })
    expect(await scene.deliver(here())).toEqual({ kind: 'delivered' })
  })
})

test('base58 is written as its draft says', () => {
  const bytes = (hex: string) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
  expect(encodeMultibase(new TextEncoder().encode('Hello World!'))).toBe('z2NEpo7TZRRrLZSi2U')
  expect(encodeMultibase(bytes('0000287fb4cd'))).toBe('z11233QC4')
  expect(encodeMultibase(new Uint8Array(3))).toBe('z111')
})
