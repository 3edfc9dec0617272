// Requests and proofs signed by a library that others run: what it sends, the gate lets in, and what it lets in, the gate may not.
import { generateCryptoKeyPair, signObject, signRequest } from '@fedify/fedify/sig'
import { Create, Note } from '@fedify/vocab'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  createSignatureVerifier,
  type SignatureVerifierDeps,
} from '../../../../../adapters/activitypub/signatures/verify-activity.ts'
import type { RemoteKey } from '../../../../../adapters/activitypub/wire/activity.ts'
import { actorOf, createNote, keySource, ourOrigin, post } from '../../../../doubles/activitypub-peer.ts'

const alice = 'https://remote.example/users/alice'
let rsa: CryptoKeyPair
let ed25519: CryptoKeyPair
let keys: readonly RemoteKey[]

async function remoteKey(pair: CryptoKeyPair, name: string, algorithm: RemoteKey['algorithm']): Promise<RemoteKey> {
  const spki = Buffer.from(await crypto.subtle.exportKey('spki', pair.publicKey)).toString('base64')
  return { id: `${alice}#${name}`, owner: alice, algorithm, spki }
}

beforeAll(async () => {
  rsa = await generateCryptoKeyPair('RSASSA-PKCS1-v1_5')
  ed25519 = await generateCryptoKeyPair('Ed25519')
  keys = [await remoteKey(rsa, 'main-key', 'rsa'), await remoteKey(ed25519, 'ed25519-key', 'ed25519')]
})

async function judged(request: Request, more: Partial<SignatureVerifierDeps> = {}) {
  const source = keySource([])
  for (const key of keys) source.answers.set(key.id, { kind: 'found', key, actor: actorOf(alice, keys) })
  const gate = createSignatureVerifier({ keys: source, now: () => Date.now(), origin: ourOrigin, ...more })
  const { pathname, search } = new URL(request.url)
  const verdict = await gate.open({
    bytes: new Uint8Array(await request.arrayBuffer()),
    headers: { ...Object.fromEntries(request.headers), ':path': pathname + search },
    receivedAt: new Date().toISOString(),
    from: 'remote',
  })
  return verdict.kind === 'genuine' ? [verdict.payload.method, verdict.payload.keyId] : verdict
}

const requestOf = (body: object) =>
  new Request(`${ourOrigin}/ap/concierge/inbox`, {
    method: 'POST',
    headers: { 'content-type': 'application/activity+json' },
    body: Buffer.from(post(body).bytes),
  })

describe('signed by Fedify', () => {
  test.each(['draft-cavage-http-signatures-12', 'rfc9421'] as const)('%s is let in', async (spec) => {
    const request = await signRequest(
      requestOf(createNote({ id: alice })),
      rsa.privateKey,
      new URL(`${alice}#main-key`),
      {
        spec,
      },
    )
    expect(await judged(request)).toEqual(['ap-http-signature', `${alice}#main-key`])
  })

  test('a proof in the activity is let in where proofs may stand alone', async () => {
    const note = new Note({ id: new URL(`${alice}/1`), attribution: new URL(alice), content: 'Hello' })
    const create = new Create({ id: new URL(`${alice}/1#create`), actor: new URL(alice), object: note })
    const signed = await signObject(create, ed25519.privateKey, new URL(`${alice}#ed25519-key`))
    const document = (await signed.toJsonLd()) as Record<string, unknown>
    const accepts = { acceptsProofs: true }
    expect(await judged(requestOf(document), accepts)).toEqual(['ap-object-integrity-proof', `${alice}#ed25519-key`])
    expect(await judged(requestOf({ ...document, summary: 'more' }), accepts)).toMatchObject({
      reason: 'wrong_signature',
    })
  })
})
