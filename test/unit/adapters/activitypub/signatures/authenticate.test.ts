// Who asks, by the signature of the question: the one our own instance makes, and those of others.
import { verify } from 'node:crypto'
import { signRequest } from '@fedify/fedify'
import { beforeAll, expect, test } from 'vitest'
import { readActor } from '../../../../../adapters/activitypub/actors/remote-actors.ts'
import { instanceKeyOwner } from '../../../../../adapters/activitypub/documents/actor-document.ts'
import {
  createRequestSignerLookup,
  type KeySource,
} from '../../../../../adapters/activitypub/signatures/authenticate.ts'
import { createGetSigner } from '../../../../../adapters/activitypub/signatures/sign-request.ts'
import { openDocuments, origin } from '../documents/documents-setup.ts'

const scene = openDocuments()
const owner = instanceKeyOwner(scene.places)
const asker = `${origin}/ap/actor`
const url = `${origin}/ap/demo/notes/n1?a=1`
let keys: KeySource

beforeAll(async () => {
  const read = await readActor(await scene.json('/ap/actor'), { origins: [], fetchedAt: '' })
  const actor = read?.actor ?? expect.unreachable()
  const find: KeySource['find'] = async (keyId) => {
    const key = actor.keys.find(({ id }) => id === keyId)
    return key === undefined ? { kind: 'gone' } : { kind: 'found', key, actor }
  }
  keys = { find, refresh: find }
})

const signerOf = (request: Request, nowMs = Date.now()) =>
  createRequestSignerLookup({ keys, now: () => nowMs, origin })(request)
const sign = (at: string) => createGetSigner({ keys: scene.keys, instance: owner, now: Date.now })(at)

test('the reader of a document is who signed the request', async () => {
  expect(await signerOf(new Request(url, { headers: await sign(url) }))).toBe(asker)
})

test('the reader of a document is unknown without a signature, with one for another address, or with an old one', async () => {
  const headers = await sign(url)
  expect(await signerOf(new Request(url))).toBeUndefined()
  expect(await signerOf(new Request(`${origin}/ap/demo/notes/n2`, { headers }))).toBeUndefined()
  expect(await signerOf(new Request(url, { headers }), Date.now() + 3 * 60 * 60 * 1000)).toBeUndefined()
  expect(await signerOf(new Request(url, { headers: { ...headers, signature: 'rubbish' } }))).toBeUndefined()
})

test('a signed fetch covers the whole address, the query included', async () => {
  const { date = '', signature = '' } = await sign(url)
  const { rsa } = await scene.keys.of(owner)
  const text = `(request-target): get /ap/demo/notes/n1?a=1\nhost: agents.example.com\ndate: ${date}`
  const bytes = Buffer.from(/signature="([^"]+)"/.exec(signature)?.[1] ?? '', 'base64')
  expect(verify('sha256', Buffer.from(text), rsa.pem, bytes)).toBe(true)
})

test('the reader of a document is unknown where two signatures could be meant', async () => {
  const { rsa } = await scene.keys.of(owner)
  const signed = await signRequest(new Request(`${origin}/ap/demo`), rsa.privateKey, new URL(rsa.id), {
    spec: 'rfc9421',
  })
  const headers = new Headers(signed.headers)
  for (const name of ['signature', 'signature-input']) {
    const one = headers.get(name) ?? ''
    headers.set(name, `${one}, ${one.replace(/^[a-z0-9]+=/, 'another=')}`)
  }
  expect(await signerOf(signed)).toBe(asker)
  expect(await signerOf(new Request(signed.url, { headers }))).toBeUndefined()
})

test('the reader of a document is unknown where the key belongs to another actor, or is not there', async () => {
  const { signature = '', ...rest } = await sign(url)
  const gone = signature.replace('#main-key', '#other-key')
  expect(await signerOf(new Request(url, { headers: { ...rest, signature: gone } }))).toBeUndefined()
  const otherKey = signature.replace('#main-key', '#ed25519-key')
  expect(await signerOf(new Request(url, { headers: { ...rest, signature: otherKey } }))).toBeUndefined()
})

test.each(['rfc9421', 'draft-cavage-http-signatures-12'] as const)(
  'the reader of a document is who signed with another library, by %s',
  async (spec) => {
    const plain = `${origin}/ap/demo/notes/n1`
    const { rsa } = await scene.keys.of(owner)
    const signed = await signRequest(new Request(plain), rsa.privateKey, new URL(rsa.id), { spec })
    expect(await signerOf(signed)).toBe(asker)
  },
)
