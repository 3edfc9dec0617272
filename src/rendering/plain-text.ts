// A reply as one plain text, its Markdown as it was written: for models, logs and channels that show text as it is (hop 8).
import { isKnownPart, type KnownPart, type NormalizedResponse, type Part } from '../contract/index.ts'
import { htmlToText } from './html-text/html-to-text.ts'
import { collapseWhitespace, fileLine, linkDescription, placeholderLine } from './part-line.ts'
import { cleanShownText } from './shown-text.ts'
import { statusWords } from './status-words.ts'

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
