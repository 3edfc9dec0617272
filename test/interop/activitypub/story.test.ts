// Somebody on a server nobody here wrote gets to know an agent: in public, then in private, until they take it all back.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Database, statement } from '../../../src/storage/database.ts'
import { migrate } from '../../../src/storage/migrate.ts'
import { openPglite } from '../../../src/storage/pglite.ts'
import { settleUntil } from '../../doubles/test-gateway.ts'
import { migrationsFolder } from '../../setup/cloned-database.ts'
import { describeBeside } from '../peer.ts'
import { findServer, type ServerPeer } from './peers.ts'
import { findSigningPeer } from './signing-peer.ts'
import { postAgain, publicPlaces, type Story, startStory, words } from './story-scene.ts'

/** `form`: how the peer signs. Every one of them can take every step of the story. */
const peers = [
  {
    name: 'activitypub-express',
    ...{ peer: findServer('./apex-server.mjs', 'activitypub-express'), person: '/u/alice', form: 'cavage' },
  },
  {
    name: 'a Fedify server',
    ...{ peer: findServer('./fedify-server.mjs', '@fedify/fedify'), person: '/users/bob', form: 'rfc9421' },
  },
  { name: 'http-message-signatures', peer: findSigningPeer(), person: '/users/carol', form: 'rfc9421' },
] as const

type Heard = {
  readonly type: string
  readonly actor: string
  readonly content: string
  readonly inReplyTo: string
  readonly to: readonly string[]
  readonly object: string | { readonly id: string }
}

const everybody = 'https://www.w3.org/ns/activitystreams#Public'
const keptWords = statement('test_kept', 'select to_jsonb(m) from messages m')
const hidden = new RegExp([words.secret, words.changed, words.answer].join('|'))

for (const { name, peer: found, person, form } of peers)
  describeBeside(`somebody on ${name}`, found, (start) => {
    let database: Database
    let peer: ServerPeer
    let story: Story
    let us: string
    let me: string
    beforeAll(async () => {
      database = await openPglite({ isNew: true })
      await migrate(database, migrationsFolder)
      peer = await start()()
      story = await startStory(database, peer.origin)
      us = story.actor('demo')
      me = `${peer.origin}${person}`
    })
    afterAll(async () => {
      await story?.stop()
      await peer?.stop()
      await database?.close()
    })
    let before: Readonly<Record<string, number>> = {}
    beforeEach(async () => {
      await peer.forget()
      before = await books()
      story.turns.length = 0
      story.posted.length = 0
    })

    const books = async (): Promise<Readonly<Record<string, number>>> => {
      const [line] = await story.gateway.deps.receipts.books()
      const { received = 0, answered = 0, merged = 0, refused = 0, dead = 0, inFlight = 0 } = line ?? {}
      expect(received).toBe(answered + merged + refused + dead + inFlight)
      return { received, answered, merged, refused, dead, inFlight }
    }
    /** What has come in since the test began, and what became of it. */
    const grownBooks = async (): Promise<object> =>
      Object.fromEntries(Object.entries(await books()).map(([key, count]) => [key, count - (before[key] ?? 0)]))
    const creates = async (): Promise<readonly Heard[]> => {
      const { told } = await peer.told()
      return (told as readonly unknown[] as readonly Heard[]).filter(({ type }) => type === 'Create')
    }
    const answered = async (count: number): Promise<readonly Heard[]> => {
      await settleUntil(story.gateway, async () => (await creates()).length >= count, 20_000)
      await story.gateway.settle()
      return creates()
    }
    const noteOf = ({ object }: Heard): string => (typeof object === 'string' ? object : object.id)
    const mention = (whom: readonly string[], said: string, more: object = {}) => ({
      type: 'Note',
      content: `<p>${said}</p>`,
      tag: whom.map((href) => ({ type: 'Mention', href, name: `@${href.split('/').at(-1)}` })),
      published: new Date().toISOString(),
      ...more,
    })
    /** Everything anybody can read of ours, told by the notes that are known so far. */
    const expectNothingHidden = async (step: string): Promise<string> => {
      const read = await publicPlaces(story, (await creates()).map(noteOf))
      for (const { url, text } of read) expect(text, `after ${step}, at ${url}`).not.toMatch(hidden)
      return read.map(({ text }) => text).join('\n')
    }
    const kept = async (): Promise<string> => JSON.stringify(await database.query(keptWords, []))

    test('follows, asks, is answered in the thread, goes on in private, changes and deletes; nothing private is ever public; the books balance', async () => {
      await peer.act({ type: 'Follow', object: us, to: [us] })
      const isAccepted = async () => (await peer.told()).told.some(({ type }) => type === 'Accept')
      await settleUntil(story.gateway, isAccepted, 20_000)
      expect((await story.document(`${us}/followers`)).body).toMatchObject({ totalItems: 1 })
      await expectNothingHidden('the follow')

      const asked = await peer.act({
        type: 'Create',
        object: mention([us], 'what grows here?'),
        to: [everybody],
        cc: [us],
      })
      const [inPublic] = await answered(1)
      expect(inPublic).toMatchObject({ actor: us, inReplyTo: asked.object })
      expect(inPublic?.content).toContain(words.open)
      expect(inPublic?.to).toEqual(expect.arrayContaining([me, everybody]))
      // What is for everybody is found by the same search.
      expect(await expectNothingHidden('the answer')).toContain(words.open)

      const inReplyTo = inPublic === undefined ? '' : noteOf(inPublic)
      const secret = mention([us], `between us: ${words.secret}`, { inReplyTo })
      const told = await peer.act({ type: 'Create', object: secret, to: [us] })
      const [, inPrivate] = await answered(2)
      expect(inPrivate).toMatchObject({ actor: us, inReplyTo: told.object, to: [me] })
      expect(inPrivate?.content).toContain(words.answer)
      expect(story.turns).toMatchObject([{ before: 0 }, { before: 2 }])
      await expectNothingHidden('the private answer')
      const places = await publicPlaces(story, inPrivate === undefined ? [] : [noteOf(inPrivate)])
      expect(places.filter(({ url }) => inPrivate && url === noteOf(inPrivate)).map(({ status }) => status)).toEqual([
        404, 404,
      ])

      const updated = new Date().toISOString()
      const changed = { ...secret, id: told.object, content: `<p>between us: ${words.changed}</p>`, updated }
      await peer.act({ type: 'Update', object: changed, to: [us] })
      await settleUntil(story.gateway, async () => (await kept()).includes(words.changed), 20_000)
      await expectNothingHidden('the change')

      await peer.act({ type: 'Delete', object: { id: told.object, type: 'Tombstone' }, to: [us] })
      await settleUntil(story.gateway, async () => !(await kept()).includes(words.changed), 20_000)
      expect(await kept()).not.toContain(words.secret)
      await expectNothingHidden('the deletion')
      expect(story.turns).toHaveLength(2)
      expect(await creates()).toHaveLength(2)
      // A change and a deletion end in what they are about.
      expect(await grownBooks()).toEqual({ received: 4, answered: 2, merged: 2, refused: 0, dead: 0, inFlight: 0 })
      expect(story.posted.map(({ headers }) => (headers['signature-input'] ? 'rfc9421' : 'cavage'))).toEqual(
        story.posted.map(() => form),
      )
    })

    test('is heard once, however often and wherever it comes, by every agent it is for; the books balance', async () => {
      const sibling = story.actor('helper')
      const own = [story.inbox('demo'), story.sharedInbox]
      const one = mention([us], 'at two doors at once')
      const once = await peer.act({ type: 'Create', object: one, to: [everybody], cc: [us], inboxes: own })
      expect(once.statuses).toEqual([202, 202])
      await answered(1)
      const both = mention([us, sibling], 'to both of you')
      const cc = [us, sibling]
      const inboxes = [...own, story.inbox('helper')]
      const twice = await peer.act({ type: 'Create', object: both, to: [everybody], cc, inboxes })
      expect(twice.statuses).toEqual([202, 202, 202])
      await answered(3)
      expect(story.turns.map(({ agent }) => agent).toSorted()).toEqual(['demo', 'demo', 'helper'])

      for (const posted of [...story.posted]) expect(await postAgain(posted)).toBe(202)
      await story.gateway.settle()
      expect(story.turns).toHaveLength(3)
      expect((await creates()).map(({ actor }) => actor).toSorted()).toEqual([us, us, sibling].toSorted())
      expect(await grownBooks()).toEqual({ received: 3, answered: 3, merged: 0, refused: 0, dead: 0, inFlight: 0 })
    })
  })
