// Writes the tree as HTML node by node: nothing is copied from anywhere, so nothing but these tags can come out.
import type { Block, Heading, Inline, Link, List, ListItem, Table } from './tree.ts'

/** What one kind of client wants: attributes of the tags, and the nodes that not every client can show. */
export type HtmlFace = {
  /** With a space before them; empty where a tag stands alone. */
  readonly attributesOf: (tag: string) => string
  readonly heading: (heading: Heading, words: string) => string
  readonly link: (link: Link, label: string) => string
  readonly mention: (name: string) => string
  readonly table: (table: Table, face: HtmlFace) => string
  readonly rule: string
}

export function blocksHtml(blocks: readonly Block[], face: HtmlFace): string {
  return blocks.map((block) => blockHtml(block, face)).join('')
}

export function inlineHtml(children: readonly Inline[], face: HtmlFace): string {
  return children.map((node) => nodeHtml(node, face)).join('')
}

export function element(tag: string, content: string, face: HtmlFace): string {
  return `<${tag}${face.attributesOf(tag)}>${content}</${tag}>`
}

function blockHtml(block: Block, face: HtmlFace): string {
  switch (block.type) {
    case 'paragraph':
      return element('p', inlineHtml(block.children, face), face)
    case 'heading':
      return face.heading(block, inlineHtml(block.children, face))
    case 'blockquote':
      return element('blockquote', blocksHtml(block.children, face), face)
    case 'list':
      return listHtml(block, face)
    case 'code':
      return element('pre', `<code>${escapeHtml(block.value)}</code>`, face)
    case 'table':
      return face.table(block, face)
    case 'thematicBreak':
      return face.rule
    default:
      return block satisfies never
  }
}

function nodeHtml(node: Inline, face: HtmlFace): string {
  switch (node.type) {
    case 'text':
      return escapeHtml(node.value)
    case 'strong':
      return element('strong', inlineHtml(node.children, face), face)
    case 'emphasis':
      return element('em', inlineHtml(node.children, face), face)
    case 'delete':
      return element('del', inlineHtml(node.children, face), face)
    case 'inlineCode':
      return element('code', escapeHtml(node.value), face)
    case 'break':
      return '<br>'
    case 'link':
      return face.link(node, inlineHtml(node.children, face))
    case 'mention':
      return face.mention(node.name)
    default:
      return node satisfies never
  }
}

function listHtml(list: List, face: HtmlFace): string {
  const tag = list.ordered ? 'ol' : 'ul'
  const start = list.ordered && list.start !== 1 ? ` start="${list.start}"` : ''
  const items = list.children.map((item) => itemHtml(item, face)).join('')
  return `<${tag}${start}${face.attributesOf(tag)}>${items}</${tag}>`
}

/** A single paragraph needs no tag of its own; a task shows its box. */
function itemHtml({ checked, children }: ListItem, face: HtmlFace): string {
  const box = checked === null ? '' : checked ? '☑ ' : '☐ '
  const isTight = children.filter(({ type }) => type === 'paragraph').length <= 1
  const content = children.map((child) =>
    isTight && child.type === 'paragraph' ? inlineHtml(child.children, face) : blockHtml(child, face),
  )
  return element('li', box + content.join(''), face)
}

// Words and attribute values inside HTML that we write ourselves.

const special = /[&<>"]/

export function escapeHtml(text: string): string {
  if (!special.test(text)) return text
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
