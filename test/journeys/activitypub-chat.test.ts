// Somebody writes in a chat (Pleroma, private messages of Lemmy) and is answered there: no post, nobody called, nothing public.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { nameStatement } from '../../src/db/client.ts'
import { type Fediverse, startFediverse } from '../doubles/fediverse.ts'
import { type FediverseGateway, startFediverseGateway } from '../doubles/fediverse-gateway.ts'
import { everybody, type Person, settlePerson } from '../doubles/fediverse-person.ts'
import { settleUntil } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const social = 'social.localhost'

describeOnDatabase('a chat in the fediverse', (database) => {
  let fediverse: Fediverse
  let bot: FediverseGateway
  let alice: Person
  let heard: number[]
  beforeEach(async () => {
    heard = []
    const demo = defineAgent({
      slug: 'demo',
      run({ history = [] }) {
        heard.push(history.length)
        return `answer ${heard.length}`
      },
    })
    fediverse = await startFediverse()
    alice = settlePerson(fediverse, social)
    bot = await startFediverseGateway(database(), fediverse, { hosts: [social], agents: [demo] })
  })
  afterEach(async () => {
    await bot.stop()
    await fediverse.stop()
  })
  const ended = nameStatement('test_ended', 'select count(*)::int as n from inbox where ended_at is null')
  const say = async (at: number, isAnswered = true) => {
    const id = `${alice.id}/chats/${at}`
    const to = [bot.actor('demo')]
    const object = { id, type: 'ChatMessage', attributedTo: alice.id, to, content: `<p>question ${at}</p>` }
    const create = { '@context': 'https://www.w3.org/ns/activitystreams', id: `${id}/create`, type: 'Create', to }
    expect(await alice.post(bot.inbox('demo'), { ...create, actor: alice.id, object })).toBe(202)
    await settleUntil(bot.gateway, async () =>
      isAnswered ? alice.received.length >= at : (await database().query<{ n: number }>(ended, []))[0]?.n === 0,
    )
    return alice.received[at - 1]?.body
  }

  test('goes on far beyond what a public thread gets, and says once when it goes on where it ends', async () => {
    await bot.stop()
    const settings = { answerLimits: { direct: { count: 12, perMs: 600_000 } } }
    const demo = defineAgent({ slug: 'demo', run: () => 'yes' })
    bot = await startFediverseGateway(database(), fediverse, { hosts: [social], agents: [demo], settings })
    for (let at = 1; at <= 12; at += 1) expect((await say(at)).object.content).toBe('<p>yes</p>')
    expect((await say(13)).object).toMatchObject({
      content: expect.stringMatching(/I.{1,6}ll be able to answer again in (?:9|10) minutes/),
      to: [alice.id],
    })
    await say(14, false)
    await say(15, false)
    expect(alice.received).toHaveLength(13)
    const ends = nameStatement('test_ends', 'select reason, count(*)::int as n from inbox group by 1 order by 2')
    expect(await database().query(ends, [])).toEqual([
      { reason: 'reply_limit', n: 3 },
      { reason: null, n: 12 },
    ])
  })

  test('needs no setting to go on beyond the six answers in ten minutes of a public thread', async () => {
    for (let at = 1; at <= 8; at += 1) expect((await say(at)).object.content).toBe(`<p>answer ${at}</p>`)
  })

  test('with a machine that may write keeps the limits of machines, and the machine is told nothing', async () => {
    await bot.stop()
    alice = settlePerson(fediverse, social, 'robot', { type: 'Service' })
    const demo = defineAgent({ slug: 'demo', run: () => 'yes' })
    const settings = { allowBots: [alice.id] }
    bot = await startFediverseGateway(database(), fediverse, { hosts: [social], agents: [demo], settings })
    for (let at = 1; at <= 6; at += 1) await say(at)
    await say(7, false)
    expect(alice.received).toHaveLength(6)
  })

  test('is answered in it, to one person, and nobody else finds the answer', async () => {
    const { object, ...create } = await say(1)
    expect(create).toMatchObject({ type: 'Create', actor: bot.actor('demo'), to: [alice.id], cc: [] })
    expect(object).toEqual({
      id: expect.stringContaining('/ap/demo/notes/'),
      type: 'ChatMessage',
      attributedTo: bot.actor('demo'),
      to: [alice.id],
      content: '<p>answer 1</p>',
      published: expect.any(String),
      url: object.id,
      source: { content: 'answer 1', mediaType: 'text/markdown' },
    })
    expect(alice.received[0]?.path).toBe(new URL(`${alice.id}/inbox`).pathname)
    expect(alice.received[0]?.text).not.toContain(everybody)
    expect((await bot.document(object.id)).status).toBe(404)
    const outbox = await bot.document(`${bot.actor('demo')}/outbox`)
    const page = await bot.document(`${bot.actor('demo')}/outbox?page=true`)
    expect([outbox.body['totalItems'], page.body['orderedItems']]).toEqual([0, []])
  })

  test('goes on as one conversation', async () => {
    await say(1)
    await say(2)
    expect(heard).toEqual([0, 2])
  })
})
