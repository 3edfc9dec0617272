// Replies of ours at servers nobody here wrote: one that reads only the old signatures, and a modern one (AP-137, AP-142).
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { DeliverDeps } from '../../../adapters/activitypub/deliver/deliver-activity.ts'
import { createRecipientExpander } from '../../../adapters/activitypub/deliver/expand-recipients.ts'
import type { InboxCall } from '../../../adapters/activitypub/wire/delivery.ts'
import type { RenderedCall } from '../../../src/contract/index.ts'
import { type DeliveryScene, deliveryScene } from '../../unit/adapters/activitypub/deliver/delivery-setup.ts'
import { drafts, home, replyTo, saying } from '../../unit/adapters/activitypub/render/reply-setup.ts'
import { describeBeside } from '../peer.ts'
import { type OurServer, startOurServer } from './our-server.ts'
import { findServer, type ServerPeer } from './peers.ts'

const apex = await findServer('./apex-server.mjs', 'activitypub-express', '/u/alice')
const fedify = await findServer('./fedify-server.mjs', '@fedify/fedify', '/users/bob')

let ours: OurServer
beforeAll(async () => {
  ours = await startOurServer()
})
afterAll(() => ours.stop())

type Answer = { readonly scene: DeliveryScene; readonly calls: readonly RenderedCall[] }

/** What the agent answers to somebody at the peer, queued as the gateway queues it; at the real time, because the peers look at theirs. */
async function answerTo(peer: ServerPeer, user: string, changes: Partial<DeliverDeps> = {}): Promise<Answer> {
  const scene = deliveryScene(ours.keys, [peer.origin], { origin: ours.origin, now: Date.now, ...changes })
  const expand = createRecipientExpander({
    origin: ours.origin,
    records: scene.records,
    now: Date.now,
    newId: () => crypto.randomUUID(),
  })
  const actor = `${peer.origin}/${user}`
  const to = replyTo({
    actor,
    inbox: `${actor}/inbox`,
    shared_inbox: null,
    handle: `@${user.split('/')[1]}@${new URL(peer.origin).host}`,
    visibility: 'direct',
    reply_to_object: `${peer.origin}/o/1`,
    reply_to_context: null,
    reply_to_conversation: null,
  })
  const settings = { ...home, origin: ours.origin }
  const calls = await expand(
    drafts(saying('Hello, **you**'), to, { settings }).map((call) => ({ call, primary: true })),
  )
  return { scene, calls }
}

const callOf = ({ calls }: Answer) => calls[0]?.call as InboxCall
const rfc9421 = { scheme: 'rfc9421', failures: 0, restsUntil: 0 }
const expectRfc9421 = ({ scene }: Answer, peer: ServerPeer) =>
  scene.notes.keep({ family: 'activitypub_host', key: peer.origin, value: rfc9421, lifeMs: 3_600_000 })

describeBeside('activitypub-express', apex, (start) => {
  let peer: ServerPeer
  beforeAll(async () => {
    peer = await start()()
    return () => peer.stop()
  })
  beforeEach(() => peer.forget())

  test('AP-142: takes our reply, and knows whom it is from', async () => {
    const answer = await answerTo(peer, 'u/alice')
    expect(await answer.scene.deliver(callOf(answer))).toMatchObject({ kind: 'delivered' })
    const { told, statuses } = await peer.toldOf(1)
    expect(statuses).toEqual([200])
    expect(told).toMatchObject([
      { type: 'Create', actor: ours.actor, object: { type: 'Note' }, recipient: `${peer.origin}/u/alice` },
    ])
  })

  test('AP-137: falls over RFC 9421, is asked in the old form, and is asked so the next time', async () => {
    const answer = await answerTo(peer, 'u/alice')
    await expectRfc9421(answer, peer)
    expect(await answer.scene.deliver(callOf(answer))).toMatchObject({ kind: 'delivered' })
    expect((await peer.toldOf(1)).statuses).toEqual([500, 200])
    const next = await answerTo(peer, 'u/alice', { ttlStore: answer.scene.notes })
    expect(await next.scene.deliver(callOf(next))).toMatchObject({ kind: 'delivered' })
    expect((await peer.toldOf(2)).statuses).toEqual([500, 200, 200])
  })

  test('does not take what somebody else signed', async () => {
    const other = await startOurServer()
    const forged = { ...ours.keys, rsa: { ...other.keys.rsa, id: ours.keys.rsa.id } }
    const answer = await answerTo(peer, 'u/alice', { ownKeysOf: async () => forged })
    expect(await answer.scene.deliver(callOf(answer))).toMatchObject({ kind: 'refused' })
    expect((await peer.told()).told).toEqual([])
    await other.stop()
  })
})

describeBeside('a Fedify server', fedify, (start) => {
  let peer: ServerPeer
  beforeAll(async () => {
    peer = await start()()
    return () => peer.stop()
  })
  beforeEach(() => peer.forget())
  // Where there is a proof inside it, Fedify does not look at the signature.
  const unproven = (): Partial<DeliverDeps> => ({ ownKeysOf: async () => ({ rsa: ours.keys.rsa }) })
  const said = () => ({
    type: 'Create',
    actor: ours.actor,
    tags: [`${peer.origin}/users/bob`],
    inReplyTo: `${peer.origin}/o/1`,
  })

  test.each(['cavage', 'rfc9421'] as const)('AP-142: takes our reply signed by %s at once', async (scheme) => {
    const answer = await answerTo(peer, 'users/bob', unproven())
    if (scheme === 'rfc9421') await expectRfc9421(answer, peer)
    expect(await answer.scene.deliver(callOf(answer))).toMatchObject({ kind: 'delivered' })
    const { told, statuses } = await peer.toldOf(1)
    expect(statuses).toEqual([202])
    expect(told).toMatchObject([said()])
  })

  test('takes our reply for the proof inside it, whoever brings it', async () => {
    const other = await startOurServer()
    const keys = { ed25519: ours.keys.ed25519, rsa: other.keys.rsa }
    const answer = await answerTo(peer, 'users/bob', { ownKeysOf: async () => keys })
    expect(await answer.scene.deliver(callOf(answer))).toMatchObject({ kind: 'delivered' })
    expect((await peer.toldOf(1)).told).toMatchObject([said()])
    await other.stop()
  })

  test('AP-140: is told when a note is taken back', async () => {
    const answer = await answerTo(peer, 'users/bob')
    const outcome = await answer.scene.deliver(callOf(answer))
    const id = outcome.kind === 'delivered' ? (outcome.vendorId ?? '') : ''
    const { sends } = await answer.scene.operate('posts.delete', { id })
    expect(await answer.scene.deliver(sends[0]?.call as InboxCall)).toMatchObject({ kind: 'delivered' })
    expect((await peer.toldOf(2)).told.at(-1)).toMatchObject({ type: 'Delete', object: id, isTombstone: true })
  })
})
