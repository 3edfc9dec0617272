// Signatures by a key pair, as platforms make them: the right key and the very bytes, or nothing.
import { describe, expect, test } from 'vitest'
import { fromHex, importEd25519Key, importPublicKey, toHex, verifyWithKey } from '../../../src/lib/index.ts'

const words = (text: string) => new TextEncoder().encode(text)

async function ed25519Pair() {
  const pair = (await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify'])) as CryptoKeyPair
  const raw = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey))
  const sign = async (text: string) => new Uint8Array(await crypto.subtle.sign('Ed25519', pair.privateKey, words(text)))
  return { hex: toHex(raw), sign }
}

describe('a signature by a key pair', () => {
  test('is right for its key and its bytes alone', async () => {
    const [own, other] = [await ed25519Pair(), await ed25519Pair()]
    const key = await importEd25519Key(own.hex)
    if (key === undefined) return expect.unreachable('no key')
    const signature = await own.sign('1700000000{}')
    expect(await verifyWithKey(key, signature, words('1700000000{}'))).toBe(true)
    expect(await verifyWithKey(key, signature, words('1700000001{}'))).toBe(false)
    expect(await verifyWithKey(key, await other.sign('1700000000{}'), words('1700000000{}'))).toBe(false)
    expect(await verifyWithKey(key, new Uint8Array(3), words('1700000000{}'))).toBe(false)
  })

  test('is checked with RSA keys that are long enough', async () => {
    const make = async (modulusLength: number) => {
      const how = {
        name: 'RSASSA-PKCS1-v1_5',
        modulusLength,
        publicExponent: fromHex('010001') as Uint8Array<ArrayBuffer>,
        hash: 'SHA-256',
      }
      const pair = (await crypto.subtle.generateKey(how, true, ['sign', 'verify'])) as CryptoKeyPair
      const spki = new Uint8Array(await crypto.subtle.exportKey('spki', pair.publicKey))
      const signature = new Uint8Array(await crypto.subtle.sign(how.name, pair.privateKey, words('x')))
      return { spki, signature }
    }
    const [long, short] = [await make(2048), await make(1024)]
    const key = await importPublicKey('rsa-v1_5-sha256', long.spki)
    expect(key && (await verifyWithKey(key, long.signature, words('x')))).toBe(true)
    expect(await importPublicKey('rsa-v1_5-sha256', short.spki)).toBeUndefined()
  })

  test.each(['', 'zz', '00', 'g'.repeat(64)])('has no key of %j', async (hex) => {
    expect(await importEd25519Key(hex)).toBeUndefined()
  })
})
