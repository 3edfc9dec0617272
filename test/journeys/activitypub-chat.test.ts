// Somebody writes in a chat (Pleroma, private messages of Lemmy) and is answered there: no post, nobody called, nothing public.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agent/agent.ts'
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
  const say = async (at: number) => {
    const id = `${alice.id}/chats/${at}`
    const to = [bot.actor('demo')]
    const object = { id, type: 'ChatMessage', attributedTo: alice.id, to, content: `<p>question ${at}</p>` }
    const create = { '@context': 'https://www.w3.org/ns/activitystreams', id: `${id}/create`, type: 'Create', to }
    expect(await alice.post(bot.inbox('demo'), { ...create, actor: alice.id, object })).toBe(202)
    await settleUntil(bot.gateway, () => alice.received.length >= at)
    return alice.received[at - 1]?.body
  }

  test('is answered in it, to one person, and nobody else finds the answer', async () => {
    const { object, ...create } = await say(1)
    expect(create).toMatchObject({ type: 'Create', actor: bot.actor('demo'), to: [alice.id], cc: [] })
    expect(object).toEqual({
      ...{ id: expect.stringContaining('/ap/demo/notes/'), type: 'ChatMessage', attributedTo: bot.actor('demo') },
      ...{ to: [alice.id], content: '<p>answer 1</p>', published: expect.any(String), url: object.id },
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
