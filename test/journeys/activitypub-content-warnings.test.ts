// Whoever writes under a content warning is answered under one, also when they write again or change their post before it is read.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Fediverse, startFediverse } from '../doubles/fediverse.ts'
import { type FediverseGateway, startFediverseGateway } from '../doubles/fediverse-gateway.ts'
import { aMention, everybody, type Person, settlePerson } from '../doubles/fediverse-person.ts'
import { settleUntil } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const social = 'social.localhost'
type Fields = Readonly<Record<string, unknown>>

describeOnDatabase('warnings in the fediverse', (database) => {
  let fediverse: Fediverse
  let bot: FediverseGateway
  let alice: Person
  beforeEach(async () => {
    fediverse = await startFediverse()
    alice = settlePerson(fediverse, social)
    bot = await startFediverseGateway(database(), fediverse, { hosts: [social] })
  })
  afterEach(async () => {
    await bot.stop()
    await fediverse.stop()
  })
  const conversation = 'tag:social.example,2026:one'
  const say = async (words: string, more: Fields = {}) => {
    const mention = aMention(alice, bot.actor('demo'), words, { conversation, ...more })
    expect(await alice.post(bot.inbox('demo'), mention)).toBe(202)
    return mention
  }
  const change = async (mention: Awaited<ReturnType<typeof say>>, more: Fields) => {
    const object = { ...mention.object, updated: '2030-01-01T00:00:01Z', ...more }
    const { to, cc } = object
    const update = { ...mention, id: `${mention.id}#update`, type: 'Update', to, cc, object }
    expect(await alice.post(bot.inbox('demo'), update)).toBe(202)
  }
  const answers = async (count: number) => {
    await settleUntil(bot.gateway, () => alice.received.length >= count)
    await bot.gateway.settle()
    return alice.received.map(({ body }) => body.object)
  }

  test('of two posts the one with a warning is answered under it, and the one without is not', async () => {
    await say('one', { summary: 'food', sensitive: true })
    await say('two')
    const [first, second, ...more] = await answers(2)
    expect([first, second]).toEqual([
      expect.objectContaining({ summary: 're: food', sensitive: true, content: expect.stringContaining('one') }),
      expect.objectContaining({ content: expect.stringContaining('two') }),
    ])
    expect([second.summary, more]).toEqual([undefined, []])
  })

  test('two posts under the same warning are one turn', async () => {
    await say('one', { summary: 'food' })
    await say('two', { summary: 'food' })
    expect(await answers(1)).toEqual([expect.objectContaining({ summary: 're: food' })])
  })

  test('a warning that is added before the post is read counts, also where another post without one waits', async () => {
    const mention = await say('one')
    await change(mention, { summary: 'food' })
    await say('two')
    const said = await answers(2)
    expect(said.map(({ summary, inReplyTo }) => [summary, inReplyTo === mention.object.id])).toEqual([
      ['re: food', true],
      [undefined, false],
    ])
  })

  test('a warning that is taken away before the post is read is gone', async () => {
    const mention = await say('one', { summary: 'food' })
    await change(mention, { summary: null })
    const [answer] = await answers(1)
    expect(answer).toMatchObject({ inReplyTo: mention.object.id, content: expect.stringContaining('heard: one') })
    expect(answer.summary).toBeUndefined()
  })

  test('AP-104 a direct post that is made public before it is read is answered to its author alone', async () => {
    const us = bot.actor('demo')
    const mention = await say('one', { to: [us], cc: [] })
    await change(mention, { to: [everybody], cc: [us], summary: 'food', content: '<p>two</p>' })
    const [answer, ...more] = await answers(1)
    expect(answer).toMatchObject({
      to: [alice.id],
      cc: [],
      summary: 're: food',
      content: expect.stringContaining('two'),
    })
    expect(more).toEqual([])
    expect(alice.received[0]?.text).not.toContain(everybody)
  })
})
