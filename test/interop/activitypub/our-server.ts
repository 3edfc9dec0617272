// Where peers find the agent whose requests they judge: its actor document and nothing else.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestKeys, testKeys } from '../../unit/adapters/activitypub/own-keys.ts'

export type OurServer = {
  readonly origin: string
  readonly actor: string
  readonly keys: TestKeys
  readonly document: { readonly [key: string]: unknown }
  stop(): Promise<void>
}

export async function startOurServer(): Promise<OurServer> {
  let document: OurServer['document'] = {}
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/activity+json')
    response.end(JSON.stringify(document))
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const actor = `${origin}/ap/demo`
  const keys = await testKeys(actor)
  const { rsa, ed25519 } = keys
  document = {
    '@context': [
      'https://www.w3.org/ns/activitystreams',
      'https://w3id.org/security/v1',
      'https://w3id.org/security/data-integrity/v1',
      // Without it a reader of JSON-LD does not know `assertionMethod`, and no proof of ours holds.
      'https://www.w3.org/ns/did/v1',
      'https://w3id.org/security/multikey/v1',
    ],
    id: actor,
    type: 'Service',
    preferredUsername: 'demo',
    inbox: `${actor}/inbox`,
    outbox: `${actor}/outbox`,
    followers: `${actor}/followers`,
    publicKey: { id: rsa.id, owner: actor, publicKeyPem: rsa.publicPem },
    assertionMethod: [{ id: ed25519.id, type: 'Multikey', controller: actor, publicKeyMultibase: ed25519.multibase }],
  }
  return {
    origin,
    actor,
    keys,
    document,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
