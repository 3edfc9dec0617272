// Somebody mentions an agent from another server, and the answer is in their inbox: over real HTTP, signed on both sides.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { nameStatement } from '../../src/db/client.ts'
import { type Fediverse, startFediverse } from '../doubles/fediverse.ts'
import {
  echo,
  type FediverseGateway,
  type FediverseOptions,
  startFediverseGateway,
} from '../doubles/fediverse-gateway.ts'
import { aMention, everybody, isSignedBy, type Person, settlePerson } from '../doubles/fediverse-person.ts'
import { settleUntil } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const social = 'social.localhost'

describeOnDatabase('the fediverse', (database) => {
  let fediverse: Fediverse
  let bot: FediverseGateway | undefined
  let alice: Person
  beforeEach(async () => {
    fediverse = await startFediverse()
    alice = settlePerson(fediverse, social)
  })
  afterEach(async () => {
    await bot?.stop()
    bot = undefined
    await fediverse.stop()
  })
  const start = async (options: Partial<FediverseOptions> = {}): Promise<FediverseGateway> => {
    bot = await startFediverseGateway(database(), fediverse, { hosts: [social], ...options })
    return bot
  }

  test('a mention is answered, in its thread, to whoever wrote it, signed by the agent', async () => {
    const { gateway, inbox, actor, document } = await start()
    const mention = aMention(alice, actor('demo'), 'what is the time?')
    expect(await alice.post(inbox('demo'), mention)).toBe(202)
    await settleUntil(gateway, () => alice.received.length > 0)
    const [delivered] = alice.received
    expect(delivered?.body).toMatchObject({
      type: 'Create',
      actor: actor('demo'),
      cc: [everybody],
      object: {
        type: 'Note',
        attributedTo: actor('demo'),
        inReplyTo: mention.object.id,
        tag: [{ type: 'Mention', href: alice.id }],
        content: expect.stringContaining('heard: what is the time?'),
      },
    })
    expect(delivered?.body.object.to).toContain(alice.id)
    const { body } = await document(actor('demo'))
    const { publicKeyPem } = body['publicKey'] as { publicKeyPem: string }
    expect(delivered !== undefined && isSignedBy(delivered, publicKeyPem)).toBe(true)
    expect((await document(delivered?.body.object.id)).body).toMatchObject({ inReplyTo: mention.object.id })
  })

  test('AP-066 what comes to two inboxes and to that of all is answered once by each agent', async () => {
    const helper = defineAgent({ slug: 'helper', run: () => 'helped' })
    const { gateway, inbox, actor, sharedInbox } = await start({ agents: [echo, helper] })
    const [us, sibling] = [actor('demo'), actor('helper')]
    const tag = [us, sibling].map((href) => ({ type: 'Mention', href, name: '@somebody' }))
    const mention = aMention(alice, us, 'both of you?', { cc: [us, sibling], tag })
    for (const to of [inbox('demo'), inbox('helper'), sharedInbox]) expect(await alice.post(to, mention)).toBe(202)
    await settleUntil(gateway, () => alice.received.length >= 2)
    await gateway.settle()
    expect(alice.received.map(({ body }) => body.actor).toSorted()).toEqual([us, sibling])
  })

  test('AP-131 a direct note is answered to those it was for and to nobody else', async () => {
    const bob = settlePerson(fediverse, 'other.localhost', 'bob')
    const { gateway, inbox, actor } = await start({ hosts: [social, 'other.localhost'] })
    const tag = [actor('demo'), bob.id].map((href) => ({
      type: 'Mention',
      href,
      name: `@${href.split('/').at(-1)}@x.example`,
    }))
    const note = aMention(alice, actor('demo'), 'between us', { to: [actor('demo'), bob.id], cc: [], tag })
    expect(await alice.post(inbox('demo'), note)).toBe(202)
    await settleUntil(gateway, () => alice.received.length > 0 && bob.received.length > 0)
    for (const { path, text } of [...alice.received, ...bob.received]) {
      expect(path).toMatch(/^\/users\//)
      expect(text).not.toContain(everybody)
    }
  })

  test('AP-099 whoever answers us goes on with it; a stranger who names the thread begins another', async () => {
    const heard: number[] = []
    const counting = defineAgent({
      slug: 'demo',
      run({ history = [] }) {
        // What the agent said in public anybody may read; it is no part of the conversation.
        heard.push(history.filter(({ ambient }) => ambient !== true).length)
        return `answer ${heard.length}`
      },
    })
    const mallory = settlePerson(fediverse, 'other.localhost', 'mallory')
    const { gateway, inbox, actor } = await start({ agents: [counting], hosts: [social, 'other.localhost'] })
    const context = 'tag:social.example,2026:private'
    await alice.post(inbox('demo'), aMention(alice, actor('demo'), 'my secret', { conversation: context }))
    await settleUntil(gateway, () => alice.received.length === 1)
    const inReplyTo = alice.received[0]?.body.object.id
    await alice.post(inbox('demo'), aMention(alice, actor('demo'), 'and more', { inReplyTo }))
    await settleUntil(gateway, () => alice.received.length === 2)
    await mallory.post(
      inbox('demo'),
      aMention(mallory, actor('demo'), 'what was it?', { inReplyTo, conversation: context }),
    )
    await settleUntil(gateway, () => mallory.received.length > 0)
    expect(heard).toEqual([0, 2, 0])
  })

  test('AP-102 AP-103 a change before the answer counts, a change after it asks nothing, a deletion erases', async () => {
    const said: string[] = []
    const listening = defineAgent({
      slug: 'demo',
      run({ parts }) {
        said.push(JSON.stringify(parts))
        return 'yes'
      },
    })
    const { gateway, inbox, actor } = await start({ agents: [listening] })
    const mention = aMention(alice, actor('demo'), 'one')
    const changed = (words: string, at: string) => ({
      ...mention,
      id: `${mention.id}#${at}`,
      type: 'Update',
      object: { ...mention.object, content: `<p>${words}</p>`, updated: `2030-01-01T00:00:${at}Z` },
    })
    await alice.post(inbox('demo'), mention)
    await alice.post(inbox('demo'), changed('two', '01'))
    await settleUntil(gateway, () => alice.received.length === 1)
    await alice.post(inbox('demo'), changed('three', '02'))
    await gateway.settle()
    expect(said).toEqual([expect.stringContaining('two')])
    const gone = { '@context': mention['@context'], id: `${mention.id}#delete`, type: 'Delete', actor: alice.id }
    expect(await alice.post(inbox('demo'), { ...gone, object: { id: mention.object.id, type: 'Tombstone' } })).toBe(202)
    await gateway.settle()
    const kept = await database().query(nameStatement('test_kept', 'select to_jsonb(m) from messages m'), [])
    expect(JSON.stringify(kept)).not.toMatch(/\btwo\b|\bthree\b/)
    // What was taken back stays so, whatever comes late.
    const early = aMention(alice, actor('demo'), 'never')
    await alice.post(inbox('demo'), { ...gone, id: `${early.id}#delete`, object: early.object.id })
    await gateway.settle()
    await alice.post(inbox('demo'), early)
    await gateway.settle()
    expect(said).toHaveLength(1)
  })

  test('AP-109 AP-110 a follow is accepted and known once, and can be undone by its address', async () => {
    const { gateway, inbox, actor, document } = await start()
    const follow = {
      '@context': 'https://www.w3.org/ns/activitystreams',
      id: `${alice.id}#follow/1`,
      type: 'Follow',
      actor: alice.id,
      object: actor('demo'),
    }
    const followers = async () => (await document(`${actor('demo')}/followers`)).body['totalItems']
    for (const again of [1, 2]) expect(await alice.post(inbox('demo'), follow), String(again)).toBe(202)
    await settleUntil(gateway, () => alice.received.length > 0)
    expect(alice.received.map(({ body }) => body)).toEqual([
      expect.objectContaining({
        type: 'Accept',
        actor: actor('demo'),
        object: { id: follow.id, type: 'Follow', actor: alice.id, object: actor('demo') },
      }),
    ])
    expect(await followers()).toBe(1)
    await alice.post(inbox('demo'), { ...follow, id: `${alice.id}#undo/1`, type: 'Undo', object: follow.id })
    expect(await followers()).toBe(0)
  })

  test('AP-108 whoever blocks an agent gets nothing more from it, until they undo it', async () => {
    const { gateway, inbox, actor } = await start()
    const block = { id: `${alice.id}#block/1`, type: 'Block', actor: alice.id, object: actor('demo') }
    // Not 503: after five of those in a row its server is left alone for minutes.
    alice.answer(429)
    await alice.post(inbox('demo'), aMention(alice, actor('demo'), 'hello'))
    await settleUntil(gateway, () => alice.received.length > 0)
    await alice.post(inbox('demo'), block)
    alice.answer(202)
    const before = alice.received.length
    await alice.post(inbox('demo'), aMention(alice, actor('demo'), 'hello again'))
    await gateway.settle()
    expect(alice.received).toHaveLength(before)
    await alice.post(inbox('demo'), { id: `${alice.id}#undo/2`, type: 'Undo', actor: alice.id, object: block })
    await alice.post(inbox('demo'), aMention(alice, actor('demo'), 'once more'))
    await settleUntil(gateway, () => alice.received.length > before)
    expect(alice.received.at(-1)?.text).toContain('once more')
  })

  test('AP-067 AP-111 servers that are blocked, too busy or machines get no answer', async () => {
    const robot = settlePerson(fediverse, social, 'robot', { type: 'Service' })
    const mallory = settlePerson(fediverse, 'bad.localhost', 'mallory')
    const settings = { block: ['bad.localhost'], hostLimit: { count: 2, perMs: 600_000 } }
    const { gateway, inbox, actor } = await start({ hosts: [social, 'bad.localhost'], settings })
    expect(await mallory.post(inbox('demo'), aMention(mallory, actor('demo'), 'hi'))).toBe(403)
    expect(fediverse.seen).toEqual([])
    // Whoever only names a server uses up nothing of it.
    const forged = aMention(alice, actor('demo'), 'not mine')
    for (const _ of [1, 2, 3]) expect(await robot.post(inbox('demo'), forged)).toBe(401)
    expect(await robot.post(inbox('demo'), aMention(robot, actor('demo'), 'beep'))).toBe(202)
    expect(await alice.post(inbox('demo'), { ...aMention(alice, actor('demo'), 'x'), type: 'Like' })).toBe(202)
    expect(await alice.post(inbox('demo'), aMention(alice, actor('demo'), 'y'))).toBe(429)
    await gateway.settle()
    expect([...robot.received, ...alice.received]).toEqual([])
  })

  test('AP-065 a hundred copies at once are one message and one answer', async () => {
    const { gateway, inbox, sharedInbox, actor } = await start({
      settings: { hostLimit: { count: 1000, perMs: 60_000 } },
    })
    const mention = aMention(alice, actor('demo'), 'only once')
    const copies = Array.from({ length: 100 }, (_, at) =>
      alice.post(at % 2 === 0 ? inbox('demo') : sharedInbox, mention),
    )
    expect(new Set(await Promise.all(copies))).toEqual(new Set([202]))
    await settleUntil(gateway, () => alice.received.length > 0)
    await gateway.settle()
    expect(alice.received).toHaveLength(1)
  })

  test('AP-044 whoever says that somebody is gone is believed only when their own server says so', async () => {
    const { inbox, actor, document } = await start()
    const activity = { '@context': 'https://www.w3.org/ns/activitystreams', actor: alice.id }
    await alice.post(inbox('demo'), { ...activity, id: `${alice.id}#follow/1`, type: 'Follow', object: actor('demo') })
    const followers = async () => (await document(`${actor('demo')}/followers`)).body['totalItems']
    const gone = { ...activity, id: `${alice.id}#gone`, type: 'Delete', object: alice.id }
    const elsewhere = `keyId="${alice.id.replace('alice', 'nobody')}#main-key",headers="(request-target) host date digest",signature="AAAA"`
    expect(await alice.send(inbox('demo'), Buffer.from(JSON.stringify(gone)), { signature: elsewhere })).toBeLessThan(
      500,
    )
    expect(await followers()).toBe(1)
    expect(await alice.post(inbox('demo'), gone)).toBe(202)
    expect(await followers()).toBe(0)
  })
})
