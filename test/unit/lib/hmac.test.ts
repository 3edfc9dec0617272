// The generic webhook signature (`sha256=`), on WebCrypto and on Node, checked against node:crypto.
import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createWebHmac, type HmacHeaderOptions, toHex, verifyHmacSha256 } from '../../../src/lib/index.ts'
import { createNodeHmac } from '../../../src/node/runtime.ts'

const secret = 'a-shared-secret'
const body = new TextEncoder().encode('{"hello":"wörld"}')
const right = createHmac('sha256', secret).update(body).digest('hex')

describe.each([
  ['WebCrypto', createWebHmac()],
  ['Node', createNodeHmac()],
])('on %s', (_name, hmac) => {
  const verify = (header: string | undefined, key = secret, options?: HmacHeaderOptions) =>
    verifyHmacSha256(hmac, body, header, key, options)

  describe('a right signature', () => {
    test.each<[string, string, HmacHeaderOptions | undefined, boolean]>([
      ['C-09 accepts the prefixed form', `sha256=${right}`, undefined, true],
      ['C-09 accepts upper-case hex with an own prefix', `v1:${right.toUpperCase()}`, { expectedPrefix: 'v1:' }, true],
      ['C-09 refuses raw hex by default', right, undefined, false],
      ['C-09 accepts raw hex where allowed', right, { allowRawHex: true }, true],
      ['accepts white space around the header', `  sha256=${right}\t`, undefined, true],
      ['refuses a prefix in another case', `SHA256=${right}`, undefined, false],
    ])('%s', async (_name, header, options, expected) => {
      expect(await verify(header, secret, options)).toBe(expected)
    })
  })

  describe('a wrong signature', () => {
    test.each<[string, string | undefined, string]>([
      ['C-10 refuses another signature', `sha256=${right.replace(/^./, right.startsWith('0') ? '1' : '0')}`, secret],
      ['C-10 refuses sha1', `sha1=${right.slice(0, 40)}`, secret],
      ['C-10 refuses an empty secret', `sha256=${createHmac('sha256', '').update(body).digest('hex')}`, ''],
      ['C-10 refuses what is not hex', `sha256=${'z'.repeat(64)}`, secret],
      ['refuses a missing header', undefined, secret],
      ['refuses a signature that is too short', `sha256=${right.slice(0, 63)}`, secret],
      ['refuses another secret', `sha256=${right}`, 'another'],
    ])('%s', async (_name, header, key) => {
      expect(await verify(header, key)).toBe(false)
    })
  })

  test('keeps more secrets apart than it caches', async () => {
    for (let index = 0; index < 200; index += 1) {
      const key = `secret-${index}`
      const expected = createHmac('sha256', key).update(body).digest('hex')
      expect(toHex(await hmac.sha256(key, body))).toBe(expected)
    }
    expect(await verify(`sha256=${right}`)).toBe(true)
  })
})
