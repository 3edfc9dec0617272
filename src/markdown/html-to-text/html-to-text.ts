// Converts HTML of a mail or a post to the text a reader would see, for a model to read: no markup, no hidden words, no hidden
// targets (a defence against prompt injection). Linear in its input and bounded in size and depth. Quoted history is left to the
// channel's adapter.

import { Tokenizer } from 'htmlparser2'
import { maxTextLength } from '../../contract/index.ts'
import { cleanText } from '../../lib/clean-text.ts'
import { removeInvisibleExceptJoiners, removeUnneededZeroWidthJoiners } from './invisible-characters.ts'
import { closeAllElements, closeElement, createOpenElements, currentVisibility, openElement } from './open-elements.ts'
import {
  appendText,
  appendWithoutSpace,
  breakLine,
  createEmptyTextLines,
  enterListOrQuote,
  enterTableRow,
  joinFinishedLines,
  type Lines,
  recordWrittenText,
  requestLineBreaks,
  startCell,
  writePreformatted,
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
const doNothing = () => {}

export type HtmlTextOptions = {
  readonly maxLength?: number
  /** A line of its own where such an element begins, for a caller that knows what the sender's program means by it. */
  readonly mark?: (name: string, attributes: Attributes) => string | undefined
  /** Called when words were left out because no reader sees them. */
  readonly onHidden?: () => void
}

/** At most `maxLength` UTF-16 units of plain text. It is never markup again: a caller that shows it must escape it. */
export function htmlToText(html: string, options: HtmlTextOptions = {}): string {
  const lines = createEmptyTextLines(Math.min(options.maxLength ?? maxTextLength, maxTextLength))
  const elements = createOpenElements()
  const [lists, formulas]: [List[], Formula[]] = [[], []]
  let isRaw = false
  readTokens(cleanText(html.slice(0, maxHtmlLength)), {
    open(name, attributes) {
      isRaw = rawTags.has(name)
      if (isRaw) return
      if (voidTags.has(name))
        return writeVoidElement(
          lines,
          name,
          computeVisibility(currentVisibility(elements), name, attributes),
          attributes,
        )
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
      if (!closeElement(elements, name) && (name === 'br' || name === 'p')) requestLineBreaks(lines, 1)
    },
    text(text) {
      const look = currentVisibility(elements)
      if (isRaw) return
      if (!isShownToReader(look)) {
        if (options.onHidden !== undefined && /\S/.test(text)) options.onHidden()
        return
      }
      if (look.keepsSpace) writePreformatted(lines, removeInvisibleExceptJoiners(text))
      else writeWords(lines, removeInvisibleExceptJoiners(text))
    },
    isFull: () => lines.isFull,
  })
  closeAllElements(elements)
  return removeUnneededZeroWidthJoiners(joinFinishedLines(lines))
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
  if (!isShownToReader(look)) return doNothing
  if (mathTags.has(name)) return beginFormula(page, name)
  const breaks = spacedTags.has(name) ? 2 : 1
  const isBlock = breaks === 2 || lineTags.has(name)
  if (isBlock) requestLineBreaks(page.lines, isNestedList(page, name) ? 1 : breaks)
  const end = beginElementOfKind(page, name, attributes)
  if (!isBlock) return end
  return () => {
    end()
    requestLineBreaks(page.lines, isNestedList(page, name) ? 1 : breaks)
  }
}

function beginElementOfKind(page: Page, name: string, attributes: Attributes): () => void {
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
      return enterListOrQuote(lines, '> ', '> ')
    case 'tr':
      return enterTableRow(lines)
    case 'td':
    case 'th':
      startCell(lines)
      return doNothing
    case 'span':
      // How fediverse posts mark an address whose end is hidden.
      return attributes.get('class')?.split(/\s+/).includes('ellipsis') === true
        ? () => appendText(lines, '…', false)
        : doNothing
    default:
      return doNothing
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
    if (sign !== undefined) appendWithoutSpace(lines, sign)
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
  const label = recordWrittenText(lines)
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
  if (list?.next === undefined) return enterListOrQuote(lines, '- ', '  ')
  const number = parseWholeNumber(attributes.get('value'), list.next)
  list.next = number + 1
  return enterListOrQuote(lines, `${number}. `, '   ')
}

function isNestedList({ lists }: Page, name: string): boolean {
  return lists.length > 0 && /^(?:ul|ol|menu|dir)$/.test(name)
}

function parseWholeNumber(text: string | undefined, otherwise: number): number {
  return text !== undefined && /^-?\d{1,9}$/.test(text.trim()) ? Number(text) : otherwise
}

function writeVoidElement(lines: Lines, name: string, look: Visibility, attributes: Attributes): void {
  if (!isShownToReader(look)) return
  if (name === 'br') breakLine(lines)
  if (name === 'hr') writeRule(lines)
  if (name === 'img') writeImage(lines, attributes)
}

function writeRule(lines: Lines): void {
  writeLine(lines, '---', 2)
}

function writeLine(lines: Lines, text: string, breaks: 1 | 2 = 1): void {
  requestLineBreaks(lines, breaks)
  writeWords(lines, text)
  requestLineBreaks(lines, breaks)
}

/** Pictures without words, and those that say they only decorate, say nothing to a model either. */
function writeImage(lines: Lines, attributes: Attributes): void {
  const alt = removeInvisibleExceptJoiners(attributes.get('alt') ?? '')
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
  const runAndPauseWhenFull = (action: () => void) => {
    action()
    if (reader.isFull()) tokenizer.pause()
  }
  const openCurrentTag = () => runAndPauseWhenFull(() => reader.open(tag, attributes ?? none))
  const tokenizer = new Tokenizer(
    {},
    {
      // Behind a closing tag that never ends the tokenizer names a text that begins before the document: there is none.
      ontext: (start, end) => void (start >= 0 && runAndPauseWhenFull(() => reader.text(html.slice(start, end)))),
      ontextentity: (point) => runAndPauseWhenFull(() => reader.text(String.fromCodePoint(point))),
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
      onopentagend: openCurrentTag,
      onselfclosingtag: openCurrentTag,
      onclosetag: (start, end) => runAndPauseWhenFull(() => reader.close(html.slice(start, end).toLowerCase())),
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
  const url = parseLinkWithAllowedProtocol(href)
  if (label === '' || url === undefined) return undefined
  if (hashtag.test(label) && classes.includes('hashtag')) return undefined
  if (mention.test(label) && (classes.includes('mention') || classes.includes('u-url')))
    return url.host === '' ? undefined : { text: `@${url.host}`, place: 'behind' }
  if (isLabelOfUrl(label, url)) return undefined
  const shown = urlWithoutCredentials(url)
  if (shown.length > maxShownUrl) return { text: `(${shown.slice(0, maxShownUrl)}…)`, place: 'apart' }
  return isShortenedUrl(label, url) ? { text: shown, place: 'instead' } : { text: `(${shown})`, place: 'apart' }
}

/** The beginning of the address itself, with all of its host: how servers of the fediverse show long ones. */
function isShortenedUrl(label: string, url: URL): boolean {
  const stem = /^(.+?)(?:…|\.\.\.)$/.exec(label)?.[1]
  if (stem === undefined || url.host === '') return false
  const [said, target] = [normalizeUrlForComparison(stem), normalizeUrlForComparison(urlWithoutCredentials(url))]
  return target.startsWith(said) && said.length > normalizeUrlForComparison(url.host).length
}

function parseLinkWithAllowedProtocol(href: string | undefined): URL | undefined {
  if (href === undefined || !URL.canParse(href)) return undefined
  const url = new URL(href)
  return protocols.has(url.protocol) ? url : undefined
}

/** User names in an address only deceive, and the subject and body of a mailto link are not needed. */
function urlWithoutCredentials(url: URL): string {
  if (url.protocol === 'mailto:' || url.protocol === 'tel:') return url.protocol + url.pathname
  const shown = new URL(url)
  shown.username = ''
  shown.password = ''
  return shown.href
}

/** `x.example` and `https://www.x.example/` go to the same place; so do an address of mail and its link. */
function isLabelOfUrl(label: string, url: URL): boolean {
  if (url.protocol === 'mailto:' || url.protocol === 'tel:') {
    const normalizeContactAddress = (text: string) =>
      text
        .replace(/^(?:mailto|tel):/i, '')
        .replace(/[\s()-]/g, '')
        .toLowerCase()
    return (
      normalizeContactAddress(label) === normalizeContactAddress(urlWithoutCredentials(url)) ||
      normalizeContactAddress(label) === normalizeContactAddress(decodeUriSafely(url.pathname))
    )
  }
  const user = /^@([\p{L}\p{N}_.-]+)@([\p{L}\p{N}.:-]+)$/u.exec(label)
  if (user !== null) return user[2]?.toLowerCase() === url.host && url.href.includes(user[1] ?? '')
  return (
    normalizeUrlForComparison(label) === normalizeUrlForComparison(urlWithoutCredentials(url)) ||
    normalizeUrlForComparison(label) === normalizeUrlForComparison(decodeUriSafely(urlWithoutCredentials(url)))
  )
}

function normalizeUrlForComparison(text: string): string {
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
