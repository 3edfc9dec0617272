// How much is taken from one server, and how often a machine is answered: by the limits that the channel has when nobody sets any.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { statement } from '../../src/storage/database.ts'
import { alice, bob, mallory } from '../conformance/activitypub/gate-scene.ts'
import { createNote, ourOrigin, type Peer, peerNow, post, signCavage } from '../doubles/activitypub-peer.ts'
import { type Fediverse, startFediverse } from '../doubles/fediverse.ts'
import { type FediverseGateway, startFediverseGateway } from '../doubles/fediverse-gateway.ts'
import { behindTls, settlePeer } from '../doubles/fediverse-peers.ts'
import { aMention, type Person, personKeys, settlePerson } from '../doubles/fediverse-person.ts'
import { knock } from '../doubles/knock.ts'
import { settleUntil } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const social = 'social.localhost'
const fates = statement(
  'test_fates',
  "select coalesce(reason, state) as fate from inbox where event = 'new' order by seq",
)
const open = statement('test_open', 'select count(*)::int as n from inbox where ended_at is null')
const age = statement(
  'test_age',
  `update reply_windows w set told_until = told_until - interval '11 minutes', expires_at = expires_at - interval '11 minutes',
     answered = (select jsonb_agg(e || jsonb_build_object('until', (e ->> 'until')::timestamptz - interval '11 minutes'))
       from jsonb_array_elements(w.answered) e)`,
)

describeOnDatabase('the limits of the fediverse', (database) => {
  let fediverse: Fediverse
  let bot: FediverseGateway
  beforeEach(async () => {
    fediverse = await startFediverse()
  })
  afterEach(async () => {
    await bot.stop()
    await fediverse.stop()
  })

  test('AP-113 a machine that may write is answered ten times in an hour; the operator hears once why not more', async () => {
    const robot = settlePerson(fediverse, social, 'robot', { type: 'Service' })
    bot = await startFediverseGateway(database(), fediverse, { hosts: [social], settings: { allowBots: [robot.id] } })
    const { gateway, inbox, actor } = bot
    const say = async (at: number): Promise<void> => {
      const more = { conversation: 'tag:social.example,2026:two-machines' }
      expect(await robot.post(inbox('demo'), aMention(robot, actor('demo'), `beep ${at}`, more))).toBe(202)
      await settleUntil(gateway, async () => (await database().query<{ n: number }>(open, []))[0]?.n === 0)
    }
    for (const at of [1, 2, 3, 4, 5, 6]) await say(at)
    // Six in ten minutes are as many as one sender gets; the hour of the thread goes on.
    await database().query(age, [])
    for (const at of [7, 8, 9, 10, 11, 12]) await say(at)
    const all = await database().query<{ fate: string }>(fates, [])
    expect(all.map(({ fate }) => fate)).toEqual([
      ...Array.from({ length: 10 }, () => 'answered'),
      ...['reply_limit', 'reply_limit'],
    ])
    await settleUntil(gateway, () => robot.received.length >= 10)
    expect(robot.received).toHaveLength(10)
    const { lines } = await gateway.deps.audit.list({ action: 'reply.limit' }, { limit: 10 })
    expect(lines).toMatchObject([
      { outcome: 'refused', rule: 'thread 10 in 3600 s, a share of their own', person: robot.id },
    ])
    expect(gateway.logged.filter(({ event }) => event === 'reply_limit_reached')).toHaveLength(1)
    expect(await gateway.deps.receipts.books()).toMatchObject([{ received: 12, answered: 10, refused: 2, inFlight: 0 }])
  })

  test('ten accounts that post six times each silence neither a person known before nor the next newcomer of their server', async () => {
    const keys = personKeys()
    const [known, newcomer] = ['ada', 'bob'].map((name) => settlePerson(fediverse, social, name, {}, keys))
    const crowd = Array.from({ length: 10 }, (_, at) => settlePerson(fediverse, social, `c${at}`, {}, keys))
    if (known === undefined || newcomer === undefined) throw new Error('no people')
    bot = await startFediverseGateway(database(), fediverse, { hosts: [social] })
    const { gateway, inbox, actor } = bot
    const say = async (person: Person, text: string): Promise<void> => {
      expect(await person.post(inbox('demo'), aMention(person, actor('demo'), text))).toBe(202)
    }
    const settled = () =>
      settleUntil(gateway, async () => (await database().query<{ n: number }>(open, []))[0]?.n === 0)
    await say(known, 'good morning to you')
    await settled()
    for (const round of [1, 2, 3, 4, 5, 6]) {
      for (const person of crowd) await say(person, `post ${round} of ${person.id}`)
      await settled()
    }
    await say(known, 'are you still there for me')
    await say(newcomer, 'this is my first post')
    await settled()
    const all = await database().query<{ fate: string }>(fates, [])
    expect(all.map(({ fate }) => fate).slice(-2)).toEqual(['answered', 'answered'])
  })

  test('AP-067 the 61st activity of a server within ten minutes is told when to come again, and is not asked about', async () => {
    let nowMs = peerNow
    for (const peer of [alice, bob, mallory]) settlePeer(fediverse, peer)
    const hosts = ['remote.example', 'evil.example']
    bot = await startFediverseGateway(database(), fediverse, {
      ...{ hosts: [], publicUrl: ourOrigin },
      runtime: { now: () => nowMs, guardedFetch: behindTls(fediverse, ...hosts) },
    })
    const like = (peer: Peer, at: number) =>
      signCavage(
        post(
          { id: `${peer.id}#like/${at}`, type: 'Like', actor: peer.id, object: `${ourOrigin}/ap/demo` },
          '/ap/inbox',
        ),
        peer,
      )
    for (let at = 1; at <= 60; at += 1) expect([at, (await knock(bot.near, like(alice, at))).status]).toEqual([at, 202])
    nowMs += 60_000
    const before = fediverse.seen.length
    // The host is counted, not the person.
    for (const peer of [alice, bob]) {
      const { status, headers } = await knock(bot.near, signCavage(post(createNote(peer), '/ap/inbox'), peer))
      expect([status, headers['retry-after']]).toEqual([429, '540'])
    }
    expect(fediverse.seen).toHaveLength(before)
    expect((await knock(bot.near, like(mallory, 1))).status).toBe(202)
    nowMs += 541_000
    expect((await knock(bot.near, like(alice, 61))).status).toBe(202)
  })
})
