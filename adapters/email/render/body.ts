// Renders the tree as the two bodies of a mail: HTML for clients that show it, wrapped text for all others.

import {
  alignedTable,
  type Block,
  blocksHtml,
  displayWidth,
  element,
  escapeHtml,
  type Heading,
  type HtmlFace,
  type Inline,
  inlineHtml,
  type Link,
  type List,
  lineText,
  type Root,
  type Table,
  tableAsList,
} from '../../../src/markdown/index.ts'

export type MailBody = { readonly html: string; readonly text: string }

/** Both empty where there is nothing to say. */
export function renderMail(root: Root, options: { readonly lang?: string } = {}): MailBody {
  const text = mailText(root)
  return text.trim() === '' ? { html: '', text: '' } : { html: mailHtml(root, options.lang), text }
}

// The HTML half of a mail: a whole document, styled in place, that loads nothing from anywhere.

const border = '1px solid #d0d7de'
const styles: Readonly<Record<string, string>> = {
  p: 'margin:0 0 1em',
  blockquote: 'margin:0 0 1em;padding-left:1em;border-left:3px solid #d0d7de;color:#57606a',
  pre: `margin:0 0 1em;padding:.75em;background:#f6f8fa;border:${border};white-space:pre-wrap;font-family:monospace`,
  code: 'background:#f6f8fa;font-family:monospace;white-space:pre-wrap',
  ul: 'margin:.5em 0;padding-left:2em',
  ol: 'margin:.5em 0;padding-left:2em',
  table: 'margin:0 0 1em;border-collapse:collapse',
}
const cellStyle = `padding:.25em .75em;border:${border}`

const face: HtmlFace = {
  attributesOf: (tag) => (styles[tag] === undefined ? '' : ` style="${styles[tag]}"`),
  heading: ({ depth }, words) => `<h${depth} style="margin:1em 0 .5em">${words}</h${depth}>`,
  link: ({ url }, label) =>
    `<a href="${escapeHtml(url)}" rel="noopener noreferrer">${label === '' ? escapeHtml(url) : label}</a>`,
  // A name in a mail notifies no recipient.
  mention: escapeHtml,
  table: tableHtml,
  rule: `<hr style="border:0;border-top:${border}">`,
}

/** `lang` of the words, where it is known. */
function mailHtml(root: Root, lang?: string): string {
  const body = `<body style="font-family:sans-serif;line-height:1.5">${blocksHtml(root.children, face)}</body>`
  const language = lang === undefined ? '' : ` lang="${escapeHtml(lang)}"`
  return `<!DOCTYPE html>\n<html${language}><head><meta charset="utf-8"></head>${body}</html>\n`
}

function tableHtml(table: Table): string {
  const rows = table.children.map(({ children }, row) => {
    const tag = row === 0 ? 'th' : 'td'
    const cells = children.map((cell, column) => {
      const style = `${cellStyle};text-align:${table.align[column] ?? 'left'}`
      return `<${tag} style="${style}">${inlineHtml(cell.children, face)}</${tag}>`
    })
    return `<tr>${cells.join('')}</tr>`
  })
  return element('table', `<tbody>${rows.join('')}</tbody>`, face)
}

// The text half of a mail: wrapped lines, links as numbered notes, tables aligned or, where they are too wide, as lists.

const columns = 78
const narrowest = 20

type Page = { readonly notes: LinkNotes; readonly columns: number; readonly isInItem: boolean }

function mailText(root: Root): string {
  const notes = createLinkFootnotes()
  const body = blocksToTextLines(root.children, { notes, columns, isInItem: false })
  const list = notes.lines()
  const lines = list.length === 0 ? body : [...body, '', ...list]
  return lines.map(sanitizeMailLine).join('\n')
}

/** A line of its own never starts as a mailbox separates its messages, and none ends in spaces or a bare CR. */
function sanitizeMailLine(line: string): string {
  const text = line.replaceAll('\r', '').trimEnd()
  return text.startsWith('From ') ? ` ${text}` : text
}

function blocksToTextLines(blocks: readonly Block[], page: Page): readonly string[] {
  const lines: string[] = []
  for (const block of blocks) {
    const own = blockToTextLines(block, page)
    const isBelowItsItem = page.isInItem && block.type === 'list'
    if (lines.length > 0 && own.length > 0 && !isBelowItsItem) lines.push('')
    for (const line of own) lines.push(line)
  }
  return lines
}

function blockToTextLines(block: Block, page: Page): readonly string[] {
  switch (block.type) {
    case 'paragraph':
      return wrapText(inlinesToMailText(block.children, page.notes), page.columns)
    case 'heading':
      return headingLines(block, page)
    case 'blockquote':
      return narrowedBlockLines(block.children, { ...page, isInItem: false }, 2).map((line) => `> ${line}`)
    case 'list':
      return listLines(block, page)
    case 'code':
      return block.value.split('\n').map((line) => `    ${line}`)
    case 'table':
      return tableLines(block, page)
    case 'thematicBreak':
      return ['-'.repeat(Math.min(40, page.columns))]
    default:
      return block satisfies never
  }
}

function headingLines({ depth, children }: Heading, page: Page): readonly string[] {
  const lines = wrapText(inlinesToMailText(children, page.notes), page.columns)
  if (depth > 2) return lines
  const width = Math.max(1, ...lines.map(displayWidth))
  return [...lines, (depth === 1 ? '=' : '-').repeat(Math.min(width, page.columns))]
}

function listLines(list: List, page: Page): readonly string[] {
  return list.children.flatMap(({ checked, children }, index) => {
    const marker = list.ordered ? `${list.start + index}. ` : '- '
    const box = checked === null ? '' : checked ? '[x] ' : '[ ] '
    const lines = narrowedBlockLines(children, { ...page, isInItem: true }, marker.length + box.length)
    const [first = '', ...rest] = lines
    return [`${marker}${box}${first}`, ...rest.map((line) => ' '.repeat(marker.length) + line)]
  })
}

function tableLines(table: Table, page: Page): readonly string[] {
  const lines = alignedTable(table, ({ children }) => inlinesToMailText(children, page.notes)).split('\n')
  return lines.every((line) => displayWidth(line) <= page.columns) ? lines : listLines(tableAsList(table), page)
}

function narrowedBlockLines(blocks: readonly Block[], page: Page, used: number): readonly string[] {
  return blocksToTextLines(blocks, { ...page, columns: Math.max(narrowest, page.columns - used) })
}

// Addresses of links, listed once each below the text that refers to them by number.

type LinkNotes = {
  readonly numberOf: (url: string) => number
  readonly lines: () => readonly string[]
}

function createLinkFootnotes(): LinkNotes {
  const numbers = new Map<string, number>()
  return {
    numberOf(url) {
      const number = numbers.get(url) ?? numbers.size + 1
      numbers.set(url, number)
      return number
    },
    lines: () => [...numbers].map(([url, number]) => `[${number}] ${url}`),
  }
}

// Inline nodes of a text mail, marked as people mark words in plain text.

function inlinesToMailText(children: readonly Inline[], notes: LinkNotes): string {
  return children.map((node) => inlineToMailText(node, notes)).join('')
}

function inlineToMailText(node: Inline, notes: LinkNotes): string {
  switch (node.type) {
    case 'text':
      return node.value
    case 'strong':
      return surroundWithMark('*', inlinesToMailText(node.children, notes))
    case 'emphasis':
      return surroundWithMark('_', inlinesToMailText(node.children, notes))
    case 'delete':
      return surroundWithMark('~', inlinesToMailText(node.children, notes))
    case 'inlineCode':
      return surroundWithMark('`', node.value)
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
function surroundWithMark(mark: string, text: string): string {
  const words = text.trim()
  if (words === '') return text
  const lead = text.slice(0, text.length - text.trimStart().length)
  return `${lead}${mark}${words}${mark}${text.slice(text.trimEnd().length)}`
}

/** An address that is its own label needs no note. */
function mailLinkText({ url, children }: Link, notes: LinkNotes): string {
  const label = lineText(children)
  if (label === '' || isLabelOfLink(url, label)) return label === '' ? url : label
  return `${inlinesToMailText(children, notes)} [${notes.numberOf(url)}]`
}

function isLabelOfLink(url: string, label: string): boolean {
  return url === label || url === `${label}/` || url === `mailto:${label}` || url === `tel:${label}`
}

// Lines of at most so many columns, cut between words; a word that is longer, such as an address, stays whole.

// Scripts that are written without spaces may be cut before any of their characters.
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+/gu

function wrapText(text: string, columns: number): readonly string[] {
  return text.split('\n').flatMap((line) => wrapLine(line, columns))
}

function wrapLine(text: string, columns: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  let width = 0
  for (const word of text.split(/[ \t]+/)) {
    let space = line === '' ? '' : ' '
    for (const piece of splitLongWord(word, columns)) {
      const pieceWidth = displayWidth(piece)
      if (line !== '' && width + space.length + pieceWidth > columns) {
        lines.push(line)
        line = piece
        width = pieceWidth
      } else {
        line += space + piece
        width += space.length + pieceWidth
      }
      space = ''
    }
  }
  return [...lines, line]
}

function splitLongWord(word: string, columns: number): readonly string[] {
  if (word.length * 2 <= columns || word.includes('://')) return [word]
  return word.match(unspaced) ?? [word]
}

// The message that is answered, quoted below the answer.

const maxLines = 40

/** The first lines of it, each behind a mark; what was quoted already is quoted once more. */
export function quoteText(text: string): string {
  const lines = text.replace(/\r\n?/g, '\n').trimEnd().split('\n')
  const shown = lines.length > maxLines ? [...lines.slice(0, maxLines), '[…]'] : lines
  return shown.map(quoteLine).join('\n')
}

function quoteLine(line: string): string {
  return line.startsWith('>') ? `>${line}` : `> ${line}`.trimEnd()
}
