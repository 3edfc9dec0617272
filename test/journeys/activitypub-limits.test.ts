// How much is taken from one server, and how often a machine is answered: by the limits that the channel has when nobody sets any.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { readAuditPage } from '../../src/db/audit.ts'
import { nameStatement } from '../../src/db/client.ts'
import { listMessageCountsByConnection } from '../../src/db/receipts.ts'
import { alice, bob, mallory } from '../conformance/activitypub/signature-setup.ts'
import { createNote, ourOrigin, type Peer, peerNow, post, signCavage } from '../doubles/activitypub-peer.ts'
import { type Fediverse, startFediverse } from '../doubles/fediverse.ts'
import { type FediverseGateway, startFediverseGateway } from '../doubles/fediverse-gateway.ts'
import { behindTls, settlePeer } from '../doubles/fediverse-peers.ts'
import { aMention, type Person, personKeys, settlePerson } from '../doubles/fediverse-person.ts'
import { knock } from '../doubles/raw-request.ts'
import { settleUntil } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const social = 'social.localhost'
const fates = nameStatement(
  'test_fates',
  "select coalesce(reason, state) as fate from inbox where event = 'new' order by seq",
)
const said = nameStatement('test_said', "select envelope::text as text from messages where role = 'assistant'")
const untaken = nameStatement('test_untaken', "select count(*)::int as n from inbox where state = 'queued'")
const newest = nameStatement(
  'test_newest',
  'select subject, reason, turn_id is not null as "isTaken" from inbox order by seq desc limit 1',
)
const open = nameStatement('test_open', 'select count(*)::int as n from inbox where ended_at is null')
const age = nameStatement(
  'test_age',
  `update reply_windows w set notified_until = notified_until - interval '11 minutes', expires_at = expires_at - interval '11 minutes',
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
      'reply_limit',
      'reply_limit',
    ])
    await settleUntil(gateway, () => robot.received.length >= 10)
    expect(robot.received).toHaveLength(10)
    const { lines } = await readAuditPage(gateway.deps.db, { action: 'reply.limit' }, { limit: 10 })
    expect(lines).toMatchObject([
      { outcome: 'refused', rule: 'thread 10 in 3600 s, a share of their own', person: robot.id },
    ])
    expect(gateway.logged.filter(({ event }) => event === 'reply_limit_reached')).toHaveLength(1)
    expect(await listMessageCountsByConnection(gateway.deps.db)).toMatchObject([
      { received: 12, answered: 10, refused: 2, inFlight: 0 },
    ])
  })

  test('ten accounts that post six times each do not silence a person of their server who was answered before', async () => {
    const keys = personKeys()
    const known = settlePerson(fediverse, social, 'ada', {}, keys)
    const crowd = Array.from({ length: 10 }, (_, at) => settlePerson(fediverse, social, `c${at}`, {}, keys))
    bot = await startFediverseGateway(database(), fediverse, { hosts: [social] })
    const { gateway, inbox, actor } = bot
    const say = async (person: Person, text: string): Promise<number> =>
      person.post(inbox('demo'), aMention(person, actor('demo'), text))
    expect(await say(known, 'good morning to you')).toBe(202)
    await settleUntil(gateway, async () => (await database().query<{ n: number }>(open, []))[0]?.n === 0)
    for (const round of [1, 2, 3, 4, 5, 6])
      await Promise.all(crowd.map((person) => say(person, `post ${round} of ${person.id}`)))
    await settleUntil(gateway, async () => (await database().query<{ n: number }>(untaken, []))[0]?.n === 0)
    expect(await say(known, 'are you still there for me')).toBe(202)
    await settleUntil(gateway, async () => (await database().query<{ n: number }>(untaken, []))[0]?.n === 0)
    const [last] = await database().query<{ subject: string; reason: string | null; isTaken: boolean }>(newest, [])
    expect(last).toEqual({ subject: known.id, reason: null, isTaken: true })
  })

  test('an answer of 200 KB is a few posts and a link to all of it, and the transcript has all of it', async () => {
    const ada = settlePerson(fediverse, social, 'ada')
    const whole = Array.from({ length: 4000 }, (_, at) => `line ${at} of what the agent has to say about it`).join(
      '\n\n',
    )
    const agents = [defineAgent({ slug: 'demo', run: () => whole })]
    bot = await startFediverseGateway(database(), fediverse, { hosts: [social], agents })
    const { gateway, inbox, actor, near } = bot
    await ada.post(inbox('demo'), aMention(ada, actor('demo'), 'tell me all about it'))
    await settleUntil(gateway, () => /Read all of it/.test(JSON.stringify(ada.received.at(-1)?.body)))
    await settleUntil(gateway, async () => (await database().query<{ n: number }>(open, []))[0]?.n === 0)
    expect(ada.received.length).toBeLessThanOrEqual(15)
    expect(ada.received.length).toBeGreaterThan(10)
    const last = String(ada.received.at(-1)?.body.object.content)
    expect(last).toContain('This answer is longer than fits here.')
    const { pathname, search } = new URL(/href="([^"]*storage[^"]*)"/.exec(last)?.[1]?.replaceAll('&amp;', '&') ?? 'x:')
    const opened = await fetch(`${near}${pathname}${search}`)
    expect([opened.status, await opened.text()]).toEqual([200, whole])
    const [line] = await database().query<{ text: string }>(said, [])
    expect(line?.text).toContain('line 3999 of')
  })

  test('AP-067 the 61st activity of a server within ten minutes is told when to come again, and is not asked about', async () => {
    let nowMs = peerNow
    for (const peer of [alice, bob, mallory]) settlePeer(fediverse, peer)
    const hosts = ['remote.example', 'evil.example']
    bot = await startFediverseGateway(database(), fediverse, {
      hosts: [],
      publicUrl: ourOrigin,
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
