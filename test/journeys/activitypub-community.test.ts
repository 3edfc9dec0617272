// A community elsewhere passes on what its members write: believed as their own servers show it, and answered to both.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { nameStatement } from '../../src/db/client.ts'
import { type Fediverse, startFediverse } from '../doubles/fediverse.ts'
import { type FediverseGateway, type FediverseOptions, startFediverseGateway } from '../doubles/fediverse-gateway.ts'
import { aMention, everybody, type Person, settlePerson } from '../doubles/fediverse-person.ts'
import { settleUntil } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const [social, lemmy, other] = ['social.localhost', 'lemmy.localhost', 'other.localhost'] as const
type Fields = Readonly<Record<string, unknown>>

describeOnDatabase('a community of the fediverse', (database) => {
  let fediverse: Fediverse
  let bot: FediverseGateway
  let alice: Person
  let community: Person
  const start = async (options: Partial<FediverseOptions> = {}): Promise<void> => {
    bot = await startFediverseGateway(database(), fediverse, { hosts: [social, lemmy, other], ...options })
  }
  beforeEach(async () => {
    fediverse = await startFediverse()
    alice = settlePerson(fediverse, social)
    community = settlePerson(fediverse, lemmy, 'cats', { type: 'Group' })
  })
  afterEach(async () => {
    await bot.stop()
    await fediverse.stop()
  })
  /** In the community, as Lemmy writes a comment. */
  const comment = (words: string, more: Fields = {}) => {
    const us = bot.actor('demo')
    return aMention(alice, us, words, { cc: [community.id, us], audience: community.id, ...more })
  }
  /** What her own server shows. */
  const show = ({ id, ...note }: Fields & { readonly id: string }, more: Fields = {}) =>
    fediverse.put(social, new URL(id).pathname, { body: { id, ...note, ...more } })
  let passed = 0
  const announce = (object: unknown, from = community): Promise<number> => {
    passed += 1
    const id = `${from.id}/announce/${passed}`
    return from.post(bot.inbox('demo'), { id, type: 'Announce', actor: from.id, to: [everybody], cc: [], object })
  }
  const rows = (sql: string) => database().query<Fields>(nameStatement(`test_${sql}`, sql), [])
  const reasons = async () => (await rows('select reason from inbox order by seq')).map((row) => row['reason'])
  const asked = (id: string) => fediverse.seen.filter((each) => each.endsWith(` ${new URL(id).pathname}`)).length

  test('AP-105 a comment that it passes on is its author’s, and is answered to her and to the community', async () => {
    await start()
    const said = comment('what is a cat?')
    show(said.object)
    expect(await announce(said)).toBe(202)
    await settleUntil(bot.gateway, () => alice.received.length > 0 && community.received.length > 0)
    const [answer] = alice.received
    expect(answer?.body).toMatchObject({ audience: community.id, object: { inReplyTo: said.object.id } })
    expect(answer?.body.object).toMatchObject({ audience: community.id, to: expect.arrayContaining([alice.id]) })
    expect(answer?.body.object.cc).toEqual([everybody, community.id])
    expect(answer?.body.object.tag).toEqual([expect.objectContaining({ href: alice.id })])
    expect(community.received.map(({ path, body }) => [path, body.id])).toEqual([
      ['/users/cats/inbox', answer?.body.id],
    ])
    const [row] = await rows("select subject, message from inbox where event = 'new'")
    expect(row).toMatchObject({
      subject: alice.id,
      message: {
        sender: {
          verified: true,
          auth_method: 'ap-origin-fetch',
          identities: [
            {
              subject: alice.id,
              issuer: new URL(alice.id).host,
              method: 'urn:gw:auth:ap-origin-fetch:v0.1',
              assurance: 'domain',
              claims: { passed_on_by: community.id },
            },
          ],
        },
      },
    })
  })

  test('AP-105 what her own server delivers as well is one message', async () => {
    await start()
    const said = comment('only once?')
    show(said.object)
    for (const send of [() => announce(said), () => alice.post(bot.inbox('demo'), said), () => announce(said)])
      expect(await send()).toBe(202)
    await settleUntil(bot.gateway, () => alice.received.length > 0)
    await bot.gateway.settle()
    expect(alice.received).toHaveLength(1)
  })

  test('AP-105 the words are those of her server, whatever the community makes of them', async () => {
    await start()
    const said = comment('the truth')
    show(said.object)
    await announce({ ...said, object: { ...said.object, content: '<p>a lie</p>' } })
    await settleUntil(bot.gateway, () => alice.received.length > 0)
    expect(alice.received[0]?.text).toContain('heard: the truth')
  })

  test('nothing comes of what her server denies, says of somebody else, or shows to few', async () => {
    await start()
    const [missing, mallorys, hidden] = [comment('one'), comment('two'), comment('three')]
    show(mallorys.object, { attributedTo: `${alice.id.replace('alice', 'mallory')}` })
    show(hidden.object, { to: [bot.actor('demo')], cc: [] })
    for (const each of [missing, mallorys, hidden]) expect(await announce(each)).toBe(202)
    await bot.gateway.settle()
    expect(await reasons()).toEqual(['origin_disagrees', 'origin_disagrees', 'not_public'])
    expect(alice.received).toEqual([])
    await announce(missing)
    // What was not there a moment ago is not asked for again: once plainly and once signed for.
    expect(asked(missing.object.id)).toBe(2)
  })

  test('nobody is asked where no agent is called, or who passes it on is no community', async () => {
    const bob = settlePerson(fediverse, other, 'bob')
    await start()
    const said = comment('passed on by somebody')
    show(said.object)
    const unnamed = comment('to nobody', { tag: [] })
    await announce(unnamed)
    await announce(said, bob)
    await announce(said.object)
    await bot.gateway.settle()
    expect([said, unnamed].map(({ object }) => asked(object.id))).toEqual([0, 0])
    expect(await reasons()).toEqual([])
  })

  test('nobody is asked about somebody whom the operator turns away', async () => {
    await start({ settings: { block: [social] } })
    const said = comment('blocked')
    show(said.object)
    await announce(said)
    await bot.gateway.settle()
    expect(asked(said.object.id)).toBe(0)
    expect(alice.received).toEqual([])
  })

  test('a change counts as her server shows it, and a deletion once it has the post no more', async () => {
    await start({ agents: [defineAgent({ slug: 'demo', run: () => 'yes' })] })
    const said = comment('a secret')
    show(said.object)
    await announce(said)
    await settleUntil(bot.gateway, () => alice.received.length > 0)
    const change = {
      ...said,
      id: `${said.id}#2`,
      type: 'Update',
      object: { ...said.object, content: '<p>nonsense</p>' },
    }
    await announce(change)
    await bot.gateway.settle()
    expect(await rows("select id from inbox where event = 'edit'")).toEqual([])
    show(said.object, { updated: '2030-01-01T00:00:00Z', content: '<p>another secret</p>' })
    await announce(change)
    await bot.gateway.settle()
    expect(JSON.stringify(await rows("select message from inbox where event = 'edit'"))).toContain('another secret')
    const gone = { id: `${community.id}/delete/1`, type: 'Delete', actor: community.id, object: said.object.id }
    await announce(gone)
    await bot.gateway.settle()
    expect(JSON.stringify(await rows('select to_jsonb(m) as m from messages m'))).toContain('a secret')
    fediverse.put(social, new URL(said.object.id).pathname, { body: { id: said.object.id, type: 'Tombstone' } })
    await announce(gone)
    await bot.gateway.settle()
    expect(JSON.stringify(await rows('select to_jsonb(m) as m from messages m'))).not.toContain('a secret')
  })

  test('nobody becomes a community by being called one', async () => {
    const bob = settlePerson(fediverse, other, 'bob')
    await start()
    const us = bot.actor('demo')
    const said = aMention(alice, us, 'tell bob', { cc: [bob.id, us], audience: bob.id })
    await alice.post(bot.inbox('demo'), said)
    await settleUntil(bot.gateway, () => alice.received.length > 0)
    await bot.gateway.settle()
    expect(bob.received).toEqual([])
  })
})
