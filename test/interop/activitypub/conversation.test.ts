// Somebody on a server nobody here wrote gets to know an agent: in public, then in private, until they take it all back. The gateway is
// one process on PostgreSQL, the same for all of them.
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import { eventually } from '../conversation/conversation-setup.ts'
import { describeBeside } from '../peer.ts'
import { type Books, type Story, slugs, startStory, words } from './conversation-setup.ts'
import { findServer, type ServerPeer } from './peers.ts'
import { publicPlaces } from './public-places.ts'
import { postAgain } from './recording-proxy.ts'
import { findSigningPeer } from './signing-peer.ts'

/** `form`: how the peer signs. Every one of them can take every step of the story. */
const peers = [
  {
    name: 'activitypub-express',
    found: await findServer('./apex-server.mjs', 'activitypub-express', '/u/alice'),
    person: '/u/alice',
    form: 'cavage',
  },
  {
    name: 'a Fedify server',
    found: await findServer('./fedify-server.mjs', '@fedify/fedify', '/users/bob'),
    person: '/users/bob',
    form: 'rfc9421',
  },
  { name: 'http-message-signatures', found: await findSigningPeer(), person: '/users/carol', form: 'rfc9421' },
] as const

type Heard = {
  readonly type: string
  readonly actor: string
  readonly content: string
  readonly inReplyTo: string
  readonly to: readonly string[]
  readonly object: string | { readonly id: string }
}

const { url: postgresUrl, reason } = inject('postgres')
const everybody = 'https://www.w3.org/ns/activitystreams#Public'
const hidden = new RegExp([words.secret, words.changed, words.answer].join('|'))
const patienceMs = 20_000

const started = new Map<string, ServerPeer>()
/** Notes of ours that anybody was told of. */
const notes = new Set<string>()
let story: Story

beforeAll(async () => {
  if (postgresUrl === '') return
  const there = peers.flatMap(({ name, found }) => ('module' in found ? [{ name, start: found.module }] : []))
  const running = await Promise.all(there.map(async ({ name, start }) => [name, await start()] as const))
  for (const [name, peer] of running) started.set(name, peer)
  if (started.size > 0)
    story = await startStory(
      [...started.values()].map(({ origin }) => origin),
      postgresUrl,
    )
}, 60_000)
afterAll(async () => {
  await story?.stop()
  for (const peer of started.values()) await peer.stop()
})

for (const { name, found, person, form } of peers)
  describeBeside(`somebody on ${name}`, postgresUrl === '' ? { problem: reason } : found, () => {
    let peer: ServerPeer
    let [us, me] = ['', '']
    let before: Books
    beforeAll(() => {
      peer = started.get(name) as ServerPeer
      us = story.actor('demo')
      me = `${peer.origin}${person}`
    })
    beforeEach(async () => {
      await peer.forget()
      before = await story.books()
      story.turns.length = 0
      story.posted.length = 0
    })

    /** What has come in since the test began, and what became of it. */
    const grownBooks = async (): Promise<object> => {
      const now = await story.books()
      expect(now.received).toBe(now.answered + now.merged + now.refused + now.dead + now.inFlight)
      const keys = Object.keys(now) as (keyof Books)[]
      return Object.fromEntries(keys.map((key) => [key, now[key] - before[key]]))
    }
    const heard = async (type: string): Promise<readonly Heard[]> => {
      const { told } = await peer.told()
      return (told as readonly unknown[] as readonly Heard[]).filter((each) => each.type === type)
    }
    const settled = (): Promise<void> => eventually('quiet', story.isQuiet, patienceMs)
    const answered = async (count: number): Promise<readonly Heard[]> => {
      await eventually(`${count} answers`, async () => (await heard('Create')).length >= count, patienceMs)
      await settled()
      const creates = await heard('Create')
      for (const create of creates) notes.add(noteOf(create))
      return creates
    }
    /** Comes to the gateway, and is taken. */
    const does = async (deed: Parameters<ServerPeer['act']>[0]) => {
      const count = story.posted.length
      const done = await peer.act(deed)
      await eventually(`${deed.type} to come`, () => story.posted.length > count, patienceMs)
      expect(story.posted.slice(count).map(({ status }) => status)).toEqual([202])
      return done
    }
    const mention = (whom: readonly string[], said: string, more: object = {}) => ({
      type: 'Note',
      // With where they are: the same words from many places are answered only so often.
      content: `<p>${said} (${name})</p>`,
      tag: whom.map((href) => ({ type: 'Mention', href, name: `@${href.split('/').at(-1)}` })),
      published: new Date().toISOString(),
      ...more,
    })
    /** As it is changed: the same note, other words, later. */
    const edited = (note: object, id: string, said: string) => ({
      ...note,
      id,
      content: `<p>${said}</p>`,
      updated: new Date().toISOString(),
    })
    const expectNothingHidden = async (step: string): Promise<string> => {
      const read = await publicPlaces(story.origin, slugs, [...notes])
      for (const { url, text } of read) expect(text, `after ${step}, at ${url}`).not.toMatch(hidden)
      return read.map(({ text }) => text).join('\n')
    }

    test('follows, asks, changes what was not read yet, is answered in the thread, goes on in private, changes and deletes; nothing private is ever public; the books balance', async () => {
      await does({ type: 'Follow', object: us, to: [us] })
      await eventually('Accept', async () => (await heard('Accept')).length > 0, patienceMs)
      await expectNothingHidden('the follow')

      const inPublic = { to: [everybody], cc: [us] }
      const goOn = story.hold()
      const asked = await does({ type: 'Create', object: mention([us], 'what grows here?'), ...inPublic })
      await eventually('the agent to think', () => story.turns.length > 0, patienceMs)
      const second = mention([us], `what of the ${words.left}?`, { inReplyTo: asked.object })
      const askedToo = await does({ type: 'Create', object: second, ...inPublic })
      const instead = edited(second, askedToo.object, `what of the ${words.instead}?`)
      await does({ type: 'Update', object: instead, ...inPublic })
      goOn()
      const answers = await answered(2)
      expect(answers.map(({ actor, inReplyTo }) => [actor, inReplyTo])).toEqual([
        [us, asked.object],
        [us, askedToo.object],
      ])
      for (const { content, to } of answers) {
        expect(content).toContain(words.open)
        expect(to).toEqual(expect.arrayContaining([me, everybody]))
      }
      expect(story.turns.at(-1)?.said).toContain(words.instead)
      // What is for everybody is found by the same search.
      expect(await expectNothingHidden('the answers')).toContain(words.open)

      const inReplyTo = answers.map(noteOf).at(-1)
      const secret = mention([us], `between us: ${words.secret}`, { inReplyTo })
      const told = await does({ type: 'Create', object: secret, to: [us] })
      const [, , inPrivate] = await answered(3)
      expect(inPrivate).toMatchObject({ actor: us, inReplyTo: told.object, to: [me] })
      expect(inPrivate?.content).toContain(words.answer)
      // Two questions, two answers, and that one question was changed.
      expect(story.turns).toMatchObject([{ before: 0 }, { before: 2 }, { before: 5 }])
      expect(JSON.stringify(story.turns)).not.toContain(words.left)
      await expectNothingHidden('the private answer')
      expect(await story.kept()).toContain(words.secret)

      await does({ type: 'Update', object: edited(secret, told.object, `between us: ${words.changed}`), to: [us] })
      await settled()
      expect(await story.kept()).toContain(words.changed)
      await expectNothingHidden('the change')

      await does({ type: 'Delete', object: { id: told.object, type: 'Tombstone' }, to: [us] })
      await settled()
      const kept = await story.kept()
      for (const word of [words.secret, words.changed]) expect(kept).not.toContain(word)
      await expectNothingHidden('the deletion')
      expect(story.turns).toHaveLength(3)
      expect((await heard('Create')).length).toBe(3)
      expect((await heard('Accept')).length).toBe(1)
      // A change and a deletion end in what they are about.
      expect(await grownBooks()).toEqual({ received: 6, answered: 3, merged: 3, refused: 0, dead: 0, inFlight: 0 })
      expect(story.posted.map(({ headers }) => (headers['signature-input'] ? 'rfc9421' : 'cavage'))).toEqual(
        story.posted.map(() => form),
      )
    })

    test('AP-011: reads what was said to them alone, signed by them; nobody else does, and nobody without a signature', async () => {
      const note = [...notes].at(-1) ?? ''
      expect(await peer.read(note)).toBe(200)
      for (const other of started.values()) if (other !== peer) expect(await other.read(note)).toBe(404)
      const unsigned = await publicPlaces(story.origin, [], [note])
      expect(unsigned.map(({ url, status }) => [url, status])).toEqual([
        [note, 404],
        [note, 404],
      ])
    })

    test('is heard once, however often and wherever it comes, by every agent it is for; the books balance', async () => {
      const sibling = story.actor('helper')
      const own = [`${us}/inbox`, `${story.origin}/ap/inbox`]
      const one = mention([us], 'at two doors at once')
      const once = await peer.act({ type: 'Create', object: one, to: [everybody], cc: [us], inboxes: own })
      expect(once.statuses).toEqual([202, 202])
      await answered(1)
      const both = mention([us, sibling], 'to both of you')
      const cc = [us, sibling]
      const inboxes = [...own, `${sibling}/inbox`]
      const twice = await peer.act({ type: 'Create', object: both, to: [everybody], cc, inboxes })
      expect(twice.statuses).toEqual([202, 202, 202])
      await answered(3)
      expect(story.turns.map(({ agent }) => agent).toSorted()).toEqual(['demo', 'demo', 'helper'])

      for (const posted of [...story.posted]) expect(await postAgain(posted)).toBe(202)
      await settled()
      expect(story.turns).toHaveLength(3)
      expect((await heard('Create')).map(({ actor }) => actor).toSorted()).toEqual([us, us, sibling].toSorted())
      expect(await grownBooks()).toEqual({ received: 3, answered: 3, merged: 0, refused: 0, dead: 0, inFlight: 0 })
    })
  })

function noteOf({ object }: Heard): string {
  return typeof object === 'string' ? object : object.id
}
