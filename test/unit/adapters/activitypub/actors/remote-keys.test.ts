// Keys of others: whose they are, how often they are asked for, and who is believed.
import { importMultibaseKey } from '@fedify/vocab-runtime'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { aPerson, pemOf, remoteKeyPair } from '../../../../doubles/fediverse.ts'
import { openRemoteScene, type RemoteScene } from './remote-setup.ts'

let scene: RemoteScene
let keys: readonly Awaited<ReturnType<typeof remoteKeyPair>>[]

beforeAll(async () => {
  keys = [await remoteKeyPair(), await remoteKeyPair()]
})
beforeEach(async () => {
  scene = await openRemoteScene()
})
afterEach(() => scene.stop())

const pem = (at = 0): string => keys[at]?.pem ?? ''
const spki = (at = 0): string => keys[at]?.spki ?? ''

function putAlice(at = 0, more = {}): { readonly id: string; readonly keyId: string } {
  const id = `${scene.social}/users/alice`
  scene.net.put('social.example.com', '/users/alice', { body: aPerson(id, pem(at), more) })
  return { id, keyId: `${id}#main-key` }
}

/** Of the specification of eddsa-jcs-2022. */
const multibase = 'z6MkrJVnaZkeFzdQyMZu1cgjg7k1pZZ6pvBQ7XJPt4swbTQ2'

describe('a key of somebody elsewhere', () => {
  test('is found in the document of its owner, which is asked for once', async () => {
    const { id, keyId } = putAlice()
    const found = await scene.remote.keys.find(keyId)
    expect(found).toMatchObject({
      kind: 'found',
      key: { id: keyId, owner: id, algorithm: 'rsa', spki: spki() },
      actor: { id, type: 'Person', handle: `@alice@${new URL(id).host}`, isHandleConfirmed: false, name: 'Alice' },
    })
    expect(await scene.remote.keys.find(keyId)).toEqual(found)
    expect(await scene.replica.keys.find(keyId)).toEqual(found)
    expect(await scene.remote.actor(id)).toMatchObject({ kind: 'found', actor: { id } })
    expect(scene.net.seen).toEqual(['social.example.com /users/alice'])
  })

  test('is found although somebody had us ask for a post of its name, and for the name of its owner', async () => {
    const { id, keyId } = putAlice()
    expect(await scene.remote.post(keyId)).toMatchObject({ kind: 'refused', reason: 'wrong_id' })
    expect(await scene.remote.keys.find(keyId)).toMatchObject({ kind: 'found', key: { owner: id } })
    const post = `${scene.social}/notes/1`
    scene.net.put('social.example.com', '/notes/1', { body: { id: post, type: 'Note' } })
    expect(await scene.remote.keys.find(post)).toMatchObject({ kind: 'refused' })
    expect(await scene.remote.post(post)).toMatchObject({ kind: 'found' })
  })

  test('is asked for once by many at the same time', async () => {
    const { keyId } = putAlice()
    const found = await Promise.all(Array.from({ length: 20 }, () => scene.remote.keys.find(keyId)))
    expect(found.map(({ kind }) => kind)).toEqual(new Array(20).fill('found'))
    expect(scene.net.seen).toHaveLength(1)
  })

  test('is meant by the name of its owner where it is the only one, and by nothing where there are two', async () => {
    const { id, keyId } = putAlice()
    expect(await scene.remote.keys.find(id)).toMatchObject({ kind: 'found', key: { id: keyId, spki: spki() } })
    expect(await scene.remote.keys.find(id)).toMatchObject({ kind: 'found', key: { id: keyId } })
    expect(scene.net.seen).toHaveLength(1)
    const other = `${scene.social}/users/bob`
    const listed = [0, 1].map((at) => ({ id: `${other}#key-${at}`, owner: other, publicKeyPem: pem(at) }))
    scene.net.put('social.example.com', '/users/bob', { body: { ...aPerson(other, ''), publicKey: listed } })
    expect(await scene.remote.keys.find(other)).toEqual({ kind: 'refused', reason: 'key_not_listed' })
  })

  test('that lies alone is believed only where its owner lists it', async () => {
    const id = `${scene.social}/users/bob`
    const keyId = `${id}/main-key`
    const key = { id: keyId, owner: id, publicKeyPem: pem() }
    scene.net.put('social.example.com', '/users/bob/main-key', { body: { ...key, type: 'Key' } })
    scene.net.put('social.example.com', '/users/bob', { body: aPerson(id, pem(1)) })
    expect(await scene.remote.keys.find(keyId)).toEqual({ kind: 'refused', reason: 'key_not_listed' })
    scene.pass(6 * 60 * 1000)
    scene.net.put('social.example.com', '/users/bob', { body: { ...aPerson(id, ''), publicKey: keyId } })
    expect(await scene.remote.keys.find(keyId)).toMatchObject({ kind: 'found', key: { spki: spki(), owner: id } })
  })

  test('that names another owner than whoever lists it is nobody’s', async () => {
    const { id, keyId } = putAlice(0, {
      publicKey: {
        id: `${scene.social}/users/alice#main-key`,
        owner: `${scene.social}/users/bob`,
        publicKeyPem: pem(),
      },
    })
    expect(await scene.remote.keys.find(keyId)).toEqual({ kind: 'refused', reason: 'key_not_listed' })
    expect(await scene.remote.actor(id)).toMatchObject({ kind: 'found', actor: { keys: [] } })
  })

  test('of Ed25519 is read from a Multikey and from a PEM', async () => {
    const id = `${scene.social}/users/alice`
    putAlice(0, {
      assertionMethod: [
        {
          id: `${id}#ed25519-key`,
          type: 'Multikey',
          controller: id,
          publicKeyMultibase: multibase,
        },
      ],
    })
    // Another library's reading of the same key.
    const other = await crypto.subtle.exportKey('spki', await importMultibaseKey(multibase))
    const spki = Buffer.from(other).toString('base64')
    const read = { algorithm: 'ed25519', owner: id, spki }
    expect(await scene.remote.keys.find(`${id}#ed25519-key`)).toMatchObject({ kind: 'found', key: read })
    scene.pass(61_000)
    putAlice(0, { publicKey: { id: `${id}#main-key`, owner: id, publicKeyPem: pemOf(spki) } })
    expect(await scene.remote.keys.refresh(`${id}#main-key`)).toMatchObject({ kind: 'found', key: read })
  })

  test('that no signature could be checked with is not listed, and breaks nothing', async () => {
    const { id } = putAlice(0, { publicKey: [{ id: 'x', publicKeyPem: 'rubbish' }, 7, null, { id: {} }] })
    expect(await scene.remote.actor(id)).toMatchObject({ kind: 'found', actor: { keys: [] } })
  })
})

describe('a server that hides from strangers', () => {
  test('is asked again with the signature of our instance, and with it at once from then on', async () => {
    const id = `${scene.social}/users/alice`
    for (const path of ['/users/alice', '/users/bob'])
      scene.net.put('social.example.com', path, {
        by(request, response) {
          const isSigned = request.headers['signature'] === 'by-our-instance'
          response.writeHead(isSigned ? 200 : 401, { 'content-type': 'application/activity+json' })
          response.end(isSigned ? JSON.stringify(aPerson(`${scene.social}${path}`, pem())) : '')
        },
      })
    expect(await scene.remote.keys.find(`${id}#main-key`)).toMatchObject({ kind: 'found' })
    expect(await scene.remote.actor(`${scene.social}/users/bob`)).toMatchObject({ kind: 'found' })
    expect(scene.net.seen.map((at) => at.split(' ')[1])).toEqual(['/users/alice', '/users/alice', '/users/bob'])
    expect(scene.signed).toEqual([id, `${scene.social}/users/bob`])
    const bob = await scene.remote.actor(`${scene.social}/users/bob`)
    if (bob.kind === 'found') await scene.remote.handle(bob.actor)
    expect(scene.net.seen.at(-1)).toContain('/.well-known/webfinger')
    expect(scene.signed).toHaveLength(2)
  })
})
