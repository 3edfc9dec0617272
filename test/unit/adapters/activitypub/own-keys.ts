// Keys of an agent for tests, made once a file: a pair of 2048 bits takes its time.
import type { AgentKeys } from '../../../../adapters/activitypub/deliver/deliver-activity.ts'
import { encodeMultibase } from '../../../../adapters/activitypub/signatures/key-material.ts'
import { encodeBase64 } from '../../../../src/lib/index.ts'

export type TestKeys = AgentKeys & {
  readonly rsa: AgentKeys['rsa'] & { readonly publicPem: string; readonly publicKey: CryptoKey }
  readonly ed25519: NonNullable<AgentKeys['ed25519']> & { readonly multibase: string; readonly publicKey: CryptoKey }
}

export async function testKeys(actor: string): Promise<TestKeys> {
  const rsa = (await crypto.subtle.generateKey(
    {
      name: 'RSASSA-PKCS1-v1_5',
      hash: 'SHA-256',
      modulusLength: 2048,
      publicExponent: new Uint8Array([1, 0, 1]),
    },
    true,
    ['sign', 'verify'],
  )) as CryptoKeyPair
  const ed25519 = (await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify'])) as CryptoKeyPair
  // Only as a JWK it would be something else.
  const spki = encodeBase64((await crypto.subtle.exportKey('spki', rsa.publicKey)) as ArrayBuffer)
  const raw = new Uint8Array((await crypto.subtle.exportKey('raw', ed25519.publicKey)) as ArrayBuffer)
  return {
    rsa: {
      id: `${actor}#main-key`,
      privateKey: rsa.privateKey,
      publicKey: rsa.publicKey,
      publicPem: `-----BEGIN PUBLIC KEY-----\n${spki.match(/.{1,64}/g)?.join('\n')}\n-----END PUBLIC KEY-----\n`,
    },
    ed25519: {
      id: `${actor}#ed25519-key`,
      privateKey: ed25519.privateKey,
      publicKey: ed25519.publicKey,
      multibase: encodeMultibase(new Uint8Array([0xed, 0x01, ...raw])),
    },
  }
}
