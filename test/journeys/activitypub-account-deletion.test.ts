// Somebody deletes their account elsewhere: what they said to an agent goes with it, and nobody else loses a word. Over real HTTP,
// signed by hand; the sweeper is the product's own.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { explainById } from '../../src/api/explain/explain.ts'
import { textOf } from '../../src/contract/index.ts'
import { type Database, nameStatement } from '../../src/db/client.ts'
import { runRetentionSweep } from '../../src/gateway/sweep.ts'
import { type Fediverse, startFediverse } from '../doubles/fediverse.ts'
import { type FediverseGateway, startFediverseGateway } from '../doubles/fediverse-gateway.ts'
import { aMention, type Person, settlePerson } from '../doubles/fediverse-person.ts'
import { rowsWith, tablesWith } from '../doubles/find-text-in-database.ts'
import { settleUntil } from '../doubles/test-gateway.ts'
import { watchedDatabase } from '../doubles/watched-database.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'
import { openTenantDb } from '../setup/tenant-db.ts'

const social = 'social.localhost'
const other = 'other.localhost'
const due = nameStatement('test_due', 'update account_deletions set due_at = now()')
/** Whoever was asked about somebody is not asked again within a minute. */
const aMinuteLater = nameStatement('test_minute', `delete from ttl_entries where family like '%asked'`)
const counts = nameStatement(
  'test_counts',
  `select (select count(*)::int from inbox) as inbox, (select count(*)::int from account_deletions) as farewells,
     (select count(*)::int from blobs) as blobs, (select count(*)::int from audit_log where action = 'forget') as told`,
)

/** Says nothing of what it heard where everybody can read it, and gives whoever writes to it alone a file with their words. */
const discreet = defineAgent({
  slug: 'demo',
  run({ parts, channel }) {
    if (channel?.visibility !== 'direct') return 'noted'
    const said = textOf(parts)
    const data_base64 = Buffer.from(said).toString('base64')
    const file = {
      kind: 'file',
      mime: 'text/plain',
      name: 'words.txt',
      bytes_ref: { kind: 'inline', data_base64 },
    } as const
    return { parts: [{ kind: 'text', mime: 'text/plain', content: `you said ${said}` }, file] }
  },
})

describeOnDatabase('an account that is deleted', (database) => {
  let fediverse: Fediverse
  let bot: FediverseGateway | undefined
  let alice: Person
  let bob: Person
  const asked: string[] = []
  beforeEach(async () => {
    fediverse = await startFediverse()
    alice = settlePerson(fediverse, social)
    bob = settlePerson(fediverse, other, 'bob')
  })
  afterEach(async () => {
    await bot?.stop()
    bot = undefined
    await fediverse.stop()
  })
  const start = async (on: Database = database()): Promise<FediverseGateway> => {
    bot = await startFediverseGateway(on, fediverse, { hosts: [social, other], agents: [discreet] })
    return bot
  }
  const sweep = async ({ gateway: { config, deps } }: FediverseGateway) => {
    await database().query(due, [])
    await runRetentionSweep({ config, database: database(), deps, log: deps.log })
  }
  const counted = async () => (await database().query<Record<string, number>>(counts, []))[0]
  const leaving = ({ id }: Person) => ({
    '@context': 'https://www.w3.org/ns/activitystreams',
    id: `${id}#delete`,
    type: 'Delete',
    actor: id,
    object: id,
  })
  const direct = (us: string) => ({ to: [us], cc: [] })
  /** A public thread of both, and something that each of them said to the agent alone. */
  const talk = async ({ gateway, inbox, actor }: FediverseGateway) => {
    const us = actor('demo')
    const first = aMention(alice, us, 'alice-canary in public')
    await alice.post(inbox('demo'), first)
    await bob.post(inbox('demo'), aMention(bob, us, 'bob-canary in public', { inReplyTo: first.object.id }))
    for (const [who, name] of [
      [alice, 'alice'],
      [bob, 'bob'],
    ] as const)
      await who.post(inbox('demo'), aMention(who, us, `${name}-canary in private`, direct(us)))
    await settleUntil(gateway, () => alice.received.length >= 2 && bob.received.length >= 2)
    await gateway.settle()
    return first.object.id
  }

  test('AP-044 takes its words, files and notes with it, and leaves everybody else’s', async () => {
    const here = await start()
    const note = await talk(here)
    const words = await rowsWith(database(), 'bob-canary')
    expect(await tablesWith(database(), 'alice-canary')).toEqual(
      expect.arrayContaining(['channel_records', 'inbox', 'messages', 'outbox']),
    )
    const { blobs = 0 } = (await counted()) ?? {}
    expect(blobs).toBe(2)
    // This one still waits when they leave.
    await alice.post(here.inbox('demo'), aMention(alice, here.actor('demo'), 'alice-canary waits'))
    expect(await alice.post(here.sharedInbox, leaving(alice))).toBe(202)
    await sweep(here)
    expect(await tablesWith(database(), 'alice-canary')).toEqual([])
    expect(await rowsWith(database(), 'bob-canary')).toEqual(words)
    expect(await counted()).toMatchObject({ farewells: 0, blobs: 1, told: 2 })
    const heard = alice.received.length
    await here.gateway.settle()
    expect(alice.received).toHaveLength(heard)
    const store = openTenantDb(database(), 'default')
    const story = async (id: string) => JSON.stringify(await explainById({ db: store, agents: ['demo'] }, id))
    expect(await story(note)).toBe('{"kind":"unknown"}')
    const told = await story(`${alice.id}#delete`)
    expect(told).toContain('What they had said was erased')
    expect(told.replace(`"asked":"${alice.id}#delete"`, '')).not.toContain('alice')
  })

  test('of somebody who was turned away meanwhile is forgotten, too; anything else they send is not taken', async () => {
    const here = await start()
    await talk(here)
    await here.stop()
    bot = await startFediverseGateway(database(), fediverse, {
      hosts: [social, other],
      agents: [discreet],
      settings: { block: [new URL(alice.id).hostname] },
    })
    expect(await alice.post(bot.inbox('demo'), aMention(alice, bot.actor('demo'), 'alice-canary more'))).toBe(403)
    expect(await alice.post(bot.sharedInbox, leaving(alice))).toBe(202)
    await sweep(bot)
    expect(await tablesWith(database(), 'alice-canary')).toEqual([])
  })

  test('and comes back is somebody new', async () => {
    const here = await start()
    await talk(here)
    await alice.post(here.inbox('demo'), leaving(alice))
    await sweep(here)
    const heard = alice.received.length
    await alice.post(
      here.inbox('demo'),
      aMention(alice, here.actor('demo'), 'alice-canary again', direct(here.actor('demo'))),
    )
    await settleUntil(here.gateway, () => alice.received.length > heard)
    await sweep(here)
    expect(await tablesWith(database(), 'alice-canary again')).toContain('messages')
    await alice.post(here.inbox('demo'), leaving(alice))
    await sweep(here)
    expect(await tablesWith(database(), 'alice-canary')).toEqual([])
  })

  test('AP-044 is believed without a key only when its own server says so; until then nothing is erased', async () => {
    const here = await start()
    await talk(here)
    const words = await rowsWith(database(), 'alice-canary')
    const bytes = Buffer.from(JSON.stringify(leaving(alice)))
    const signedWith = (key: string) => ({
      signature: `keyId="${key}",headers="(request-target) host date digest",signature="AAAA"`,
    })
    const forged = [`${bob.id}#main-key`, `${alice.id}#other-key`, `${fediverse.origin(social)}/users/nobody#main-key`]
    for (const key of forged) expect(await bob.send(here.inbox('demo'), bytes, signedWith(key)), key).toBeLessThan(500)
    await sweep(here)
    expect(await rowsWith(database(), 'alice-canary')).toEqual(words)
    expect(await counted()).toMatchObject({ farewells: 0, told: 0 })
    fediverse.put(social, '/users/alice', { status: 410 })
    await database().query(aMinuteLater, [])
    const dead = signedWith(`${fediverse.origin(social)}/users/nobody#main-key`)
    expect(await alice.send(here.inbox('demo'), bytes, dead)).toBe(202)
    await sweep(here)
    expect(await tablesWith(database(), 'alice-canary')).toEqual([])
  })

  test('and of which nothing is known here costs one look-up: no row, and nobody is asked', async () => {
    asked.length = 0
    const watched = watchedDatabase(database(), (at) => void (at.startsWith('before:') && asked.push(at.slice(7))))
    const here = await start(watched)
    await talk(here)
    const before = await counted()
    const seen = fediverse.seen.length
    asked.length = 0
    const strangers = Array.from({ length: 1000 }, (_, at) => ({
      id: `${fediverse.origin(social)}/users/stranger${at}`,
    }))
    const answers = new Set<number>()
    const startedAt = performance.now()
    for (let at = 0; at < strangers.length; at += 50) {
      const some = strangers.slice(at, at + 50).map((who) => alice.post(here.sharedInbox, leaving(who as Person)))
      for (const status of await Promise.all(some)) answers.add(status)
    }
    expect(performance.now() - startedAt).toBeLessThan(60_000)
    expect(answers).toEqual(new Set([202]))
    expect(fediverse.seen).toHaveLength(seen)
    expect(await counted()).toEqual(before)
    const lookups = asked.filter((name) => name === 'knows_subject')
    expect({ lookups: lookups.length, others: asked.filter((name) => name !== 'knows_subject') }).toEqual({
      lookups: 1000,
      others: ['test_counts'].filter((name) => asked.includes(name)),
    })
  })
})
