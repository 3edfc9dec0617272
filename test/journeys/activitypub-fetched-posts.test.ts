// A delivery that names a post by its address alone: it is taken at once, and its words are asked for when it is answered, by whichever process
// answers it.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nameStatement } from '../../src/db/client.ts'
import { type Fediverse, startFediverse } from '../doubles/fediverse.ts'
import { type FediverseGateway, startFediverseGateway } from '../doubles/fediverse-gateway.ts'
import { aMention, type Person, settlePerson } from '../doubles/fediverse-person.ts'
import { settleUntil } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const social = 'social.localhost'
const fates = nameStatement('test_fates', 'select coalesce(reason, state) as fate from inbox order by seq')
const open = nameStatement('test_open', 'select count(*)::int as n from inbox where ended_at is null')

describeOnDatabase('a post that is only named', (database) => {
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
  const pathOf = (iri: string): string => new URL(iri).pathname
  const asked = (iri: string) => fediverse.seen.filter((each) => each.includes(pathOf(iri))).length
  const ended = () =>
    settleUntil(bot.gateway, async () => (await database().query<{ n: number }>(open, []))[0]?.n === 0)
  const ends = async () => (await database().query<{ fate: string }>(fates, [])).map(({ fate }) => fate)
  /** The post as its server shows it, and the delivery that names it. */
  const name = async (words: string, shown: Readonly<Record<string, unknown>> = {}) => {
    const { object, ...create } = aMention(alice, bot.actor('demo'), words)
    fediverse.put(social, pathOf(object.id), { body: { ...object, ...shown } })
    expect(await alice.post(bot.inbox('demo'), { ...create, object: object.id })).toBe(202)
    return object.id as string
  }

  test('is taken before its server is asked, and answered by its words after a restart', async () => {
    const id = await name('what is the time?')
    expect(asked(id)).toBe(0)
    const { origin } = bot
    await bot.stop()
    const insecureLoopback = [...fediverse.origins(social), origin]
    bot = await startFediverseGateway(database(), fediverse, {
      hosts: [social],
      publicUrl: origin,
      settings: { insecureLoopback },
    })
    await settleUntil(bot.gateway, () => alice.received.length >= 1)
    expect(alice.received[0]?.body.object.content).toContain('heard: what is the time?')
    expect(alice.received[0]?.body.object.inReplyTo).toBe(id)
    expect(asked(id)).toBe(1)
    await ended()
    expect(await ends()).toEqual(['answered'])
  })

  test('is read as its sender’s own and for nobody it is not for: else it ends with why', async () => {
    await name('one', { attributedTo: 'https://elsewhere.example/users/eve' })
    await ended()
    await name('two', { to: [], cc: [], tag: [] })
    await ended()
    await name('three', { to: [bot.actor('demo')], cc: [] })
    await ended()
    await name('four', { type: 'Tombstone' })
    await ended()
    expect(await ends()).toEqual(['not_their_own', 'object_not_public', 'object_not_public', 'object_gone'])
    expect(alice.received).toEqual([])
  })

  test('is not asked for where its sender has no access', async () => {
    await bot.stop()
    const settings = { access: { mode: 'allow_list', allow: ['bob@elsewhere.example'] } } as const
    bot = await startFediverseGateway(database(), fediverse, { hosts: [social], settings })
    const id = await name('what is the time?')
    await ended()
    expect([asked(id), await ends()]).toEqual([0, ['not_on_allow_list']])
  })

  test('of another server is refused, and nobody is asked for it', async () => {
    const { object: _object, ...create } = aMention(alice, bot.actor('demo'), 'x')
    expect(await alice.post(bot.inbox('demo'), { ...create, object: 'https://elsewhere.example/1' })).toBe(400)
    expect(await ends()).toEqual([])
  })

  test('is tried again while its server cannot be asked, and then ends with why', async () => {
    const { object, ...create } = aMention(alice, bot.actor('demo'), 'x')
    fediverse.put(social, pathOf(object.id), { status: 503, body: {} })
    expect(await alice.post(bot.inbox('demo'), { ...create, object: object.id })).toBe(202)
    await ended()
    expect(await ends()).toEqual(['fetch_timeout'])
    const tries = nameStatement('test_tries', 'select max(attempt)::int as n from turns')
    expect((await database().query<{ n: number }>(tries, []))[0]?.n).toBeGreaterThan(1)
  })
})
