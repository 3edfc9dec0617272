// Any tree, and any words: TDLib takes it, reads the same in it, and makes nothing live of it that is not allowed.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type EntityPiece, renderEntityPieces } from '../../../adapters/telegram/render/entities.ts'
import { scaled } from '../../setup/scale.ts'
import { rangedPieces } from '../../unit/markdown/corpus/formats/entities-format.ts'
import { anyTree } from '../../unit/markdown/tree-arbitrary.ts'
import { describeBeside } from '../peer.ts'
import { comesAlive, differences } from './judge-piece.ts'
import { tdlib } from './tdlib.ts'

describeBeside('any tree, read by TDLib', tdlib, (peer) => {
  test('means the same there, whatever it holds and wherever it is cut', () => {
    fc.assert(
      fc.property(anyTree, fc.constantFrom(4_096, 300, 40), (root, limit) => {
        const pieces = renderEntityPieces(root, { limit, maxRanges: 100, maxBytes: 32_768 })
        expect(pieces.flatMap((piece) => differences(peer(), piece))).toEqual([])
      }),
      { numRuns: scaled(200, 50) },
    )
  })

  const bits = fc.constantFrom(
    '@alice',
    '@bob_smith',
    '@ann',
    '@a1',
    '/start',
    '/go@some_bot',
    '@',
    '/',
    '_',
    '.',
    ',',
    ' ',
    '\n',
    '*',
    '`',
    '**',
    'https://x.example/@alice/start',
    'a@b.example',
    '日本',
    'é',
    '🎉',
    '(',
    ')',
    '<',
    '>',
    '-',
    '> ',
    '- ',
    '|',
    'word',
    '\\',
    '[x](https://x.example)',
    '[@alice](https://x.example)',
    '&',
    '"',
    '~~',
    '#',
    '1',
    '\u200b',
    '٣',
    'ـ',
  )
  const words = fc.array(bits, { maxLength: 40 }).map((all) => all.join(''))

  test('calls nobody, whatever stands around a name or a command', () => {
    fc.assert(
      fc.property(words, (markdown) => {
        const pieces = rangedPieces(markdown) as readonly EntityPiece[]
        expect(pieces.flatMap((piece) => differences(peer(), piece))).toEqual([])
        expect(pieces.flatMap((piece) => comesAlive(peer(), piece))).toEqual([])
      }),
      { numRuns: scaled(3_000, 500) },
    )
  })

  test('calls exactly those who may be called', () => {
    const pieces = rangedPieces('**@alice**, @bob_smith, `@alice` and /start: ask @alice.', new Set(['@alice']))
    expect((pieces as readonly EntityPiece[]).flatMap((piece) => comesAlive(peer(), piece))).toEqual([
      '@alice',
      '@alice',
    ])
  })
})
