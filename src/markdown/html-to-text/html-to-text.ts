// Converts HTML of a mail or a post to the text a reader would see, for a model to read: no markup, no hidden words, no hidden
// targets (a defence against prompt injection). Linear in its input and bounded in size and depth. Quoted history is left to the
// channel's adapter.

import { Tokenizer } from 'htmlparser2'
import { maxTextLength } from '../../contract/index.ts'
import { cleanText } from '../../lib/clean-text.ts'
import { withoutLooseJoiners, withoutUnseen } from './invisible-characters.ts'
import { closeAll, closeElement, currentLook, noElements, openElement } from './open-elements.ts'
import {
  appendText,
  breakLine,
  enterContainer,
  enterRow,
  finishLines,
  type Lines,
  newLines,
  recordLines,
  startBlock,
  startCell,
  tieText,
  writeKept,
  writeWords,
} from './text-lines.ts'
import {
  type Attributes,
  computeVisibility,
  isShownToReader,
  lineTags,
  mathTags,
  rawTags,
  spacedTags,
  type Visibility,
  voidTags,
} from './visibility.ts'

const maxHtmlLength = 1024 * 1024
const maxAltLength = 500
const shortcode = /^(?::[\w+-]{1,64}:|[\p{Extended_Pictographic}\p{Emoji_Component}]{1,16})$/u
const nothing = () => {}

export type HtmlTextOptions = {
  readonly maxLength?: number
  /** A line of its own where such an element begins, for a caller that knows what the sender's program means by it. */
  readonly mark?: (name: string, attributes: Attributes) => string | undefined
  /** Called when words were left out because no reader sees them. */
  readonly onHidden?: () => void
}

/** At most `maxLength` UTF-16 units of plain text. It is never markup again: a caller that shows it must escape it. */
export function htmlToText(html: string, options: HtmlTextOptions = {}): string {
  const lines = newLines(Math.min(options.maxLength ?? maxTextLength, maxTextLength))
  const elements = noElements()
  const [lists, formulas]: [List[], Formula[]] = [[], []]
  let isRaw = false
  readTokens(cleanText(html.slice(0, maxHtmlLength)), {
    open(name, attributes) {
      isRaw = rawTags.has(name)
      if (isRaw) return
      if (voidTags.has(name))
        return writeVoid(lines, name, computeVisibility(currentLook(elements), name, attributes), attributes)
      openElement(elements, name, attributes, (look) => {
        const end = beginElement({ lines, lists, formulas }, { name, attributes, look })
        const mark = isShownToReader(look) ? options.mark?.(name, attributes) : undefined
        if (mark !== undefined) writeLine(lines, mark)
        return end
      })
    },
    close(name) {
      if (isRaw) {
        isRaw = false
        return
      }
      // Browsers take these two for a line break and for an empty paragraph.
      if (!closeElement(elements, name) && (name === 'br' || name === 'p')) startBlock(lines, 1)
    },
    text(text) {
      const look = currentLook(elements)
      if (isRaw) return
      if (!isShownToReader(look)) {
        if (options.onHidden !== undefined && /\S/.test(text)) options.onHidden()
        return
      }
      if (look.keepsSpace) writeKept(lines, withoutUnseen(text))
      else writeWords(lines, withoutUnseen(text))
    },
    isFull: () => lines.isFull,
  })
  closeAll(elements)
  return withoutLooseJoiners(finishLines(lines))
}

/** Number of the next item; undefined in a list without numbers. */
type List = { next: number | undefined }
/** An open element of a formula, and how many are in it so far. */
type Formula = { readonly name: string; children: number }
type Page = { readonly lines: Lines; readonly lists: List[]; readonly formulas: Formula[] }
type Element = { readonly name: string; readonly attributes: Attributes; readonly look: Visibility }

/** Answers what is to be done at the element's end. */
function beginElement(page: Page, element: Element): () => void {
  const { name, look, attributes } = element
  if (!isShownToReader(look)) return nothing
  if (mathTags.has(name)) return beginFormula(page, name)
  const breaks = spacedTags.has(name) ? 2 : 1
  const isBlock = breaks === 2 || lineTags.has(name)
  if (isBlock) startBlock(page.lines, isNestedList(page, name) ? 1 : breaks)
  const end = beginKind(page, name, attributes)
  if (!isBlock) return end
  return () => {
    end()
    startBlock(page.lines, isNestedList(page, name) ? 1 : breaks)
  }
}

function beginKind(page: Page, name: string, attributes: Attributes): () => void {
  const { lines } = page
  switch (name) {
    case 'a':
      return beginLink(lines, attributes)
    case 'ul':
    case 'menu':
    case 'dir':
    case 'ol':
      return beginList(page, name === 'ol' ? parseWholeNumber(attributes.get('start'), 1) : undefined)
    case 'li':
      return beginItem(page, attributes)
    case 'blockquote':
      return enterContainer(lines, '> ', '> ')
    case 'tr':
      return enterRow(lines)
    case 'td':
    case 'th':
      startCell(lines)
      return nothing
    case 'span':
      // How fediverse posts mark an address whose end is hidden.
      return attributes.get('class')?.split(/\s+/).includes('ellipsis') === true
        ? () => appendText(lines, '…', false)
        : nothing
    default:
      return nothing
  }
}

/** What stands before the second and the third element in one of these. */
const signs: ReadonlyMap<string, readonly string[]> = new Map([
  ['mfrac', ['/']],
  ['mroot', ['^1/']],
  ['msup', ['^']],
  ['msub', ['_']],
  ['msubsup', ['_', '^']],
  ['mover', ['^']],
  ['munder', ['_']],
  ['munderover', ['_', '^']],
])
const separators: ReadonlyMap<string, string> = new Map([
  ['mtable', '; '],
  ['mtr', ', '],
])

/** Formulas in a line, as people type them: x^2, (a + b)/2. */
function beginFormula({ lines, formulas }: Page, name: string): () => void {
  const parent = name === 'math' ? undefined : formulas.at(-1)
  const place = signs.get(parent?.name ?? '')
  if (parent !== undefined) {
    const sign = place?.[parent.children - 1] ?? (parent.children > 0 ? separators.get(parent.name) : undefined)
    parent.children += 1
    if (sign !== undefined) tieText(lines, sign)
  }
  const opening = name === 'msqrt' ? '√(' : name === 'mrow' && place !== undefined ? '(' : ''
  writeWords(lines, opening)
  formulas.push({ name, children: 0 })
  return () => {
    formulas.pop()
    if (opening !== '') appendText(lines, ')', false)
  }
}

function beginLink(lines: Lines, attributes: Attributes): () => void {
  const label = recordLines(lines)
  return () => {
    const classes = attributes.get('class')?.split(/\s+/) ?? []
    const more = htmlLinkText(label.end(), attributes.get('href'), classes)
    if (more?.place === 'instead') label.replace(more.text)
    else if (more !== undefined) appendText(lines, more.text, more.place === 'apart')
  }
}

function beginList({ lists }: Page, next: number | undefined): () => void {
  lists.push({ next })
  return () => void lists.pop()
}

function beginItem({ lists, lines }: Page, attributes: Attributes): () => void {
  const list = lists.at(-1)
  if (list?.next === undefined) return enterContainer(lines, '- ', '  ')
  const number = parseWholeNumber(attributes.get('value'), list.next)
  list.next = number + 1
  return enterContainer(lines, `${number}. `, '   ')
}

function isNestedList({ lists }: Page, name: string): boolean {
  return lists.length > 0 && /^(?:ul|ol|menu|dir)$/.test(name)
}

function parseWholeNumber(text: string | undefined, otherwise: number): number {
  return text !== undefined && /^-?\d{1,9}$/.test(text.trim()) ? Number(text) : otherwise
}

function writeVoid(lines: Lines, name: string, look: Visibility, attributes: Attributes): void {
  if (!isShownToReader(look)) return
  if (name === 'br') breakLine(lines)
  if (name === 'hr') writeRule(lines)
  if (name === 'img') writeImage(lines, attributes)
}

function writeRule(lines: Lines): void {
  writeLine(lines, '---', 2)
}

function writeLine(lines: Lines, text: string, breaks: 1 | 2 = 1): void {
  startBlock(lines, breaks)
  writeWords(lines, text)
  startBlock(lines, breaks)
}

/** Pictures without words, and those that say they only decorate, say nothing to a model either. */
function writeImage(lines: Lines, attributes: Attributes): void {
  const alt = withoutUnseen(attributes.get('alt') ?? '')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, maxAltLength)
    .toWellFormed()
  const isDecoration =
    attributes.get('aria-hidden') === 'true' || /^(?:presentation|none)$/.test(attributes.get('role') ?? '')
  if (alt === '' || isDecoration) return
  writeWords(lines, shortcode.test(alt) ? alt : `[image: ${alt}]`)
}

// The tags and the text of a document, in order. The tokenizer alone: it is linear, and keeps no stack that grows.

export type TokenReader = {
  readonly open: (name: string, attributes: Attributes) => void
  readonly close: (name: string) => void
  readonly text: (text: string) => void
  /** Reading ends when the caller has enough. */
  readonly isFull: () => boolean
}

/** The only attributes that are read; a flood of others is skipped. */
const read = new Set(
  `style class id hidden href src alt width height color bgcolor background start value type open aria-hidden role
   aria-label`.split(/\s+/),
)
const none: Attributes = new Map()

function readTokens(html: string, reader: TokenReader): void {
  let tag = ''
  let attributes: Map<string, string> | undefined
  let attribute = ''
  let value: string[] = []
  const flow = (action: () => void) => {
    action()
    if (reader.isFull()) tokenizer.pause()
  }
  const opened = () => flow(() => reader.open(tag, attributes ?? none))
  const tokenizer = new Tokenizer(
    {},
    {
      // Behind a closing tag that never ends the tokenizer names a text that begins before the document: there is none.
      ontext: (start, end) => void (start >= 0 && flow(() => reader.text(html.slice(start, end)))),
      ontextentity: (point) => flow(() => reader.text(String.fromCodePoint(point))),
      onopentagname(start, end) {
        tag = html.slice(start, end).toLowerCase()
        attributes = undefined
      },
      onattribname(start, end) {
        attribute = html.slice(start, end).toLowerCase()
        value = []
      },
      onattribdata: (start, end) => void (read.has(attribute) && value.push(html.slice(start, end))),
      onattribentity: (point) => void (read.has(attribute) && value.push(String.fromCodePoint(point))),
      onattribend() {
        if (!read.has(attribute)) return
        attributes ??= new Map()
        // Of two attributes of one name the first one counts.
        if (!attributes.has(attribute)) attributes.set(attribute, value.join(''))
      },
      onopentagend: opened,
      onselfclosingtag: opened,
      onclosetag: (start, end) => flow(() => reader.close(html.slice(start, end).toLowerCase())),
      oncdata: () => {},
      oncomment: () => {},
      ondeclaration: () => {},
      onprocessinginstruction: () => {},
      onend: () => {},
    },
  )
  tokenizer.write(html)
  tokenizer.end()
}

// What a reader must know about a link besides its label: where it really goes.

const maxShownUrl = 2_000
const protocols = new Set(['https:', 'http:', 'mailto:', 'tel:'])
const mention = /^@[\p{L}\p{N}_.-]+$/u
const hashtag = /^#[\p{L}\p{M}\p{N}_]+$/u

/** What is said besides the label: behind it, apart from it with a space, or instead of it. */
type LinkText = { readonly text: string; readonly place: 'behind' | 'apart' | 'instead' }

/** Undefined: the label says it all. */
function htmlLinkText(label: string, href: string | undefined, classes: readonly string[]): LinkText | undefined {
  const url = linkTarget(href)
  if (label === '' || url === undefined) return undefined
  if (hashtag.test(label) && classes.includes('hashtag')) return undefined
  if (mention.test(label) && (classes.includes('mention') || classes.includes('u-url')))
    return url.host === '' ? undefined : { text: `@${url.host}`, place: 'behind' }
  if (saysSame(label, url)) return undefined
  const shown = shownUrl(url)
  if (shown.length > maxShownUrl) return { text: `(${shown.slice(0, maxShownUrl)}…)`, place: 'apart' }
  return isShortened(label, url) ? { text: shown, place: 'instead' } : { text: `(${shown})`, place: 'apart' }
}

/** The beginning of the address itself, with all of its host: how servers of the fediverse show long ones. */
function isShortened(label: string, url: URL): boolean {
  const stem = /^(.+?)(?:…|\.\.\.)$/.exec(label)?.[1]
  if (stem === undefined || url.host === '') return false
  const [said, target] = [comparable(stem), comparable(shownUrl(url))]
  return target.startsWith(said) && said.length > comparable(url.host).length
}

function linkTarget(href: string | undefined): URL | undefined {
  if (href === undefined || !URL.canParse(href)) return undefined
  const url = new URL(href)
  return protocols.has(url.protocol) ? url : undefined
}

/** User names in an address only deceive, and the subject and body of a mailto link are not needed. */
function shownUrl(url: URL): string {
  if (url.protocol === 'mailto:' || url.protocol === 'tel:') return url.protocol + url.pathname
  const shown = new URL(url)
  shown.username = ''
  shown.password = ''
  return shown.href
}

/** `x.example` and `https://www.x.example/` go to the same place; so do an address of mail and its link. */
function saysSame(label: string, url: URL): boolean {
  if (url.protocol === 'mailto:' || url.protocol === 'tel:') {
    const bare = (text: string) =>
      text
        .replace(/^(?:mailto|tel):/i, '')
        .replace(/[\s()-]/g, '')
        .toLowerCase()
    return bare(label) === bare(shownUrl(url)) || bare(label) === bare(decodeUriSafely(url.pathname))
  }
  const user = /^@([\p{L}\p{N}_.-]+)@([\p{L}\p{N}.:-]+)$/u.exec(label)
  if (user !== null) return user[2]?.toLowerCase() === url.host && url.href.includes(user[1] ?? '')
  return (
    comparable(label) === comparable(shownUrl(url)) || comparable(label) === comparable(decodeUriSafely(shownUrl(url)))
  )
}

function comparable(text: string): string {
  return text
    .trim()
    .replace(/^https?:\/\//i, '')
    .replace(/^www\./i, '')
    .replace(/\/$/, '')
    .replace(/^[^/?#]+/, (host) => host.toLowerCase())
}

function decodeUriSafely(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
