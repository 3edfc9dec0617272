// What a community passes on while the server of its author cannot be asked: the community delivers it again, and it is answered.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nameStatement } from '../../src/db/client.ts'
import { type Fediverse, startFediverse } from '../doubles/fediverse.ts'
import { type FediverseGateway, startFediverseGateway } from '../doubles/fediverse-gateway.ts'
import { aMention, everybody, type Person, settlePerson } from '../doubles/fediverse-person.ts'
import { settleUntil } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const [social, lemmy, other] = ['social.localhost', 'lemmy.localhost', 'other.localhost'] as const
type Fields = Readonly<Record<string, unknown>>
const kept = nameStatement('test_kept', 'select id, reason from inbox order by seq')
const aMinuteLater = nameStatement('test_later', `update ttl_entries set expires_at = expires_at - interval '61 s'`)

describeOnDatabase('what a community passes on too early', (database) => {
  let fediverse: Fediverse
  let bot: FediverseGateway
  let alice: Person
  let community: Person
  beforeEach(async () => {
    fediverse = await startFediverse()
    alice = settlePerson(fediverse, social)
    community = settlePerson(fediverse, lemmy, 'cats', { type: 'Group' })
    bot = await startFediverseGateway(database(), fediverse, { hosts: [social, lemmy, other] })
  })
  afterEach(async () => {
    await bot.stop()
    await fediverse.stop()
  })
  const comment = (words: string, more: Fields = {}) => {
    const us = bot.actor('demo')
    return aMention(alice, us, words, { cc: [community.id, us], audience: community.id, ...more })
  }
  const at = (id: string) => new URL(id).pathname
  const show = (object: Fields & { readonly id: string }) => fediverse.put(social, at(object.id), { body: object })
  const fail = (id: string, status = 503) => fediverse.put(social, at(id), { status })
  /** As Lemmy writes it: only the post says when it was. */
  const announce = ({ published: _, ...object }: Fields, from = community): Promise<number> => {
    const id = `${from.id}/announce/${String(object['id'])}`
    return from.post(bot.inbox('demo'), { id, type: 'Announce', actor: from.id, to: [everybody], cc: [], object })
  }
  const reasons = async () => (await database().query<{ reason: string }>(kept, [])).map(({ reason }) => reason)

  test('is delivered again a minute later, and answered then', async () => {
    const said = comment('what is a cat?')
    fail(said.object.id)
    expect(await announce(said)).toBe(503)
    expect(await reasons()).toEqual([])
    show(said.object)
    await database().query(aMinuteLater, [])
    expect(await announce(said)).toBe(202)
    await settleUntil(bot.gateway, () => alice.received.length > 0)
    expect(alice.received[0]?.text).toContain('heard: what is a cat?')
  })

  test('is delivered again where only its author could not be asked about, until they can be (AP-045)', async () => {
    const said = comment('who am I?')
    const bob = settlePerson(fediverse, social, 'bob')
    const bobs = { ...said, actor: bob.id, object: { ...said.object, attributedTo: bob.id } }
    show(bobs.object)
    fail(bob.id)
    expect(await announce(bobs)).toBe(503)
    settlePerson(fediverse, social, 'bob')
    await database().query(aMinuteLater, [])
    expect(await announce(bobs)).toBe(503)
    for (let minutes = 1; minutes < 5; minutes += 1) await database().query(aMinuteLater, [])
    expect(await announce(bobs)).toBe(202)
  })

  test.each([-2, 2])('is kept and not asked for again where it is %i hours away from now', async (hours) => {
    const said = comment('old', { published: new Date(Date.now() + hours * 3_600_000).toISOString() })
    fail(said.object.id)
    expect(await announce(said)).toBe(202)
    expect(await reasons()).toEqual(['origin_unavailable'])
  })

  test('is delivered again where we asked enough because of this community; another one is heard', async () => {
    for (let count = 0; count < 30; count += 1) expect(await announce(comment('not there'))).toBe(202)
    const said = comment('after all these')
    show(said.object)
    expect(await announce(said)).toBe(503)
    const dogs = settlePerson(fediverse, other, 'dogs', { type: 'Group' })
    expect(await announce(said, dogs)).toBe(202)
    await settleUntil(bot.gateway, () => alice.received.length > 0)
  })

  test('stays ignored when it is driven again at a moment when nobody answers', async () => {
    const said = comment('hidden')
    fail(said.object.id, 403)
    expect(await announce(said)).toBe(202)
    fail(said.object.id)
    await database().query(nameStatement('test_unknown', `delete from ttl_entries where family = 'ap-absent'`), [])
    const [row] = await database().query<{ id: string }>(kept, [])
    const before = fediverse.seen.length
    await bot.gateway.gateway.resubmit(row?.id ?? '', 'operator')
    await bot.gateway.settle()
    expect(fediverse.seen.slice(before)).toContain(`${social} ${at(said.object.id)}`)
    expect(await reasons()).toEqual(['origin_unavailable'])
    expect(alice.received).toEqual([])
  })
})
