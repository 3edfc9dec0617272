// A signed request of the fediverse that was seen on its way and is sent again while its signature is fresh.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Fediverse, startFediverse } from '../doubles/fediverse.ts'
import { type FediverseGateway, startFediverseGateway } from '../doubles/fediverse-gateway.ts'
import { type Person, settlePerson } from '../doubles/fediverse-person.ts'
import { settleUntil } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const social = 'social.localhost'
const hourMs = 60 * 60 * 1000

describeOnDatabase('a signed follow', (database) => {
  let fediverse: Fediverse
  let bot: FediverseGateway
  let alice: Person
  let aheadMs: number
  beforeEach(async () => {
    fediverse = await startFediverse()
    alice = settlePerson(fediverse, social)
    // Two minutes around the full hour that is nearest: who asks again in another hour is answered again.
    const fullHour = Math.round(Date.now() / hourMs) * hourMs
    aheadMs = fullHour - 60_000 - Date.now()
    bot = await startFediverseGateway(database(), fediverse, {
      hosts: [social],
      runtime: { now: () => Date.now() + aheadMs },
    })
  })
  afterEach(async () => {
    await bot.stop()
    await fediverse.stop()
  })

  const follow = (object: string) => ({
    '@context': 'https://www.w3.org/ns/activitystreams',
    id: `${alice.id}#follow/1`,
    type: 'Follow',
    actor: alice.id,
    object,
  })
  const bytesOf = (activity: object) => Buffer.from(JSON.stringify(activity))
  const followers = async () => (await bot.document(`${bot.actor('demo')}/followers`)).body['totalItems']

  test('that was undone does not come back by a copy of its request', async () => {
    const inbox = bot.inbox('demo')
    const bytes = bytesOf(follow(bot.actor('demo')))
    const seen = alice.sign(inbox, bytes)
    expect(await alice.send(inbox, bytes, seen)).toBe(202)
    await settleUntil(bot.gateway, () => alice.received.length === 1)
    expect(await followers()).toBe(1)
    const undo = { id: `${alice.id}#undo/1`, type: 'Undo', actor: alice.id, object: `${alice.id}#follow/1` }
    expect(await alice.post(inbox, undo)).toBe(202)
    expect(await followers()).toBe(0)
    aheadMs += 2 * 60_000
    const copies = [
      alice.send(inbox, bytes, seen),
      alice.send(`${inbox}?again=1`, bytes, seen),
      alice.send(inbox, bytes, { ...seen, signature: seen['signature']?.replace('#main-key', '') ?? '' }),
      alice.send(inbox, bytes, { ...seen, signature: seen['signature']?.replace('rsa-sha256', 'hs2019') ?? '' }),
    ]
    for (const status of await Promise.all(copies)) expect([202, 401]).toContain(status)
    await bot.gateway.settle()
    expect(await followers()).toBe(0)
    expect(alice.received).toHaveLength(1)
  })

  test('that is sent again with a signature of its own is answered again', async () => {
    const bytes = bytesOf(follow(bot.actor('demo')))
    await alice.send(bot.inbox('demo'), bytes)
    await settleUntil(bot.gateway, () => alice.received.length === 1)
    await alice.post(bot.inbox('demo'), {
      id: `${alice.id}#undo/1`,
      type: 'Undo',
      actor: alice.id,
      object: `${alice.id}#follow/1`,
    })
    aheadMs += 2 * 60_000
    // To the inbox of all, which is another address to sign.
    await alice.send(bot.sharedInbox, bytes)
    await settleUntil(bot.gateway, () => alice.received.length === 2)
    expect(await followers()).toBe(1)
  })

  test('that comes to two inboxes at once is one follow', async () => {
    const bytes = bytesOf(follow(bot.actor('demo')))
    const sent = [alice.send(bot.inbox('demo'), bytes), alice.send(bot.sharedInbox, bytes)]
    expect(await Promise.all(sent)).toEqual([202, 202])
    await settleUntil(bot.gateway, () => alice.received.length > 0)
    await bot.gateway.settle()
    expect(await followers()).toBe(1)
    expect(alice.received).toHaveLength(1)
  })
})
