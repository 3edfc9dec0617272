// A card is trusted when an issuer the operator named has signed it, in either reading of the section on signing (CD-11 to CD-13).
import { exportJWK, FlattenedSign, generateKeyPair, type JWK } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import { hasTrustedCardSignature } from '../../../../../adapters/a2a/protocol/card-signature.ts'
import type { Fields } from '../../../../../src/lib/json-value.ts'

const card: Fields = {
  version: '1',
  name: 'Peer é\u2028',
  skills: [],
  description: '',
  nested: { b: 1, a: [1.0, 'x'] },
}
const asItStands = '{"description":"","name":"Peer é\u2028","nested":{"a":[1,"x"],"b":1},"skills":[],"version":"1"}'
const withoutEmpty = '{"name":"Peer é\u2028","nested":{"a":[1,"x"],"b":1},"version":"1"}'

describe('a signed card', () => {
  let keys: Awaited<ReturnType<typeof generateKeyPair>>
  let jwk: JWK
  beforeAll(async () => {
    keys = await generateKeyPair('ES256', { extractable: true })
    jwk = { ...(await exportJWK(keys.publicKey)), kid: 'k1', alg: 'ES256' }
  })
  const signed = async (text: string, header: object = {}) => {
    const jws = await new FlattenedSign(new TextEncoder().encode(text))
      .setProtectedHeader({ alg: 'ES256', kid: 'k1', typ: 'JOSE', ...header })
      .sign(keys.privateKey)
    return { ...card, signatures: [{ protected: jws.protected, signature: jws.signature }] }
  }
  const noKeys = () => Promise.reject(new Error('nobody may be asked for keys'))

  test.each([
    ['as it stands', asItStands],
    ['without what is empty', withoutEmpty],
  ])('is believed %s', async (_name, text) => {
    expect(await hasTrustedCardSignature(await signed(text), { keys: [jwk] }, noKeys)).toBe(true)
  })

  test('is not believed when a word was changed, when another signed it, or when nobody did', async () => {
    const good = await signed(asItStands)
    expect(await hasTrustedCardSignature({ ...good, version: '2' }, { keys: [jwk] }, noKeys)).toBe(false)
    const other = { ...(await exportJWK((await generateKeyPair('ES256', { extractable: true })).publicKey)), kid: 'k1' }
    expect(await hasTrustedCardSignature(good, { keys: [other] }, noKeys)).toBe(false)
    expect(await hasTrustedCardSignature(good, { keys: [{ ...jwk, kid: 'k2' }] }, noKeys)).toBe(false)
    expect(await hasTrustedCardSignature(card, { keys: [jwk] }, noKeys)).toBe(false)
    expect(await hasTrustedCardSignature({ ...card, signatures: 'x' }, { keys: [jwk] }, noKeys)).toBe(false)
  })

  test('has its keys fetched from an origin that was named, and from no other', async () => {
    const asked: string[] = []
    const readKeys = async (url: string) => {
      asked.push(url)
      return { keys: [jwk] }
    }
    const trust = { keyOrigins: ['https://keys.example.org'] }
    expect(
      await hasTrustedCardSignature(
        await signed(asItStands, { jku: 'https://keys.example.org/jwks' }),
        trust,
        readKeys,
      ),
    ).toBe(true)
    expect(
      await hasTrustedCardSignature(
        await signed(asItStands, { jku: 'https://evil.example.org/jwks' }),
        trust,
        readKeys,
      ),
    ).toBe(false)
    expect(asked).toEqual(['https://keys.example.org/jwks'])
  })
})
