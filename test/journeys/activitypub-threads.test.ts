// Somebody calls an agent below somebody else's post: the agent has read it, as words of others, and nobody was asked more than needed.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Agent, defineAgent } from '../../src/agents/define-agent.ts'
import type { HistoricalMessage } from '../../src/contract/message.ts'
import { type Fediverse, startFediverse } from '../doubles/fediverse.ts'
import { type FediverseGateway, type FediverseOptions, startFediverseGateway } from '../doubles/fediverse-gateway.ts'
import { aMention, everybody, type Person, settlePerson } from '../doubles/fediverse-person.ts'
import { settleUntil } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const [social, other] = ['social.localhost', 'other.localhost'] as const
type Fields = Readonly<Record<string, unknown>>

describeOnDatabase('below a post of the fediverse', (database) => {
  let fediverse: Fediverse
  let bot: FediverseGateway
  let alice: Person
  let bob: Person
  let heard: (readonly HistoricalMessage[])[]
  let failures: number
  const start = async (options: Partial<FediverseOptions> = {}, bobs: Fields = {}): Promise<void> => {
    bob = settlePerson(fediverse, other, 'bob', { name: 'Bob', ...bobs })
    bot = await startFediverseGateway(database(), fediverse, { hosts: [social, other], agents: [demo], ...options })
  }
  const demo: Agent = defineAgent({
    slug: 'demo',
    run({ history = [] }) {
      heard.push(history)
      if (heard.length <= failures) throw new Error('not yet')
      return `answer ${heard.length}`
    },
  })
  beforeEach(async () => {
    heard = []
    failures = 0
    fediverse = await startFediverse()
    alice = settlePerson(fediverse, social)
  })
  afterEach(async () => {
    await bot.stop()
    await fediverse.stop()
  })
  const post = (at: number): string => `${fediverse.origin(other)}/posts/${at}`
  const putPost = (at: number, more: Fields = {}) =>
    fediverse.put(other, `/posts/${at}`, {
      body: {
        id: post(at),
        type: 'Note',
        attributedTo: bob.id,
        to: [everybody],
        content: `<p>post ${at}</p>`,
        ...more,
      },
    })
  const ask = async (more: Fields, words = 'what does this mean?'): Promise<void> => {
    const before = alice.received.length
    expect(await alice.post(bot.inbox('demo'), aMention(alice, bot.actor('demo'), words, more))).toBe(202)
    await settleUntil(bot.gateway, () => alice.received.length > before)
  }
  const askedFor = () => fediverse.seen.filter((each) => each.startsWith(`${other} /posts/`))
  const shown = (history: readonly HistoricalMessage[] = []) =>
    history.flatMap(({ parts, ambient }) => (ambient ? parts.map((part) => 'content' in part && part.content) : []))

  test('the agent is shown the post, whose it is, and that it was not said to it', async () => {
    await start()
    putPost(1)
    await ask({ inReplyTo: post(1) })
    expect(heard).toEqual([
      [
        expect.objectContaining({
          id: post(1),
          role: 'user',
          ambient: true,
          parts: [{ kind: 'text', mime: 'text/plain', content: 'post 1' }],
          sender: expect.objectContaining({ display_name: 'Bob', verified: false, auth_method: 'none' }),
        }),
      ],
    ])
    expect(heard[0]?.[0]?.sender.address).toMatch(/^@bob@/)
  })

  test('AP-100 of a thousand posts above it three are read, the oldest first', async () => {
    await start()
    for (let at = 1; at <= 1000; at += 1) putPost(at, { inReplyTo: post(at + 1) })
    await ask({ inReplyTo: post(1) })
    expect(heard.map(shown)).toEqual([['post 3', 'post 2', 'post 1']])
    expect(askedFor()).toHaveLength(3)
  })

  test('AP-101 posts that answer each other in a circle are read once', async () => {
    await start()
    putPost(1, { inReplyTo: post(2) })
    putPost(2, { inReplyTo: post(1) })
    await ask({ inReplyTo: post(1) })
    expect(heard.map(shown)).toEqual([['post 2', 'post 1']])
    expect(askedFor()).toHaveLength(2)
  })

  test('a turn that is taken up again is shown the same, and what goes on is shown it as it is then', async () => {
    failures = 1
    await start()
    putPost(1)
    const before = alice.received.length
    await alice.post(bot.inbox('demo'), aMention(alice, bot.actor('demo'), 'this?', { inReplyTo: post(1) }))
    await settleUntil(bot.gateway, () => alice.received.length > before)
    expect(heard.map(shown)).toEqual([['post 1'], ['post 1']])
    expect(askedFor()).toHaveLength(1)
    putPost(1, { content: '<p>corrected</p>' })
    const [{ body } = expect.unreachable()] = alice.received
    fediverse.put(social, new URL(body.object.inReplyTo).pathname, {
      body: { id: body.object.inReplyTo, type: 'Note', attributedTo: alice.id, to: [everybody], inReplyTo: post(1) },
    })
    await ask({ inReplyTo: body.object.id }, 'and this?')
    expect(shown(heard.at(-1))).toEqual(['corrected'])
  })

  test.each([
    ['for followers alone', { to: ['https://other.example/bob/followers'] }, {}, {}],
    ['of somebody who wants no bots', {}, { summary: 'hello #nobot' }, {}],
    ['of somebody whom the operator blocks', {}, {}, { block: [other] }],
    ['that its own server shows as another’s', { attributedTo: 'https://social.example/users/carol' }, {}, {}],
    ['by the operator’s wish', {}, {}, { readParents: false }],
  ])('nothing is shown of a post %s', async (_which, note, author, settings) => {
    await start({ settings }, author)
    putPost(1, note)
    await ask({ inReplyTo: post(1) })
    expect(heard).toEqual([[]])
  })

  test('nobody is asked for what a direct message answers, or somebody who was not let in', async () => {
    await start({ settings: { access: { mode: 'allow_list', allow: [alice.id] } } })
    putPost(1)
    const stranger = settlePerson(fediverse, 'social.localhost', 'mallory')
    await stranger.post(bot.inbox('demo'), aMention(stranger, bot.actor('demo'), 'this?', { inReplyTo: post(1) }))
    await bot.gateway.settle()
    await ask({ inReplyTo: post(1), to: [bot.actor('demo')], cc: [] })
    expect(heard).toEqual([[]])
    expect(askedFor()).toEqual([])
  })

  test('somebody else who answers the agent in public: it is shown the question and what it said, by its own name', async () => {
    await start()
    await ask({})
    const [{ body } = expect.unreachable()] = alice.received
    const question = body.object.inReplyTo
    fediverse.put(social, new URL(question).pathname, {
      body: { id: question, type: 'Note', attributedTo: alice.id, to: [everybody], content: '<p>the question</p>' },
    })
    await bob.post(bot.inbox('demo'), aMention(bob, bot.actor('demo'), 'why?', { inReplyTo: body.object.id }))
    await settleUntil(bot.gateway, () => bob.received.length > 0)
    const history = heard.at(-1) ?? []
    expect(shown(history)).toEqual(['the question', expect.stringContaining('answer 1')])
    expect(history[1]).toMatchObject({ id: body.object.id, ambient: true, sender: { display_name: 'demo' } })
    expect(history[1]?.sender.address).toMatch(/^@demo@/)
    // Whoever was answered goes on in their own conversation, where it stands already.
    await ask({ inReplyTo: body.object.id }, 'and then?')
    expect(shown(heard.at(-1))).toEqual([])
  })

  test('somebody who learned where a direct answer is: nothing of it is shown', async () => {
    await start()
    await ask({ to: [bot.actor('demo')], cc: [] }, 'between us')
    const [{ body } = expect.unreachable()] = alice.received
    await bob.post(bot.inbox('demo'), aMention(bob, bot.actor('demo'), 'why?', { inReplyTo: body.object.id }))
    await settleUntil(bot.gateway, () => bob.received.length > 0)
    expect(heard.at(-1)).toEqual([])
  })

  test('what somebody asks twice below one post is one conversation, and another’s is their own', async () => {
    await start()
    await ask({ inReplyTo: post(7) }, 'one')
    await ask({ inReplyTo: post(7) }, 'two')
    const said = (history: readonly HistoricalMessage[]) => history.filter(({ role }) => role === 'assistant').length
    const before = bob.received.length
    await bob.post(bot.inbox('demo'), aMention(bob, bot.actor('demo'), 'three', { inReplyTo: post(7) }))
    await settleUntil(bot.gateway, () => bob.received.length > before)
    expect(heard.map(said)).toEqual([0, 1, 0])
  })
})
