// Structured fields are read strictly: what two readers could take in two ways is refused (RFC 8941).
import { describe, expect, test } from 'vitest'
import { decodeBase58, decodeStrictBase64 } from '../../../../../adapters/activitypub/signatures/key-material.ts'
import {
  parseDictionary,
  serializeInnerList,
} from '../../../../../adapters/activitypub/signatures/structured-fields.ts'

describe('a dictionary', () => {
  test('of a list with parameters is written again as a signer writes it', () => {
    const given =
      'sig1=( "@method"  "a";key="b;c";sf );created=1;keyid="x\\"y\\\\z";alg="ed25519";on;off=?0;b=:YQ==:;t=tok/en'
    const member = parseDictionary(given)?.get('sig1')
    expect(member?.kind === 'list' && serializeInnerList(member.items, member.params)).toBe(
      '("@method" "a";key="b;c";sf);created=1;keyid="x\\"y\\\\z";alg="ed25519";on;off=?0;b=:YQ==:;t=tok/en',
    )
  })

  test('has several members, with blanks around their commas', () => {
    expect([...(parseDictionary('a=:YQ==: ,\tb=1,c') ?? [])]).toMatchObject([
      ['a', { kind: 'item', bare: { type: 'bytes', base64: 'YQ==' } }],
      ['b', { kind: 'item', bare: { type: 'integer', value: 1 } }],
      ['c', { kind: 'item', bare: { type: 'boolean', value: true } }],
    ])
  })

  test.each([
    ['a name twice', 'a=1,a=2'],
    ['a parameter twice', 'a=1;b=1;b=2'],
    ['a comma at the end', 'a=1,'],
    ['a name in capitals', 'A=1'],
    ['no comma', 'a=1 b=2'],
    ['an open list', 'a=("b"'],
    ['items without a blank', 'a=("b""c")'],
    ['an open text', 'a="b'],
    ['a letter beyond ASCII', 'a="ä"'],
    ['a line break in a text', 'a="b\nc"'],
    ['a wrong escape', 'a="\\n"'],
    ['open bytes', 'a=:YQ=='],
    ['bytes of a wrong length', 'a=:YQ=:'],
    ['bytes in the alphabet for addresses', 'a=:_-==:'],
    ['a decimal', 'a=1.5'],
    ['a number too long', 'a=1234567890123456'],
    ['nothing behind the equals sign', 'a='],
    ['too much of it', `a="${'x'.repeat(20_000)}"`],
    ['too many of them', Array.from({ length: 65 }, (_, index) => `a${index}`).join(',')],
  ])('is refused with %s', (_, text) => {
    expect(parseDictionary(text)).toBeUndefined()
  })
})

describe('bytes', () => {
  test.each([
    ['', ''],
    ['YQ==', 'a'],
    ['YWI=', 'ab'],
    ['YWJj', 'abc'],
  ])('of %j', (text, expected) => {
    expect(Buffer.from(decodeStrictBase64(text) ?? []).toString()).toBe(expected)
  })

  test.each(['YQ', 'YQ=', 'Y', ' YQ==', 'YQ==\n', 'Y-Q_'])('%j is no base64', (text) => {
    expect(decodeStrictBase64(text)).toBeUndefined()
  })

  test('of base58 have the length that was asked for, or are none', () => {
    expect(decodeBase58('2NEpo7TZRRrLZSi2U', 12)).toEqual(new TextEncoder().encode('Hello World!'))
    expect(decodeBase58('zzzzzzzzzzzzzzzzz', 12)).toBeUndefined()
    expect(decodeBase58('0OIl', 12)).toBeUndefined()
    expect(decodeBase58('1'.repeat(100_000), 12)).toBeUndefined()
  })
})
