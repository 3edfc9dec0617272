// Mailboxes, one author or a list.
import { expect, test } from 'vitest'
import {
  displayNameUnlessMisleading,
  readAuthor,
  readMailboxes,
} from '../../../../../adapters/email/headers/scan-head.ts'
import { normalizeDomain } from '../../../../../adapters/email/wire/address.ts'

test.each([
  ['alice@sender.example', 'alice@sender.example', ''],
  ['<alice@sender.example>', 'alice@sender.example', ''],
  ['Alice Smith <alice@sender.example>', 'alice@sender.example', 'Alice Smith'],
  ['"Smith, Alice" <alice@sender.example>', 'alice@sender.example', 'Smith, Alice'],
  ['"Smith \\"A\\"" <alice@sender.example>', 'alice@sender.example', 'Smith "A"'],
  ['=?utf-8?Q?J=C3=BCrgen?= <j@sender.example>', 'j@sender.example', 'Jürgen'],
  ['Jürgen (home) <j@sender.example>', 'j@sender.example', 'Jürgen'],
  ['j@sender.example (Jürgen)', 'j@sender.example', 'Jürgen'],
  ['jürgen@sender.example', 'jürgen@sender.example', ''],
  ['Alice+tag.x@Sender.Example', 'Alice+tag.x@sender.example', ''],
  ['"alice smith"@sender.example', '"alice smith"@sender.example', ''],
  ['a@bücher.example', 'a@xn--bcher-kva.example', ''],
  ['a@xn--bcher-kva.example', 'a@xn--bcher-kva.example', ''],
  ['a@localhost', 'a@localhost', ''],
])('%s is one author', (written, address, name) => {
  expect(readAuthor(written)).toMatchObject({ kind: 'one', mailbox: { address, name } })
})

test.each([
  '.alice@sender.example',
  'alice.@sender.example',
  'al..ice@sender.example',
  `${'a'.repeat(65)}@sender.example`,
  'alice@',
  '@sender.example',
  'alice@-sender.example',
  'alice@sender..example',
  'alice@192.0.2.1',
  `alice@${'a'.repeat(64)}.example`,
  'alice@xn--.example',
  'alice@send_er.example',
  'alice@sender.example <',
  '<>',
])('%s is none', (written) => {
  expect(readAuthor(written)).toEqual({ kind: 'unreadable' })
})

test('of a list those are read that can be', () => {
  const list = 'A <a@x.example>, undisclosed:;, "b, c" <bc@x.example>, nonsense, d@y.example'
  expect(readMailboxes(list).map(({ address }) => address)).toEqual(['a@x.example', 'bc@x.example', 'd@y.example'])
  expect(readMailboxes('')).toEqual([])
  expect(readMailboxes('a@x.example,'.repeat(2000)).length).toBe(500)
})

test.each([
  ['Parley Agent', ''],
  ['the PARLEY agent itself', ''],
  ['Bob', 'Bob'],
])('an agent’s own name is not shown as a sender’s: %s', (written, shown) => {
  expect(displayNameUnlessMisleading(written, ['Parley Agent'])).toBe(shown)
})

test.each(['a＠b', 'www.bank.example', 'ftp://x', 'zero\u200bwidth', 'r\u202el', '\u{e0041}tag'])(
  '%j is no name to show',
  (written) => {
    expect(displayNameUnlessMisleading(written)).toBe('')
  },
)

test('domains that are written in two ways are compared in one', () => {
  expect([
    normalizeDomain('BÜCHER.example'),
    normalizeDomain('bu\u0308cher.example'),
    normalizeDomain('ﬀ.example'),
    normalizeDomain(''),
  ]).toEqual(['xn--bcher-kva.example', 'xn--bcher-kva.example', undefined, undefined])
})
