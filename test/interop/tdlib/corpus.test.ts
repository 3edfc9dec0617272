// The corpus through the platform's own parser: 0 rejected, everything means there what it means here, nobody is called.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { EntityPiece } from '../../../adapters/telegram/render/entities.ts'
import { corpusAnswers } from '../../unit/markdown/corpus/answers.ts'
import { rangedPieces } from '../../unit/markdown/corpus/formats/entities-format.ts'
import { describeBeside } from '../peer.ts'
import { comesAlive, differences } from './judge-piece.ts'
import { tdlib } from './tdlib.ts'

const answers = corpusAnswers(join(import.meta.dirname, '..', '..', 'fixtures', 'answers'))

describeBeside('the corpus, read by TDLib', tdlib, (peer) => {
  const pieces = () =>
    answers.flatMap(({ name, markdown }) =>
      rangedPieces(markdown).map((piece, at) => ({ name: `${name} ${at + 1}`, piece: piece as EntityPiece })),
    )

  test('every piece is taken, and has the same text and the same ranges', () => {
    const judged = pieces().map(({ name, piece }) => [name, differences(peer(), piece)] as const)
    expect(judged.length).toBeGreaterThan(answers.length)
    expect(judged.filter(([, found]) => found.length > 0)).toEqual([])
  })

  test('no piece calls anybody, or offers a command that decides something', () => {
    const isHarmless = (word: string): boolean => /^\/(?:stop|status|help|new|agents)$/.test(word)
    const judged = pieces().map(
      ({ name, piece }) => [name, comesAlive(peer(), piece).filter((word) => !isHarmless(word))] as const,
    )
    expect(judged.filter(([, found]) => found.length > 0)).toEqual([])
  })
})
