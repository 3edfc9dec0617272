// Our actors as others read them, with another library's eyes.
import { verifyRequest } from '@fedify/fedify'
import { Application, Service } from '@fedify/vocab'
import { getDocumentLoader } from '@fedify/vocab-runtime'
import { beforeEach, describe, expect, test } from 'vitest'
import { readActor } from '../../../../../adapters/activitypub/actors/remote-actors.ts'
import { instanceKeyOwner } from '../../../../../adapters/activitypub/documents/actor-document.ts'
import { createActorKeys } from '../../../../../adapters/activitypub/signatures/own-keys.ts'
import { createGetSigner } from '../../../../../adapters/activitypub/signatures/sign-request.ts'
import type { JsonObject } from '../../../../../src/lib/json-value.ts'
import { createMemoryRecords } from '../../../../../src/testing/memory-records.ts'
import { type DocumentScene, openDocuments, origin } from './documents-setup.ts'

let scene: DocumentScene
beforeEach(() => {
  scene = openDocuments()
})

// Contexts come with the library; anything else would be a request, and there is nobody to answer it.
const preloaded = getDocumentLoader()
const contextLoader = (url: string) => preloaded(url)
const documentLoader = async (url: string) => ({
  documentUrl: url,
  contextUrl: null,
  document: await scene.json(url.replace(origin, '').split('#')[0] ?? ''),
})
const loaders = { contextLoader, documentLoader }

describe('an agent’s document', () => {
  test('is read by another library as what it says', async () => {
    const service = await Service.fromJsonLd(await scene.json('/ap/demo'), loaders)
    expect(service).toBeInstanceOf(Service)
    expect(service.id?.href).toBe(`${origin}/ap/demo`)
    expect([service.inboxId?.href, service.endpoints?.sharedInbox?.href]).toEqual([
      `${origin}/ap/demo/inbox`,
      `${origin}/ap/inbox`,
    ])
    expect(service.preferredUsername).toBe('demo')
    expect(service.summary?.toString()).toBe('<p>Answers &lt;questions&gt;.</p><p>Kindly.</p>')
    expect([service.discoverable, service.indexable, service.manuallyApprovesFollowers]).toEqual([false, false, true])
    expect((await service.getPublicKey(loaders))?.id?.href).toBe(`${origin}/ap/demo#main-key`)
    const algorithms: unknown[] = []
    for await (const { publicKey } of service.getAssertionMethods(loaders)) algorithms.push(publicKey?.algorithm.name)
    expect(algorithms).toEqual(['Ed25519'])
  })

  test('is read by our own reader with both keys', async () => {
    const read = await readActor(await scene.json('/ap/demo'), { origins: [], fetchedAt: '' })
    expect(read?.actor.keys.map(({ id, algorithm }) => [id, algorithm])).toEqual([
      [`${origin}/ap/demo#main-key`, 'rsa'],
      [`${origin}/ap/demo#ed25519-key`, 'ed25519'],
    ])
  })

  test('shows who runs it, as words and links that are nothing else', async () => {
    scene = openDocuments({ operator: 'A <b>co-op</b>', privacyUrl: 'https://example.com/privacy/' })
    expect((await scene.json('/ap/demo'))['attachment']).toEqual([
      { type: 'PropertyValue', name: 'Operator', value: 'A &lt;b&gt;co-op&lt;/b&gt;' },
      {
        type: 'PropertyValue',
        name: 'Privacy',
        value: '<a href="https://example.com/privacy/" rel="nofollow noopener">example.com/privacy</a>',
      },
    ])
  })
})

describe('new keys', () => {
  const keyIds = async () => {
    const { publicKey, assertionMethod } = await scene.json('/ap/demo')
    return { request: (publicKey as JsonObject)['id'], proofs: (assertionMethod as JsonObject[]).map(({ id }) => id) }
  }

  test('have ids of their own; that of requests is one object, and the old one for proofs stays for two days', async () => {
    const before = await scene.keys.of({ name: 'agent:demo', actor: `${origin}/ap/demo` })
    const { effect } = await scene.keys.rotation({ name: 'agent:demo', actor: `${origin}/ap/demo` })
    if (effect.kind === 'put') await scene.records.put(effect.family, effect.key, effect.value)
    const request = `${origin}/ap/demo#main-key-2`
    const proofs = [`${origin}/ap/demo#ed25519-key-2`, `${origin}/ap/demo#ed25519-key`]
    expect(await keyIds()).toEqual({ request, proofs })
    const after = await scene.keys.of({ name: 'agent:demo', actor: `${origin}/ap/demo` })
    expect(after.former?.multibase).toBe(before.ed25519.multibase)
    expect(after.rsa.pem).not.toBe(before.rsa.pem)
    scene.pass(49 * 60 * 60 * 1000)
    expect(await keyIds()).toEqual({ request, proofs: proofs.slice(0, 1) })
  })

  test('are not made where nothing could seal them, and it is said what to do', async () => {
    const unsealed = { keep: async () => undefined }
    const keys = createActorKeys({ ownKeys: unsealed, records: createMemoryRecords(), now: Date.now })
    await expect(keys.of({ name: 'instance', actor: `${origin}/ap/actor` })).rejects.toThrow(/set PARLEY_SEAL_KEY/)
  })
})

describe('the instance', () => {
  test('signs questions that another library can check by its document', async () => {
    const { places, keys } = scene
    expect(await Application.fromJsonLd(await scene.json('/ap/actor'), loaders)).toBeInstanceOf(Application)
    const sign = createGetSigner({ keys, instance: instanceKeyOwner(places), now: Date.now })
    // Without a query: the other library leaves it out of what is signed.
    const url = 'https://social.example/users/alice'
    const headers = { host: 'social.example', ...(await sign(url)) }
    const asked = new Request(url, { headers })
    expect((await verifyRequest(asked, loaders))?.id?.href).toBe(`${origin}/ap/actor#main-key`)
    const elsewhere = new Request('https://social.example/users/bob', { headers })
    expect(await verifyRequest(elsewhere, loaders)).toBeNull()
  })
})
