// What comes once more, or changed, when the first is long answered: a change that calls somebody new is a turn of its own, and what is
// only brought again is none.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { nameStatement } from '../../src/db/client.ts'
import { listMessageCountsByConnection } from '../../src/db/receipts.ts'
import { createSweepStore } from '../../src/db/retention.ts'
import { proven } from '../conformance/activitypub/proof-cases.ts'
import { mallory, alice as proving } from '../conformance/activitypub/signature-setup.ts'
import { arrivalOf, createNote, ourOrigin, peerNow, post, signCavage } from '../doubles/activitypub-peer.ts'
import { type Fediverse, startFediverse } from '../doubles/fediverse.ts'
import { type FediverseGateway, startFediverseGateway } from '../doubles/fediverse-gateway.ts'
import { behindTls, settlePeer } from '../doubles/fediverse-peers.ts'
import { aMention, settlePerson } from '../doubles/fediverse-person.ts'
import { knock } from '../doubles/raw-request.ts'
import { settleUntil } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const [social, hour] = ['social.localhost', 3_600_000] as const
const aged = nameStatement('test_aged', `update inbox set ended_at = ended_at - interval '25 hours'`)
const fates = nameStatement(
  'test_fates',
  'select agent, json_agg(coalesce(reason, state) order by seq) as fates from inbox group by agent order by agent',
)
const forgotten = nameStatement('test_forgotten', 'select message is null as forgotten from inbox')

describeOnDatabase('what comes later', (database) => {
  let fediverse: Fediverse
  let bot: FediverseGateway
  let heard: string[]
  const agents = ['demo', 'helper', 'concierge'].map((slug) =>
    defineAgent({
      slug,
      run({ parts }) {
        heard.push(`${slug}: ${parts.map((part) => ('content' in part ? part.content : part.kind)).join()}`)
        return `from ${slug}`
      },
    }),
  )
  beforeEach(async () => {
    heard = []
    fediverse = await startFediverse()
  })
  afterEach(async () => {
    await bot.stop()
    await fediverse.stop()
  })

  test('AP-102 a change that adds a mention is a turn for whom it mentions, and for nobody who was asked before', async () => {
    const alice = settlePerson(fediverse, social)
    bot = await startFediverseGateway(database(), fediverse, { hosts: [social], agents })
    const [demo, helper] = [bot.actor('demo'), bot.actor('helper')]
    const unaddressed = aMention(alice, demo, 'what is the time?', { cc: [`${alice.id}/followers`], tag: [] })
    const naming = (at: number, ...whom: readonly string[]) => {
      const tag = whom.map((href) => ({ type: 'Mention', href, name: '@somebody' }))
      const cc = [`${alice.id}/followers`, ...whom]
      const object = { ...unaddressed.object, tag, cc, updated: `2030-01-01T00:00:0${at}Z` }
      return { ...unaddressed, id: `${unaddressed.id}#${at}`, type: 'Update', cc, object }
    }
    const send = async (activity: object, answers: number): Promise<readonly string[]> => {
      expect(await alice.post(bot.sharedInbox, activity)).toBe(202)
      await settleUntil(bot.gateway, () => alice.received.length >= answers)
      await bot.gateway.settle()
      return alice.received.map(({ body }) => body.actor)
    }
    expect(await send(unaddressed, 0)).toEqual([])
    expect(await send(naming(1), 0)).toEqual([])
    expect(await send(naming(2, demo), 1)).toEqual([demo])
    expect(await send(naming(3, demo, helper), 2)).toEqual([demo, helper])
    for (const again of [unaddressed, naming(2, demo), naming(3, demo, helper)])
      expect(await send(again, 2)).toEqual([demo, helper])
    expect(heard).toEqual([
      expect.stringMatching(/^demo: what is the time\?$/),
      expect.stringMatching(/^helper: .*what is the time\?$/),
    ])
    // Each has its own copy of the change, which says nothing that it did not know.
    expect(await database().query(fates, [])).toEqual([
      { agent: 'demo', fates: ['answered', 'unchanged', 'unchanged'] },
      { agent: 'helper', fates: ['answered', 'unchanged'] },
    ])
    const books = { received: 5, answered: 2, refused: 3, merged: 0, dead: 0, inFlight: 0 }
    expect(await listMessageCountsByConnection(bot.gateway.deps.db)).toMatchObject([books])
  })

  test('AP-050 what carries its own proof is nothing new when somebody else brings it a day later, its words forgotten', async () => {
    let nowMs = peerNow
    const answers = settlePeer(fediverse, proving)
    settlePeer(fediverse, mallory)
    bot = await startFediverseGateway(database(), fediverse, {
      hosts: [],
      agents,
      publicUrl: ourOrigin,
      settings: { acceptProofs: true },
      runtime: { now: () => nowMs, guardedFetch: behindTls(fediverse, 'remote.example', 'evil.example') },
    })
    const note = proven(createNote(proving))
    const brought = () => {
      const date = new Date(nowMs).toUTCString()
      return [
        signCavage(post(note, '/ap/concierge/inbox', { date }), mallory),
        signCavage(post(note, '/ap/inbox', { date }), mallory),
        arrivalOf(post(note, '/ap/inbox', { date })),
      ]
    }
    const [first, ...others] = brought()
    if (first === undefined) throw new Error('nothing was brought')
    const told = async (arrival: typeof first) => (await knock(bot.near, arrival)).status
    expect(await told(first)).toBe(202)
    await settleUntil(bot.gateway, () => answers.length > 0)
    nowMs += 25 * hour
    await database().query(aged, [])
    const policy = { contentDays: 1, refusedHours: 24, receiptDays: 120, auditDays: 400, batch: 10 }
    await createSweepStore(database(), 'default').sweep(policy)
    expect(await database().query(forgotten, [])).toEqual([{ forgotten: true }])
    for (const arrival of [...brought(), ...brought()]) expect(await told(arrival)).toBe(202)
    // What was signed a day ago is believed by its proof, too.
    for (const arrival of others) expect(await told(arrival)).toBe(202)
    await bot.gateway.settle()
    expect([heard, answers.length]).toEqual([['concierge: Good morning'], 1])
    expect(await listMessageCountsByConnection(bot.gateway.deps.db)).toMatchObject([
      { received: 1, answered: 1, duplicates: 8 },
    ])
    nowMs += 7 * 24 * hour
    expect(await Promise.all(brought().map(told))).toEqual([401, 401, 401])
  })
})
