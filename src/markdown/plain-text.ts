// A reply as one plain text: its Markdown as it was written, for models and logs, or rendered for channels that show text as it
// is.
import { isKnownPart, type KnownPart, type NormalizedResponse, type Part } from '../contract/index.ts'
import { chunkTree } from './chunk.ts'
import { htmlToText } from './html-to-text/html-to-text.ts'
import { cleanShownText } from './plain-tree.ts'
import { collapseWhitespace, fileLine, linkDescription, placeholderLine, statusWords } from './reply-tree.ts'
import { type Draft, writeBlocks } from './styled-text.ts'
import type { Block, Root } from './tree.ts'

export function plainText(reply: NormalizedResponse): string {
  const text = partsText(reply.parts)
  return [text, statusWords(reply, text !== '')].filter(Boolean).join('\n\n')
}

/** Parts in reading order; tool calls are internal and leave no trace. */
export function partsText(parts: readonly Part[]): string {
  const pieces = parts.map((part) => (isKnownPart(part) ? knownPartText(part) : placeholderLine(part)))
  return pieces
    .map(cleanShownText)
    .filter((piece) => piece.trim() !== '')
    .join('\n\n')
}

function knownPartText(part: KnownPart): string {
  switch (part.kind) {
    case 'text':
      return part.mime === 'text/html' ? htmlToText(part.content) : part.content
    case 'link':
      return plainLinkText(part.url, part.title) + linkDescription(part.description)
    case 'file':
    case 'artifact':
      return fileLine(part)
    case 'policy':
      return part.policy.message
    case 'tool_call':
      return ''
    default:
      return part satisfies never
  }
}

function plainLinkText(url: string, title: string | undefined): string {
  const isShown = /^(?:https?|mailto):/i.test(url)
  if (!isShown) return title ?? '[link]'
  return title === undefined || title === url ? url : `${collapseWhitespace(title)} (${url})`
}

// Rendered for channels that show text and nothing else: addresses behind their labels, tables aligned, lists with bullets.

/** Pieces of at most `limit` UTF-16 units. */
export function renderPlain(root: Root, { limit }: { readonly limit: number }): readonly string[] {
  const pieces = chunkTree(root, { limit, sizeOf: (blocks) => plainPiece(blocks).length })
  return pieces.map(({ children }) => plainPiece(children)).filter((text) => text !== '')
}

function plainPiece(blocks: readonly Block[]): string {
  const draft: Draft = { text: '', ranges: [] }
  writeBlocks(draft, blocks, { indent: '', isQuoted: true, isPlain: true })
  return draft.text.trim()
}
