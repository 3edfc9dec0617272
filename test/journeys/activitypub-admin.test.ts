// An operator changes and takes back what an agent posted, and turns servers away, while the gateway runs.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nameStatement } from '../../src/db/client.ts'
import type { JsonObject } from '../../src/lib/json-value.ts'
import { type Fediverse, startFediverse } from '../doubles/fediverse.ts'
import { type FediverseGateway, startFediverseGateway } from '../doubles/fediverse-gateway.ts'
import { aMention, type Person, settlePerson } from '../doubles/fediverse-person.ts'
import { createTestApp, operatorToken } from '../doubles/test-app.ts'
import { settleUntil } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const social = 'social.localhost'
const calls = nameStatement('test_calls', 'select state, reason from outbox order by seq')

describeOnDatabase('an operator of the fediverse', (database) => {
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

  const operate = async (name: string, input: JsonObject) => {
    const app = createTestApp(bot.gateway, database())
    const response = await app.request(`/admin/connections/activitypub/default/operations/${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${operatorToken}` },
      body: JSON.stringify(input),
    })
    return { status: response.status, body: (await response.json()) as { readonly value: JsonObject } }
  }
  const answered = async (): Promise<string> => {
    await alice.post(bot.inbox('demo'), aMention(alice, bot.actor('demo'), 'hello'))
    await settleUntil(bot.gateway, () => alice.received.length > 0)
    return String(alice.received[0]?.body.object.id)
  }

  test('other words reach whoever was told and stand at the address; taking back leaves a Tombstone', async () => {
    const id = await answered()
    expect((await operate('posts.edit', { id, markdown: '**Better**' })).status).toBe(200)
    await settleUntil(bot.gateway, () => alice.received.length > 1)
    expect(alice.received[1]?.body).toMatchObject({ type: 'Update', object: { id, type: 'Note' } })
    expect((await bot.document(id)).body['content']).toContain('<strong>Better</strong>')
    expect((await operate('posts.list', {})).body.value['posts']).toMatchObject([
      { id, words: expect.stringContaining('Better') },
    ])

    expect((await operate('posts.delete', { id })).body.value).toMatchObject({ told: 1 })
    expect((await bot.document(id)).status).toBe(410)
    await settleUntil(bot.gateway, () => alice.received.length > 2)
    expect(alice.received[2]?.body).toMatchObject({ type: 'Delete', object: { id, type: 'Tombstone' } })
    expect((await bot.document(`${bot.actor('demo')}/outbox`)).body['totalItems']).toBe(0)
    expect((await operate('posts.delete', { id })).status).toBe(404)
  })

  test('what is asked at the same time is done once', async () => {
    const id = await answered()
    const done = await Promise.all([1, 2, 3].map(() => operate('posts.delete', { id })))
    expect(done.filter(({ status }) => status === 200).length).toBeGreaterThan(0)
    await settleUntil(bot.gateway, () => alice.received.length > 1)
    await bot.gateway.settle()
    expect(alice.received.map(({ body }) => body.type)).toEqual(['Create', 'Delete'])
  })

  test('whom they turn away is told so, and gets nothing that still waited', async () => {
    alice.answer(503)
    await alice.post(bot.inbox('demo'), aMention(alice, bot.actor('demo'), 'hello'))
    await settleUntil(bot.gateway, () => alice.received.length > 0)
    expect((await operate('blocks.add', { peer: social })).body.value).toMatchObject({ added: 1 })
    await bot.stop()
    alice.answer(202)
    // Another process, which has no list in its memory.
    bot = await startFediverseGateway(database(), fediverse, { hosts: [social] })
    const before = alice.received.length
    const fates = async () => database().query<{ state: string; reason: string }>(calls, [])
    await settleUntil(bot.gateway, async () => (await fates()).every(({ state }) => state !== 'queued'))
    expect(await fates()).toMatchObject([{ reason: 'blocked' }])
    expect(alice.received.length).toBe(before)
    expect(await alice.post(bot.inbox('demo'), aMention(alice, bot.actor('demo'), 'again'))).toBe(403)
  })
})
