// An activity from what was kept of it: whose it was is known, or it is nobody's.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { restoreVerifiedActivity } from '../../../../../adapters/activitypub/signatures/verify-activity.ts'
import { aPerson, remoteKeyPair } from '../../../../doubles/fediverse.ts'
import { openRemoteScene, type RemoteScene } from '../actors/remote-setup.ts'

let scene: RemoteScene
let alice: string
beforeEach(async () => {
  scene = await openRemoteScene()
  alice = `${scene.social}/users/alice`
  scene.net.put('social.example.com', '/users/alice', { body: aPerson(alice, (await remoteKeyPair()).pem) })
  await scene.remote.actor(alice)
})
afterEach(() => scene.stop())

const kept = (more: object = {}) => ({
  bytes: new TextEncoder().encode(
    JSON.stringify({ id: `${alice}#1`, type: 'Like', actor: alice, object: alice, ...more }),
  ),
  headers: {},
  receivedAt: '2026-11-17T12:00:00Z',
  from: 'remote' as const,
})
const read = (more?: object, subject: string | null = alice, acceptsProofs = false) =>
  restoreVerifiedActivity({ remote: scene.replica, acceptsProofs }, kept(more), { subject })

test('a stored activity belongs to its known author, without a key that is still remembered', async () => {
  expect(await read()).toMatchObject({ signer: { id: alice }, method: 'ap-http-signature', keyId: undefined })
  expect(scene.net.seen).toHaveLength(1)
})

test('a stored activity has no author once they are not known here any more', async () => {
  scene.pass(25 * 60 * 60 * 1000)
  expect(await read()).toBeUndefined()
  expect(scene.net.seen).toHaveLength(1)
})

test('a stored activity has no author where the row names another one, or none', async () => {
  const mallory = `${scene.social}/users/mallory`
  scene.net.put('social.example.com', '/users/mallory', { body: aPerson(mallory, (await remoteKeyPair()).pem) })
  await scene.remote.actor(mallory)
  expect(await read({}, mallory)).toBeUndefined()
  expect(await read({}, null)).toBeUndefined()
})

test('a stored activity has no author where it may have stood by a proof of its own', async () => {
  expect(await read({ proof: {} }, alice, true)).toBeUndefined()
  expect(await read({ proof: {} }, alice, false)).toMatchObject({ signer: { id: alice } })
})

test('a stored activity is nothing where it is no activity', async () => {
  expect(await read({ type: [] })).toBeUndefined()
})
