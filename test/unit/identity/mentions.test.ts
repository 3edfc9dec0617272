// Names in a reply: what must reach nobody is readable and no name any more; everything else stays letter by letter.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { defuseMentions } from '../../../src/identity/mentions.ts'
import { scaled } from '../../setup/scale.ts'

const joiner = '\u2060'
const none = (text: string) => defuseMentions(text, () => 'defuse').text.replaceAll(joiner, '|')

test.each([
  ['@bob', '@|bob'],
  ['ask @bob, or (@carol_x)!', 'ask @|bob, or (@|carol_x)!'],
  ['cc:@bob @Bob.Smith.', 'cc:@|bob @|Bob.Smith.'],
  ['@bob@example.org', '@|bob@example.org'],
  ['@_bob @böb', '@|_bob @|böb'],
  ['`code`@bob', '`code`@|bob'],
  ['write to bob@example.org or b.o+b@example.org', 'write to bob@example.org or b.o+b@example.org'],
  ['https://example.org/@bob', 'https://example.org/@bob'],
  ['`@bob` and @bob', '`@bob` and @|bob'],
  ['```\n@Override\n```\n@bob', '```\n@Override\n```\n@|bob'],
  ['a @ b, @', 'a @ b, @'],
  ['@everyone @here', '@|everyone @|here'],
])('%j becomes %j', (text, expected) => {
  expect(none(text)).toBe(expected)
})

test('whole rooms are never called, whoever may be', () => {
  expect(defuseMentions('@everyone @ada', () => 'live')).toEqual({ text: `@${joiner}everyone @ada`, live: ['@ada'] })
})

test('names that may live are told, in small letters; others may be left as they are', () => {
  const fateOf = ({ local }: { local: string }) => (local === 'Ada' ? 'live' : local === 'desk' ? 'leave' : 'defuse')
  expect(defuseMentions('@Ada @desk @bob', fateOf)).toEqual({ text: `@Ada @desk @${joiner}bob`, live: ['@ada'] })
})

test('beyond what is searched for code every name counts', () => {
  const long = `${'x'.repeat(20_000)} \`@bob\``
  expect(none(long)).toBe(`${'x'.repeat(20_000)} \`@|bob\``)
})

test('nothing but the joiner is added, in bounded time, and afterwards no platform would find a name', () => {
  const bits = fc.constantFrom('`', '```', '\n', ' ', '@', '@a', '@a@b.example', 'x', '.', '/', '_', 'ä', '-')
  fc.assert(
    fc.property(fc.array(bits), (parts) => {
      const text = parts.join('')
      const { text: defused } = defuseMentions(text, () => 'defuse')
      expect(defused.replaceAll(joiner, '')).toBe(text)
      if (!text.includes('`')) expect(defused).not.toMatch(/(?<![\p{L}\p{N}\p{M}_/@])@[\p{L}\p{N}_]/u)
    }),
    { numRuns: scaled(2_000) },
  )
  for (const evil of ['`', '@', '@a@', '`@a', '```\n', '@a.', '@'.repeat(50)]) none(evil.repeat(100_000))
})
