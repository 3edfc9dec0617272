// HTML of a mail or a post as the text a reader would see, for a model to read: no markup, no hidden words, no hidden targets.
// Linear in its input and bounded in size and depth. Quoted history is left to the channel's adapter.
import { cleanText, maxTextLength } from '../../contract/index.ts'
import { lineTags, mathTags, rawTags, spacedTags, voidTags } from './elements.ts'
import { readTokens } from './html-tokens.ts'
import { withoutLooseJoiners, withoutUnseen } from './invisible-characters.ts'
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
} from './lines.ts'
import { htmlLinkText } from './link-text.ts'
import { type Attributes, computeVisibility, isShownToReader, type Visibility } from './look.ts'
import { closeAll, closeElement, currentLook, noElements, openElement } from './open-elements.ts'

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
