// Markdown for other agents, read back as they would read it, and plain text.
import { parseMarkdown, renderMarkdown, renderPlain } from '../../../../../src/markdown/index.ts'
import { addresses, passages } from '../reading.ts'
import { faceOf, type Shown, sizeProblems } from './shown.ts'

const markdownLimit = 8_000
const plainLimit = 4_096

export const markdown = faceOf(
  (root) => renderMarkdown(root, markdownLimit),
  (pieces) => readMarkdown(pieces, markdownLimit),
)
export const plain = faceOf((root) => renderPlain(root, { limit: plainLimit }), plainShown)

export function readMarkdown(pieces: readonly string[], limit: number): Shown {
  const trees = pieces.map((piece) => parseMarkdown(piece))
  return {
    visible: trees.flatMap((tree) => passages(tree).flatMap(({ words }) => words)).join('\n'),
    targets: trees.flatMap((tree) => [...addresses(tree)]),
    refused: pieces.flatMap((piece) => sizeProblems(piece.length, limit, piece)),
    live: [],
  }
}

function plainShown(pieces: readonly string[]): Shown {
  return {
    visible: pieces.join('\n'),
    targets: [],
    refused: pieces.flatMap((piece) => sizeProblems(piece.length, plainLimit, piece)),
    live: [],
  }
}
