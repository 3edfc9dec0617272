// Actors of others: who they are is what the server of their own address says.
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { aPerson, remoteKeyPair } from '../../../../doubles/fediverse.ts'
import { openRemoteScene, type RemoteScene } from './remote-setup.ts'

let scene: RemoteScene
let pem = ''

beforeAll(async () => {
  pem = (await remoteKeyPair()).pem
})
beforeEach(async () => {
  scene = await openRemoteScene()
})
afterEach(() => scene.stop())

const alice = (): string => `${scene.social}/users/alice`

function putAlice(more: Readonly<Record<string, unknown>> = {}): void {
  scene.net.put('social.example.com', '/users/alice', { body: aPerson(alice(), pem, more) })
}

describe('an actor', () => {
  test('found under a profile page is asked for at its own address', async () => {
    scene.net.put('social.example.com', '/@alice', { body: aPerson(alice(), pem) })
    putAlice()
    expect(await scene.remote.actor(`${scene.social}/@alice`)).toMatchObject({ kind: 'found', actor: { id: alice() } })
    expect(scene.net.seen).toEqual(['social.example.com /@alice', 'social.example.com /users/alice'])
  })

  test('whose own address tells of somebody else is nobody', async () => {
    scene.net.put('social.example.com', '/@alice', { body: aPerson(alice(), pem) })
    scene.net.put('social.example.com', '/users/alice', { body: aPerson(`${scene.social}/users/bob`, pem) })
    expect(await scene.remote.actor(`${scene.social}/@alice`)).toEqual({ kind: 'refused', reason: 'wrong_id' })
  })

  test('that a redirect of its server leads to elsewhere is nobody of that server', async () => {
    const away = `${scene.social}/away`
    scene.net.put('social.example.com', '/away', { status: 302, location: 'https://elsewhere.example.com/x' })
    expect((await scene.remote.actor(away)).kind).not.toBe('found')
    // A document there that calls itself by the address of the redirect is asked for there again, and is not there.
    expect(scene.net.seen.every((at) => at.startsWith('social.example.com '))).toBe(true)
  })

  test('keeps only addresses that may be asked', async () => {
    putAlice({
      endpoints: { sharedInbox: 'http://169.254.169.254/inbox' },
      followers: 'ftp://social.example.com/f',
      url: [{ type: 'Link', href: 'javascript:alert(1)' }, 'https://social.example.com/@alice'],
      icon: { type: 'Image', url: 'http://localhost/a.png' },
      alsoKnownAs: ['https://old.example.com/alice', 'https://127.0.0.1/alice', 7],
    })
    expect(await scene.remote.actor(alice())).toMatchObject({
      kind: 'found',
      actor: { url: 'https://social.example.com/@alice', alsoKnownAs: ['https://old.example.com/alice'] },
    })
    const found = await scene.remote.actor(alice())
    const { sharedInbox, followers, iconUrl } = found.kind === 'found' ? found.actor : expect.unreachable()
    expect([sharedInbox, followers, iconUrl]).toEqual([undefined, undefined, undefined])
  })

  test.each([
    ['without an inbox', { inbox: undefined }],
    ['with an inbox that may not be asked', { inbox: 'http://10.0.0.1/inbox' }],
    ['of an unknown type', { type: 'Note' }],
    ['without a name', { preferredUsername: undefined }],
    ['with a name that is none', { preferredUsername: 'a b@c' }],
  ])('%s is nobody', async (_, more) => {
    putAlice(more)
    expect(await scene.remote.actor(alice())).toEqual({ kind: 'refused', reason: 'not_an_actor' })
  })

  test('may write its members in every shape', async () => {
    putAlice({
      type: ['Object', 'Service'],
      inbox: { id: `${alice()}/inbox` },
      icon: [{ type: 'Image', url: { href: 'https://social.example.com/a.png' } }],
      summary: 'Please: #<span>nobot</span>',
      name: 'Al\u202eice',
    })
    expect(await scene.remote.actor(alice())).toMatchObject({
      actor: { type: 'Service', isNoBot: true, name: 'Alice', iconUrl: 'https://social.example.com/a.png' },
    })
  })

  test('that went is gone for five minutes without a question, and no longer known', async () => {
    putAlice()
    expect(await scene.remote.actor(alice())).toMatchObject({ kind: 'found' })
    scene.net.put('social.example.com', '/users/alice', { status: 410 })
    scene.pass(61_000)
    expect(await scene.remote.refreshActor(alice())).toEqual({ kind: 'gone' })
    expect(await scene.remote.actor(alice())).toEqual({ kind: 'gone' })
    expect(scene.net.seen).toHaveLength(2)
    putAlice()
    scene.pass(5 * 60 * 1000)
    expect(await scene.remote.actor(alice())).toMatchObject({ kind: 'found' })
  })

  test.each([
    ['a page', { type: 'text/html', body: '<p>hello' }, 'wrong_media_type'],
    [
      'an uploaded file',
      { type: 'application/json', body: aPerson('https://social.example.com/a', '') },
      'wrong_media_type',
    ],
    ['no JSON', { body: '{"id":' }, 'malformed'],
    ['a list', { body: [] }, 'malformed'],
    ['a list in a list, ten thousand times', { body: `{"a":${'['.repeat(10_000)}` }, 'malformed'],
    ['another status', { status: 418 }, 'unexpected_status'],
  ])('is not read from %s', async (_, answer, reason) => {
    scene.net.put('social.example.com', '/users/alice', answer)
    expect(await scene.remote.actor(alice())).toEqual({ kind: 'refused', reason })
  })
})

describe('a handle', () => {
  const finger = (account: string): string => `/.well-known/webfinger?resource=${encodeURIComponent(`acct:${account}`)}`
  const jrd = (subject: string, href = alice()) => ({
    type: 'application/jrd+json',
    body: { subject, links: [{ rel: 'self', type: 'application/activity+json', href }] },
  })
  const known = async () => {
    putAlice()
    const found = await scene.remote.actor(alice())
    return found.kind === 'found' ? found.actor : expect.unreachable()
  }

  test('is confirmed where its server points back, once and for the day', async () => {
    const actor = await known()
    const account = actor.handle.slice(1)
    scene.net.put('social.example.com', finger(account), jrd(`acct:${account}`))
    expect(await scene.remote.handle(actor)).toMatchObject({ handle: actor.handle, isHandleConfirmed: true })
    scene.pass(61_000)
    expect(await scene.remote.refreshActor(alice())).toMatchObject({ actor: { isHandleConfirmed: true } })
    expect(scene.net.seen).toHaveLength(3)
  })

  test('is asked about once by many posts at the same time', async () => {
    const actor = await known()
    const account = actor.handle.slice(1)
    scene.net.put('social.example.com', finger(account), jrd(`acct:${account}`))
    const confirmed = await Promise.all([1, 2, 3].map(() => scene.remote.handle(actor)))
    expect(confirmed.map(({ isHandleConfirmed }) => isHandleConfirmed)).toEqual([true, true, true])
    expect(scene.net.seen).toHaveLength(2)
  })

  test('that points to somebody else is not confirmed, and not asked about again for a while', async () => {
    const actor = await known()
    const account = actor.handle.slice(1)
    scene.net.put('social.example.com', finger(account), jrd(`acct:${account}`, `${scene.social}/users/bob`))
    expect(await scene.remote.handle(actor)).toEqual(actor)
    expect(await scene.remote.handle(actor)).toEqual(actor)
    expect(scene.net.seen).toHaveLength(2)
  })

  test('on a host of its own must be said by that host too', async () => {
    const actor = await known()
    scene.net.put('social.example.com', finger(actor.handle.slice(1)), jrd('acct:alice@handle.example.com'))
    // Nobody answers for that host by https here.
    expect(await scene.remote.handle(actor)).toEqual(actor)
  })
})
