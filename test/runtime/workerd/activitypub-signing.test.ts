// Signatures and proofs of the fediverse are made with what workerd has: the same bytes verify there.
import { beforeAll, expect, test } from 'vitest'
import { addProof } from '../../../adapters/activitypub/signatures/integrity-proof.ts'
import { encodeUtf8 } from '../../../adapters/activitypub/signatures/key-material.ts'
import { type SignatureScheme, signedHeaders } from '../../../adapters/activitypub/signatures/sign-request.ts'
import { type TestKeys, testKeys } from '../../unit/adapters/activitypub/own-keys.ts'
import { describeInWorkerd } from './harness.ts'

const body = encodeUtf8('{"type":"Create"}')
const nowMs = Date.parse('2026-03-01T10:00:00.000Z')
let keys: TestKeys

const digest = 'JeE18werLvQnEoHViKDam+ZK1D8E27TBC2kIISI7pIY='

async function signed(scheme: SignatureScheme): Promise<Readonly<Record<string, string>>> {
  return signedHeaders({ method: 'POST', url: 'https://social.example/inbox', body, key: keys.rsa, scheme, nowMs })
}

async function verifies(base64: string, lines: readonly string[]): Promise<boolean> {
  const signature = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
  const bytes = new TextEncoder().encode(lines.join('\n'))
  return crypto.subtle.verify('RSASSA-PKCS1-v1_5', keys.rsa.publicKey, signature, bytes)
}

describeInWorkerd('signatures of the fediverse in workerd', () => {
  beforeAll(async () => {
    keys = await testKeys('https://bots.example/ap/demo')
  })

  test('a request of the old form is signed over what its draft says', async () => {
    const { signature = '', date, digest: said } = await signed('cavage')
    const value = /signature="([^"]+)"/.exec(signature)?.[1] ?? ''
    const lines = ['(request-target): post /inbox', 'host: social.example', `date: ${date}`, `digest: ${said}`]
    expect(date).toBe('Sun, 01 Mar 2026 10:00:00 GMT')
    expect(await verifies(value, lines)).toBe(true)
  })

  test('a request of RFC 9421 is signed over what it lists', async () => {
    const headers = await signed('rfc9421')
    const parameters = `("@method" "@target-uri" "content-digest");created=1772359200;keyid="${keys.rsa.id}";alg="rsa-v1_5-sha256"`
    expect(headers['signature-input']).toBe(`sig1=${parameters}`)
    const value = /^sig1=:([^:]+):$/.exec(headers['signature'] ?? '')?.[1] ?? ''
    const lines = ['"@method": POST', '"@target-uri": https://social.example/inbox']
    const rest = [`"content-digest": ${headers['content-digest']}`, `"@signature-params": ${parameters}`]
    expect(await verifies(value, [...lines, ...rest])).toBe(true)
    expect(headers['content-digest']).toBe(`sha-256=:${digest}:`)
  })

  test('a proof is made', async () => {
    const proven = await addProof({ id: 'https://bots.example/1', type: 'Create' }, keys.ed25519, nowMs)
    expect(proven).toMatchObject({
      proof: { cryptosuite: 'eddsa-jcs-2022', proofValue: expect.stringMatching(/^z[1-9A-Za-z]{80,90}$/) },
    })
  })
})
