// Short ways to say what a tree and a text with ranges show, so that cases read as sentences.
import { entitiesHtml, renderEntityPieces } from '../../../adapters/telegram/render/entities.ts'
import { parseMarkdown, type Root, renderPlain } from '../../../src/markdown/index.ts'

const limits = { limit: 4096, maxRanges: 100, maxBytes: 32_768 }
const tappable = /(?<![\w/@])@\w{2,32}(?!\w)|(?<![\w/<>])\/\w{1,64}(?![\w/<>])/g

/** The pieces of a Markdown text as HTML of the same text and ranges. */
export function piecesAsHtml(markdown: string, changes: Partial<typeof limits> = {}): readonly string[] {
  return renderEntityPieces(parseMarkdown(markdown), { ...limits, inert: tappable, ...changes }).map(entitiesHtml)
}

export function asHtml(markdown: string): string {
  return piecesAsHtml(markdown).join('\n=====\n')
}

/** Letters and digits only: what must never be lost. */
export function letters(text: string): string {
  return text.replace(/[^\p{L}\p{N}]+/gu, '')
}

export function plainOf(root: Root): string {
  return renderPlain(root, { limit: 1_000_000 }).join('\n')
}

/** How long some work takes, at its best of a few tries. */
export function fastest(work: () => unknown): number {
  let best = Number.POSITIVE_INFINITY
  for (let run = 0; run < 3; run += 1) {
    const started = performance.now()
    work()
    best = Math.min(best, performance.now() - started)
  }
  return best
}
