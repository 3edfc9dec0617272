// Inline nodes of a text mail, marked as people mark words in plain text.
import { lineText } from '../table/inline-text.ts'
import type { Inline, Link } from '../tree.ts'
import type { Notes } from './link-notes.ts'

export function mailInline(children: readonly Inline[], notes: Notes): string {
  return children.map((node) => nodeText(node, notes)).join('')
}

function nodeText(node: Inline, notes: Notes): string {
  switch (node.type) {
    case 'text':
      return node.value
    case 'strong':
      return marked('*', mailInline(node.children, notes))
    case 'emphasis':
      return marked('_', mailInline(node.children, notes))
    case 'delete':
      return marked('~', mailInline(node.children, notes))
    case 'inlineCode':
      return marked('`', node.value)
    case 'break':
      return '\n'
    case 'link':
      return linkText(node, notes)
    case 'mention':
      return node.name
    default:
      return node satisfies never
  }
}

/** Spaces stay outside of the marks, so that the marks stand at words. */
function marked(mark: string, text: string): string {
  const words = text.trim()
  if (words === '') return text
  const lead = text.slice(0, text.length - text.trimStart().length)
  return `${lead}${mark}${words}${mark}${text.slice(text.trimEnd().length)}`
}

/** An address that is its own label needs no note. */
function linkText({ url, children }: Link, notes: Notes): string {
  const label = lineText(children)
  if (label === '' || isItsOwnLabel(url, label)) return label === '' ? url : label
  return `${mailInline(children, notes)} [${notes.numberOf(url)}]`
}

function isItsOwnLabel(url: string, label: string): boolean {
  return url === label || url === `${label}/` || url === `mailto:${label}` || url === `tel:${label}`
}
