// Every forgery that the gate is tried with, posted to a whole gateway: what is not genuine leaves no row, no turn and no answer, and
// the books balance.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import type { RawRequest } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { listMessageCountsByConnection } from '../../src/db/receipts.ts'
import { bodyCases } from '../conformance/activitypub/body-cases.ts'
import { cavageCases } from '../conformance/activitypub/cavage-cases.ts'
import { messageCases } from '../conformance/activitypub/evidence-cases.ts'
import { ownerCases } from '../conformance/activitypub/key-cases.ts'
import { proofCases } from '../conformance/activitypub/proof-cases.ts'
import { rfcCases } from '../conformance/activitypub/rfc9421-cases.ts'
import { alice, bob, judgedIn } from '../conformance/activitypub/signature-setup.ts'
import { createNote, makePeer, ourOrigin, type Peer, peerNow, post, signCavage } from '../doubles/activitypub-peer.ts'
import { type Fediverse, pemOf, startFediverse } from '../doubles/fediverse.ts'
import { type FediverseGateway, startFediverseGateway } from '../doubles/fediverse-gateway.ts'
import { behindTls, settlePeer } from '../doubles/fediverse-peers.ts'
import { knock } from '../doubles/raw-request.ts'
import { settleUntil } from '../doubles/test-gateway.ts'
import {
  ambiguous,
  ambiguousModern,
  expressTakes,
  fedifyTakes,
  mallory,
  note,
  taken,
  victim,
} from '../security/activitypub/forgery-cases.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const hosts = ['victim.example', 'evil.example', 'remote.example'] as const
const [theirs, evils] = hosts
const us = `${ourOrigin}/ap/concierge`
const forgeries = [...expressTakes, ...fedifyTakes, ...taken, ...ambiguous, ...ambiguousModern]
const suites = [cavageCases, rfcCases, ownerCases, proofCases, bodyCases, messageCases].flat()
/** Larger ones may be cut off before anybody can say why. */
const maxBytes = 512 * 1024

const rows = nameStatement('test_rows', 'select subject, event, state, reason from inbox order by seq')
const aged = nameStatement(
  'test_aged',
  `update ttl_entries set expires_at = expires_at - $1::int * interval '1 millisecond'`,
)
const sends = nameStatement('test_sends', 'select state from outbox order by seq')

describeOnDatabase('under attack', (database) => {
  let fediverse: Fediverse
  let bot: FediverseGateway
  let heard: string[]
  let nowMs: number
  let answers: Map<Peer, readonly string[]>
  beforeEach(async () => {
    heard = []
    nowMs = peerNow
    fediverse = await startFediverse()
    answers = new Map([victim, mallory, alice, bob].map((peer) => [peer, settlePeer(fediverse, peer)]))
    const concierge = defineAgent({
      slug: 'concierge',
      run({ parts }) {
        heard.push(JSON.stringify(parts))
        return 'yes'
      },
    })
    bot = await startFediverseGateway(database(), fediverse, {
      agents: [concierge],
      hosts: [],
      publicUrl: ourOrigin,
      settings: { hostLimit: { count: 10_000, perMs: 600_000 } },
      runtime: { now: () => nowMs, guardedFetch: behindTls(fediverse, ...hosts) },
    })
  })
  afterEach(async () => {
    await bot.stop()
    await fediverse.stop()
  })
  const told = async (arrival: RawRequest): Promise<number> => (await knock(bot.near, arrival)).status
  /** What the gate drops looks to whoever sent it as if it were taken. */
  const expectRefused = async (what: string, arrival: RawRequest, isDropped = false): Promise<void> => {
    const status = await told(arrival)
    const isRefused = isDropped ? status === 202 : status >= 400 && status < 429
    expect([what, isRefused, status]).toEqual([what, true, status])
  }
  /** By both clocks: that of the process and that of the database. */
  const pass = async (ms: number): Promise<void> => {
    nowMs += ms
    await database().query(aged, [ms])
  }
  const kept = () => database().query<{ subject: string; event: string; reason: string | null }>(rows, [])
  /** So many messages came, each was answered once, and nothing is under way. */
  const expectBooks = async (answered: number, ignored = 0): Promise<void> => {
    await bot.gateway.settle()
    await settleUntil(bot.gateway, async () =>
      (await database().query<{ state: string }>(sends, [])).every(({ state }) => state === 'delivered'),
    )
    expect(heard).toHaveLength(answered)
    expect(await kept()).toHaveLength(answered + ignored)
    expect(await database().query(sends, [])).toHaveLength(answered)
    expect([...answers.values()].flat()).toHaveLength(answered)
    const books = await listMessageCountsByConnection(bot.gateway.deps.db)
    const balance = { received: answered, answered, merged: 0, refused: 0, dead: 0, inFlight: 0, ignored }
    expect(books).toMatchObject(answered + ignored === 0 ? [] : [balance])
  }

  test('no forgery of the tables comes to anything, before the victim wrote and after; copies of what they wrote are one', async () => {
    const all = (await judgedIn(suites)).filter(({ arrival }) => arrival.bytes.length <= maxBytes)
    const isGenuine = ({ verdict }: { readonly verdict: string }) => verdict.startsWith('ap-')
    const [genuine, forged] = [all.filter(isGenuine), all.filter((each) => !isGenuine(each))]
    expect([forgeries.length > 35, forged.length > 50, genuine.length > 20]).toEqual([true, true, true])
    const attack = async () => {
      for (const [what, arrival, verdict] of forgeries) await expectRefused(what, arrival, verdict === 'dropped')
      for (const { arrival, verdict } of forged) await expectRefused(verdict, arrival, verdict.startsWith('dropped'))
    }
    await attack()
    await expectBooks(0)

    const atBoth = [signCavage(note, victim), signCavage(post(createNote(victim), '/ap/inbox'), victim)]
    expect(await Promise.all([...atBoth, ...atBoth].map(told))).toEqual([202, 202, 202, 202])
    await expectBooks(1)
    for (const { arrival } of genuine) expect(await told(arrival)).toBe(202)
    await expectBooks(2)
    expect((await kept()).map(({ subject }) => subject)).toEqual([victim.id, alice.id])

    await attack()
    for (const arrival of atBoth) expect(await told(arrival)).toBe(202)
    await expectBooks(2)
  })

  test('nobody is somebody else by a document, a redirect or what lies inside', async () => {
    const pem = pemOf(mallory.rsa.key.spki)
    const claiming = (keyId: string) => ({
      id: victim.id,
      type: 'Person',
      preferredUsername: 'victim',
      inbox: `${mallory.id}/inbox`,
      publicKey: { id: keyId, owner: victim.id, publicKeyPem: pem },
    })
    const [fake, upload, away, back] = [
      `https://${evils}/fake`,
      `https://${theirs}/media/upload`,
      `https://${theirs}/away`,
      `https://${evils}/back`,
    ]
    fediverse.put(evils, '/fake', { body: claiming(fake) })
    fediverse.put(theirs, '/media/upload', { body: claiming(upload), type: 'application/json' })
    fediverse.put(theirs, '/media/activity', { body: claiming(`https://${theirs}/media/activity`) })
    fediverse.put(theirs, '/away', { status: 302, location: `${fediverse.origin(evils)}/fake-away` })
    fediverse.put(evils, '/fake-away', { body: claiming(away) })
    fediverse.put(evils, '/back', { status: 302, location: `${fediverse.origin(theirs)}/users/victim` })
    const by = (body: object, keyId = mallory.rsa.key.id) => signCavage(post(body), mallory, { keyId })
    const lie = createNote(victim, {}, { content: 'a lie' })
    for (const keyId of [
      victim.rsa.key.id,
      fake,
      upload,
      `https://${theirs}/media/activity`,
      away,
      `${away}#main-key`,
      back,
    ])
      await expectRefused(keyId, by(lie, keyId))
    const asBack = { id: back }
    await expectRefused('an actor that leads to the victim', by(createNote(asBack), `${back}#main-key`))

    const { object, ...create } = createNote(mallory) as { object: object }
    const inside: readonly (readonly [string, object, boolean?])[] = [
      ['a post of theirs', { ...create, object: { ...object, attributedTo: victim.id } }, true],
      ['a post at their address', { ...create, object: { ...object, id: `${victim.id}/notes/1` } }],
      ['an activity at their address', { ...create, id: `${victim.id}/notes/1/activity`, object }],
      ['an actor that is written out', { ...lie, actor: { ...claiming(mallory.rsa.key.id), id: victim.id } }],
      ['two actors', { ...create, actor: [mallory.id, victim.id], object }],
      ['a change', { ...create, id: `${mallory.id}#u`, type: 'Update', object: (lie as { object: object }).object }],
      ['a deletion', { id: `${mallory.id}#d`, type: 'Delete', actor: mallory.id, object: `${victim.id}/notes/1` }],
      ['a follow', { id: `${victim.id}#f`, type: 'Follow', actor: victim.id, object: us }],
    ]
    for (const [what, body, isDropped] of inside) await expectRefused(what, by(body), isDropped)
    await expectBooks(0)

    // A community that is theirs alone, with words that the victim's server does not know.
    fediverse.put(evils, '/users/mallory', { body: { ...claiming(''), ...groupOf(mallory, pem) } })
    const announce = { id: `${mallory.id}#a`, type: 'Announce', actor: mallory.id, object: lie }
    expect(await told(by(announce))).toBe(202)
    await expectBooks(0, 1)
    expect((await kept())[0]?.reason).toBe('origin_disagrees')
  })

  test('a key that was given up counts no more once its owner wrote with the new one', async () => {
    const numbered = (peer: Peer, at: number) =>
      signCavage(
        post(createNote(peer, { id: `${peer.id}/notes/${at}/activity` }, { id: `${peer.id}/notes/${at}` })),
        peer,
      )
    expect(await told(numbered(victim, 1))).toBe(202)
    const renewed = makePeer(victim.id)
    answers.set(renewed, settlePeer(fediverse, renewed))
    await expectRefused('a new key within the minute', numbered(renewed, 2))
    await pass(120_000)
    expect(await told(numbered(renewed, 2))).toBe(202)
    await expectRefused('the old key', numbered(victim, 3))
    await pass(120_000)
    await expectRefused('the old key, later', numbered(victim, 4))
    await expectBooks(2)
  })
})

const groupOf = ({ id, rsa }: Peer, publicKeyPem: string) => ({
  id,
  type: 'Group',
  preferredUsername: 'mallory',
  inbox: `${id}/inbox`,
  publicKey: { id: rsa.key.id, owner: id, publicKeyPem },
})
