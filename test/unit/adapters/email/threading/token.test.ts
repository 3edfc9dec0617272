// Reply tokens: ours are read back, anybody else's are not.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { base32, createReplyTokens, threadKey } from '../../../../../adapters/email/threading.ts'
import { createWebHmac } from '../../../../../src/lib/index.ts'

const tokens = createReplyTokens(createWebHmac(), {
  current: async () => 'a secret of this test',
  all: async () => ['a secret of this test'],
})

test('a key is 80 bits of the hash of an id, in letters that survive any mail server', async () => {
  expect(await threadKey('one@sender.example')).toMatch(/^[a-z2-7]{16}$/)
  expect(await threadKey('one@sender.example')).toBe(await threadKey('one@sender.example'))
  expect(await threadKey('One@sender.example')).not.toBe(await threadKey('one@sender.example'))
})

test('base32 gives the test vectors of RFC 4648, in small letters and without padding', () => {
  const texts = ['', 'f', 'fo', 'foo', 'foob', 'fooba', 'foobar']
  const encoded = ['', 'my', 'mzxq', 'mzxw6', 'mzxw6yq', 'mzxw6ytb', 'mzxw6ytboi']
  expect(texts.map((text) => base32(new TextEncoder().encode(text)))).toEqual(encoded)
})

test('a token fits into a local part beside a name, and is read whatever its case became', async () => {
  const key = await threadKey('one@sender.example')
  const token = await tokens.mint(key)
  expect(token).toMatch(/^[a-z2-7]{32}$/)
  expect(await tokens.read(token)).toBe(key)
  expect(await tokens.read(token.toUpperCase())).toBe(key)
})

test('a token with one other character, of another secret, or cut short is none', async () => {
  const token = await tokens.mint(await threadKey('one@sender.example'))
  const others = createReplyTokens(createWebHmac(), {
    current: async () => 'another secret',
    all: async () => ['another secret'],
  })
  expect(await others.read(token)).toBeUndefined()
  for (let at = 0; at < token.length; at += 1) {
    const changed = token.slice(0, at) + (token[at] === 'a' ? 'b' : 'a') + token.slice(at + 1)
    expect(await tokens.read(changed)).toBeUndefined()
  }
  for (const text of ['', token.slice(1), `${token}a`, ` ${token}`, `${token}\n`])
    expect(await tokens.read(text)).toBeUndefined()
})

test('no text that we did not make is a token', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ maxLength: 40 }), async (text) => {
      expect(await tokens.read(text)).toBeUndefined()
    }),
  )
})
