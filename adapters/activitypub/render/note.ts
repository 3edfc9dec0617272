// The tree as posts of a thread, each as long as other servers accept, numbered where there is more than one.
import {
  type Block,
  blocksHtml,
  chunkTree,
  escapeHtml,
  type Fit,
  type HtmlFace,
  type Inline,
  inlineText,
  type Link,
  type List,
  type ListItem,
  type Root,
  safeUrl,
  sumOfBlocks,
  tableAsList,
} from '../../../src/markdown/index.ts'

/** `blocks`: what it says, for other forms of the same words. */
export type Note = { readonly html: string; readonly plainLength: number; readonly blocks: readonly Block[] }
export type NoteOptions = { readonly limit?: number; readonly hrefOf?: HrefOf }

const defaultLimit = 500
// Some servers drop an activity above 60 KB, and the tags around the words count too.
const maxHtmlBytes = 48 * 1024

export function renderNoteThread(root: Root, options: NoteOptions = {}): readonly Note[] {
  const { limit = defaultLimit, hrefOf = () => undefined } = options
  const posts = splitIntoThread(toNoteTree(root), limit, createNoteMeasures(hrefOf))
  return posts.map((blocks) => ({
    html: noteHtml(blocks, hrefOf),
    plainLength: noteLength(noteText(blocks)),
    blocks,
  }))
}

/** The numbers need room of their own, and how many digits they have is known only when the pieces are. */
function splitIntoThread(root: Root, limit: number, measures: Measures): readonly (readonly Block[])[] {
  const { sizeOf, costOf } = measures
  if (sizeOf(root.children) <= limit + seam && costOf(root.children) <= maxHtmlBytes)
    return splitToPieces(root, limit, measures)
  for (let digits = 1; ; digits += 1) {
    const room = Math.max(1, limit - threadNumberLength(digits))
    const parts = splitToPieces(root, room, measures)
    if (parts.length === 1) return parts
    if (String(parts.length).length <= digits) {
      return parts.map((part, index) => appendThreadNumber(part, `(${index + 1}/${parts.length})`))
    }
  }
}

function splitToPieces(root: Root, limit: number, measures: Measures): readonly (readonly Block[])[] {
  return chunkTree(root, { limit: limit + seam, ...measures, maxCost: maxHtmlBytes })
    .map(({ children }) => children)
    .filter((blocks) => noteText(blocks).trim() !== '')
}

type Measures = Required<Pick<Fit, 'sizeOf' | 'costOf'>>

function createNoteMeasures(hrefOf: HrefOf): Measures {
  return {
    sizeOf: sumOfBlocks((block) => noteLength(noteText([block])) + seam),
    costOf: sumOfBlocks((block) => htmlByteLength(noteHtml([block], hrefOf))),
  }
}

const onlyAscii = /^[\x00-\x7f]*$/

function htmlByteLength(html: string): number {
  return onlyAscii.test(html) ? html.length : new TextEncoder().encode(html).length
}

const seam = 2

function threadNumberLength(digits: number): number {
  return seam + '(/)'.length + 2 * digits
}

/** At the end of the last paragraph, or below whatever else stands last. */
function appendThreadNumber(blocks: readonly Block[], number: string): readonly Block[] {
  const last = blocks.at(-1)
  if (last?.type !== 'paragraph') return [...blocks, { type: 'paragraph', children: [{ type: 'text', value: number }] }]
  return [...blocks.slice(0, -1), { ...last, children: [...last.children, { type: 'text', value: ` ${number}` }] }]
}

// Posts in the small HTML that other servers keep when they sanitize it.

/** The profile of a person who may be notified; without one the name is only text. */
type HrefOf = (name: string) => string | undefined

const ruleText = '———'

function noteHtml(blocks: readonly Block[], hrefOf: HrefOf): string {
  return blocksHtml(blocks.map(unboldWordsOfHeading), createNoteHtmlRenderers(hrefOf))
}

function createNoteHtmlRenderers(hrefOf: HrefOf): HtmlFace {
  return {
    attributesOf: () => '',
    heading: (_, words) => `<p><strong>${words}</strong></p>`,
    link: ({ url }, label) =>
      `<a href="${escapeHtml(url)}" rel="nofollow noopener noreferrer" target="_blank">${label === '' ? escapeHtml(url) : label}</a>`,
    mention: (name) => mentionHtml(name, hrefOf(name)),
    table: (table, face) => blocksHtml([tableAsList(table)], face),
    rule: `<p>${ruleText}</p>`,
  }
}

function mentionHtml(name: string, href: string | undefined): string {
  const url = href === undefined ? undefined : safeUrl(href)
  if (url === undefined || !/^https?:/.test(url)) return escapeHtml(name)
  const words = `@<span>${escapeHtml(name.replace(/^@/, ''))}</span>`
  return `<span class="h-card"><a class="u-url mention" href="${escapeHtml(url)}">${words}</a></span>`
}

/** A heading is bold as a whole: a bold word in it needs no second mark. */
function unboldWordsOfHeading(block: Block): Block {
  return block.type === 'heading' ? { ...block, children: unwrapStrong(block.children) } : block
}

function unwrapStrong(children: readonly Inline[]): readonly Inline[] {
  return children.flatMap((node) => (node.type === 'strong' ? unwrapStrong(node.children) : [node]))
}

// The length of a post as its readers' servers count it: characters, 23 for any web address, a handle without its server.

const webAddress = /https?:\/\/[^\s<>"]+/gi
const countedAddress = 'x'.repeat(23)
const handle =
  /(?<![=/\p{L}\p{N}_])@([\p{L}\p{N}_]+(?:[\p{L}\p{N}_.-]+[\p{L}\p{N}_]+)?)@[\p{L}\p{N}_.-]*[\p{L}\p{N}_]/gu

export function noteLength(text: string): number {
  const counted = text.replace(webAddress, countedAddress).replace(handle, '@$1')
  let length = 0
  for (const _ of counted) length += 1
  return length
}

// The words of a post without its tags, as its length is counted.

function noteText(blocks: readonly Block[]): string {
  return blocks.map(blockToNoteText).join('\n\n')
}

function blockToNoteText(block: Block): string {
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return inlineText(block.children)
    case 'blockquote':
      return noteText(block.children)
    case 'list':
      return listToNoteText(block)
    case 'code':
      return block.value
    case 'table':
      return listToNoteText(tableAsList(block))
    case 'thematicBreak':
      return '———'
    default:
      return block satisfies never
  }
}

/** With the marks that readers see before an item, which some servers count. */
function listToNoteText(list: List): string {
  return list.children
    .map(({ checked, children }, index) => {
      const box = checked === null ? '' : checked ? '☑ ' : '☐ '
      return `${list.ordered ? `${list.start + index}. ` : '• '}${box}${children.map(blockToNoteText).join('\n')}`
    })
    .join('\n')
}

// The tree without what a post cannot show: tables become lists, and addresses that are not of the web become words.

function toNoteTree(root: Root): Root {
  return { type: 'root', children: root.children.map(adaptBlockToNote) }
}

function adaptBlockToNote(block: Block): Block {
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return { ...block, children: block.children.flatMap(adaptInlineToNote) }
    case 'blockquote':
      return { ...block, children: block.children.map(adaptBlockToNote) }
    case 'list':
      return { ...block, children: block.children.map(adaptListItemToNote) }
    case 'table':
      return adaptBlockToNote(tableAsList(block))
    case 'code':
    case 'thematicBreak':
      return block
    default:
      return block satisfies never
  }
}

function adaptListItemToNote(item: ListItem): ListItem {
  return { ...item, children: item.children.map(adaptBlockToNote) }
}

function adaptInlineToNote(node: Inline): readonly Inline[] {
  switch (node.type) {
    case 'strong':
    case 'emphasis':
    case 'delete':
      return [{ ...node, children: node.children.flatMap(adaptInlineToNote) }]
    case 'link':
      return /^https?:/i.test(node.url) ? [node] : linkToTextWithAddress(node)
    case 'text':
    case 'inlineCode':
    case 'break':
    case 'mention':
      return [node]
    default:
      return node satisfies never
  }
}

/** The address behind its label, unless the label says it already. */
function linkToTextWithAddress({ url, children }: Link): readonly Inline[] {
  const address = url.slice(url.indexOf(':') + 1)
  const label = inlineText(children).trim()
  if (label === '') return [{ type: 'text', value: address }]
  return label === address || label === url ? children : [...children, { type: 'text', value: ` (${address})` }]
}
