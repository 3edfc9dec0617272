// Inline nodes of a text mail, marked as people mark words in plain text.
import { lineText } from '../table/inline-text.ts'
import type { Inline, Link } from '../tree.ts'
import type { LinkNotes } from './link-notes.ts'

export function mailInline(children: readonly Inline[], notes: LinkNotes): string {
  return children.map((node) => nodeToMailText(node, notes)).join('')
}

function nodeToMailText(node: Inline, notes: LinkNotes): string {
  switch (node.type) {
    case 'text':
      return node.value
    case 'strong':
      return markMailText('*', mailInline(node.children, notes))
    case 'emphasis':
      return markMailText('_', mailInline(node.children, notes))
    case 'delete':
      return markMailText('~', mailInline(node.children, notes))
    case 'inlineCode':
      return markMailText('`', node.value)
    case 'break':
      return '\n'
    case 'link':
      return mailLinkText(node, notes)
    case 'mention':
      return node.name
    default:
      return node satisfies never
  }
}

/** Spaces stay outside of the marks, so that the marks stand at words. */
function markMailText(mark: string, text: string): string {
  const words = text.trim()
  if (words === '') return text
  const lead = text.slice(0, text.length - text.trimStart().length)
  return `${lead}${mark}${words}${mark}${text.slice(text.trimEnd().length)}`
}

/** An address that is its own label needs no note. */
function mailLinkText({ url, children }: Link, notes: LinkNotes): string {
  const label = lineText(children)
  if (label === '' || isItsOwnLabel(url, label)) return label === '' ? url : label
  return `${mailInline(children, notes)} [${notes.numberOf(url)}]`
}

function isItsOwnLabel(url: string, label: string): boolean {
  return url === label || url === `${label}/` || url === `mailto:${label}` || url === `tel:${label}`
}
