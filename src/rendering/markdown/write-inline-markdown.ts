// Inline nodes as Markdown that every parser reads the same.
import { safeUrl } from '../safe-url.ts'
import { inlineText } from '../table/inline-text.ts'
import type { Inline, Link } from '../tree.ts'
import { asReference, codeSpan, escapeLineStart, escapeUrl, escapeWords } from './escape-markdown.ts'
import { firstCharacter, lastCharacter, type Segment, toInlineSegments } from './inline-segments.ts'
import { chooseDelimiters } from './mark-delimiters.ts'

export function inlineMarkdown(nodes: readonly Inline[]): string {
  return writeInlineNodes(nodes, false)
    .split('\n')
    .map((line) => escapeLineStart(withVisibleEnds(line)))
    .join('  \n')
}

function writeInlineNodes(nodes: readonly Inline[], isLabel: boolean): string {
  const segments = toInlineSegments(nodes)
  const { marker, first, last } = chooseDelimiters(segments)
  const write = (segment: Segment, index: number): string => {
    switch (segment.kind) {
      case 'words':
        return escapeTextRun(segment.text, { isLabel, isFirstHidden: first.has(index), isLastHidden: last.has(index) })
      case 'mark':
        return marker(segment)
      case 'piece':
        return writePiece(segment.node)
      default:
        return segment satisfies never
    }
  }
  return segments.map(write).join('')
}

type WordsOptions = { readonly isLabel: boolean; readonly isFirstHidden: boolean; readonly isLastHidden: boolean }

function escapeTextRun(text: string, { isLabel, isFirstHidden, isLastHidden }: WordsOptions): string {
  const start = isFirstHidden ? firstCharacter(text) : ''
  const rest = text.slice(start.length)
  const end = isLastHidden ? lastCharacter(rest) : ''
  const middle = escapeWords(rest.slice(0, rest.length - end.length), isLabel)
  return (start === '' ? '' : asReference(start)) + middle + (end === '' ? '' : asReference(end))
}

function writePiece(node: Extract<Segment, { kind: 'piece' }>['node']): string {
  if (node.type === 'break') return '\n'
  return node.type === 'inlineCode' ? codeSpan(node.value) : linkMarkdown(node)
}

// As CommonMark 6.5 allows it between angle brackets.
const bare = /^https?:\/\/[^\s<>\\&]+$/

function linkMarkdown({ url, children }: Link): string {
  const label = inlineText(children)
  const isBare = children.length === 1 && children[0]?.type === 'text' && bare.test(label) && safeUrl(label) === url
  if (isBare) return `<${label}>`
  const text = writeInlineNodes(children, true).split('\n').map(withVisibleEnds).join(' ')
  return `[${text}](${escapeUrl(url)})`
}

/** Space at the ends of a line is no part of a paragraph, unless it is written as a reference. */
function withVisibleEnds(line: string): string {
  const start = line.length - line.trimStart().length
  const end = Math.max(start, line.trimEnd().length)
  if (start === 0 && end === line.length) return line
  return (
    [...line.slice(0, start)].map(asReference).join('') +
    line.slice(start, end) +
    [...line.slice(end)].map(asReference).join('')
  )
}
