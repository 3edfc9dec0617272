// HTML, written from the tree node by node, and read: nothing is copied from anywhere, so nothing but these tags can come out.
import { Parser } from 'htmlparser2'
import { maxTextLength } from '../contract/index.ts'
import { safeUrl } from './links.ts'
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

// HTML from outside as a safe subset (NM-18): parsed, then written anew from an allow-list; nothing is copied.

const allowedTags = new Set('p br b strong i em u s code pre blockquote ul ol li a h1 h2 h3 h4 h5 h6'.split(' '))
// Their text is no message: programs, styles, other documents, things that only a browser can show.
const silentTags = new Set(
  `script style iframe frame frameset noframes noscript template object embed applet svg math head title textarea select
   xmp plaintext noembed audio video canvas`.split(/\s+/),
)
// Dropped, but words on both sides of them must not run together.
const separatingTags = new Set(
  'div section article header footer main nav aside table tr td th dl dt dd hr form'.split(' '),
)

const maxDepth = 32
const maxParsedDepth = 512
const piece = 16 * 1024
const roomForClosingTags = 1024

/** Well-formed HTML of the allowed tags only; every text is escaped, and a link goes where `safeUrl` allows. */
export function safeHtml(html: string): string {
  const writer = createWriter()
  let parsedDepth = 0
  let silentDepth = 0
  const parser = new Parser({
    onopentag(name, attributes) {
      parsedDepth += 1
      if (silentTags.has(name)) silentDepth += 1
      else if (silentDepth === 0) writer.open(name, attributes)
    },
    onclosetag(name) {
      parsedDepth -= 1
      if (silentTags.has(name)) silentDepth -= 1
      else if (silentDepth === 0) writer.close(name)
    },
    ontext(text) {
      if (silentDepth === 0) writer.text(text)
    },
  })
  // In pieces, so that nesting without end is noticed before the parser's own stack makes it slow.
  for (let at = 0; at < html.length && parsedDepth <= maxParsedDepth && !writer.isFull(); at += piece) {
    parser.write(html.slice(at, at + piece))
  }
  if (parsedDepth <= maxParsedDepth) parser.end()
  return writer.finish()
}

type Writer = {
  readonly open: (name: string, attributes: Readonly<Record<string, string>>) => void
  readonly close: (name: string) => void
  readonly text: (text: string) => void
  readonly isFull: () => boolean
  readonly finish: () => string
}

function createWriter(): Writer {
  const written: string[] = []
  const openTags: string[] = []
  let length = 0
  let isFull = false
  const writeHtml = (text: string) => {
    isFull ||= length + text.length > maxTextLength - roomForClosingTags
    if (isFull) return false
    length += text.length
    written.push(text)
    return true
  }
  return {
    open(name, attributes) {
      const tag = openTags.length < maxDepth ? safeOpeningTag(name, attributes) : undefined
      if (tag !== undefined && writeHtml(tag) && name !== 'br') openTags.push(name)
    },
    close(name) {
      if (separatingTags.has(name)) writeHtml('\n')
      const at = openTags.lastIndexOf(name)
      if (at === -1) return
      for (const tag of openTags.splice(at).reverse()) written.push(`</${tag}>`)
    },
    text: (text) => void writeHtml(escapeHtml(text)),
    isFull: () => isFull,
    finish() {
      for (const tag of openTags.splice(0).reverse()) written.push(`</${tag}>`)
      return written.join('')
    },
  }
}

function safeOpeningTag(name: string, attributes: Readonly<Record<string, string>>): string | undefined {
  if (!allowedTags.has(name)) return undefined
  if (name !== 'a') return `<${name}>`
  const href = safeUrl(attributes['href'] ?? '')
  return href === undefined ? undefined : `<a href="${escapeHtml(href)}">`
}
