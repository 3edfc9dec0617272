// Trims a mail to what the sender wrote now, without the mail they answer and their signature. One pass over the lines. When in
// doubt the words stay: a quote too many is read past, an answer too few is lost.

import type { HtmlTextOptions } from '../../../src/markdown/index.ts'
import { findNextNonBlankLine, type MailLine, splitMailLines } from './mail-lines.ts'
import {
  countHeaderBlockLinesAt,
  findAttributionAt,
  isForwardedMessageLine,
  isLongSeparatorLine,
  isOriginalMessageLine,
  isSeparatorLine,
  sentFromPhrases,
} from './quote-intro.ts'
export type Trimmed = {
  readonly text: string
  /** What was taken off; empty where nothing was. */
  readonly quoted: string
}

/** Lines that belong together. `attributed`: a quote with a line above it that says whose words they are. */
type Block = { readonly kind: 'words' | 'quote' | 'attributed' | 'gone'; readonly start: number; readonly end: number }

/** Text made from HTML may hold the marks of `quoteMarkOfHtmlElement`. */
export function trimReply(text: string): Trimmed {
  return splitReplyFromQuotes(splitMailLines(text.replaceAll('\r\n', '\n')))
}

function splitReplyFromQuotes(lines: readonly MailLine[]): Trimmed {
  const blocks = splitBlocks(lines)
  const kept = chooseReplyBlocks(lines, blocks)
  const text = kept
    .map((block) => trimmedBlockText(lines, block))
    .join('\n')
    .trim()
  const isKept = new Uint8Array(lines.length)
  for (const { start, end } of kept) isKept.fill(1, start, end)
  const rest = lines.filter((line, at) => isKept[at] === 0 && !line.isBlank && !hasHtmlQuoteMarker(line))
  // Nothing would be left of it, or everything: then it stays as it was.
  if (rest.length === 0 || !/[\p{L}\p{N}\p{S}]/u.test(text))
    return { text: joinLinesExceptHtmlMarkers(lines), quoted: '' }
  return { text, quoted: rest.map(({ raw }) => raw).join('\n') }
}

function joinLinesExceptHtmlMarkers(lines: readonly MailLine[]): string {
  const shown = lines.filter((line) => !hasHtmlQuoteMarker(line)).map(({ raw }) => raw)
  return shown.join('\n').trim()
}

/** The text from its beginning to where nothing more can be the author's. */
function splitBlocks(lines: readonly MailLine[]): readonly Block[] {
  const blocks: Block[] = []
  let hasWords = false
  for (let at = 0; at < lines.length; ) {
    const found: Block = readBlockAt(lines, at, hasWords)
    hasWords ||= found.kind === 'words' && hasTextLine(lines, found.start, found.end)
    blocks.push(found)
    at = found.end
  }
  return joinWordBlocks(blocks)
}

function readBlockAt(lines: readonly MailLine[], at: number, hasWords: boolean): Block {
  const line = lines[at]
  const end = lines.length
  if (line === undefined) return { kind: 'gone', start: at, end }
  // What is handed on is what the mail is about, down to its last line.
  if (isForwardedMessageLine(line)) return { kind: 'words', start: at, end }
  if (hasHtmlQuoteMarker(line)) return readBlockBelowHtmlMarker(lines, at, hasWords)
  if (line.isQuote) return { kind: 'quote', start: at, end: findQuoteEnd(lines, at) }
  if (isOriginalMessageLine(line) || countHeaderBlockLinesAt(lines, at) > 0)
    return { kind: hasWords ? 'gone' : 'words', start: at, end }
  const attribution = findAttributionAt(lines, at)
  if (attribution === undefined) return { kind: 'words', start: at, end: at + 1 }
  const { length, quoteAt } = attribution
  if (quoteAt !== undefined) return { kind: 'attributed', start: at, end: findQuoteEnd(lines, quoteAt) }
  return { kind: 'gone', start: at, end: hasWords ? end : at + length }
}

/** Below a mark: a forward, lines that are marked as quoted, or the rest of the text. */
function readBlockBelowHtmlMarker(lines: readonly MailLine[], at: number, hasWords: boolean): Block {
  const end = lines.length
  const mark: Block = { kind: 'gone', start: at, end: at + 1 }
  for (let below = at + 1, written = 0; below < end && written < 8; below += 1) {
    const line = lines[below]
    if (line === undefined || line.isBlank || hasHtmlQuoteMarker(line)) continue
    if (isForwardedMessageLine(line)) return mark
    if (line.isQuote) return { kind: 'attributed', start: at, end: findQuoteEnd(lines, below) }
    written += 1
  }
  return hasWords ? { kind: 'gone', start: at, end } : mark
}

/** Quoted lines, and the blank ones between them. */
function findQuoteEnd(lines: readonly MailLine[], start: number): number {
  const isBarred = lines[start]?.isQuote !== true
  const isPartOfQuote = (line: MailLine | undefined): boolean =>
    line !== undefined &&
    (line.isQuote || hasHtmlQuoteMarker(line) || (isBarred && line.raw.trimStart().startsWith('|')))
  let end = start + 1
  for (let at = end; at < lines.length; at = findNextNonBlankLine(lines, at + 1)) {
    if (lines[at]?.isBlank === true) continue
    if (!isPartOfQuote(lines[at])) break
    end = at + 1
  }
  return end
}

/** Neighbouring lines of words are one block. */
function joinWordBlocks(blocks: readonly Block[]): readonly Block[] {
  const result: Block[] = []
  for (const block of blocks) {
    const last = result.at(-1)
    if (last?.kind === 'words' && block.kind === 'words') result[result.length - 1] = { ...last, end: block.end }
    else result.push(block)
  }
  return result
}

/** Quotes below the last word go. Others are what is answered, and stay where they are answered. */
function chooseReplyBlocks(lines: readonly MailLine[], blocks: readonly Block[]): readonly Block[] {
  const words: Block[] = []
  for (const block of blocks.filter(({ kind }) => kind === 'words')) {
    const end = findAuthorTextEnd(lines, { start: block.start, end: block.end, isLater: words.length > 0 })
    if (end > findNextNonBlankLine(lines, block.start)) words.push({ ...block, end })
  }
  const [first, last] = [words[0], words.at(-1)]
  if (first === undefined || last === undefined) return []
  const quotes = blocks.filter(({ kind, start }) => (kind === 'quote' || kind === 'attributed') && start < last.start)
  // One quote above all words, with its attribution, is what most programs put there by themselves.
  const isBottomPost = quotes.length === 1 && quotes[0]?.kind === 'attributed' && quotes[0].start < first.start
  const context = isBottomPost ? [] : quotes.map((quote) => withoutAttribution(lines, quote))
  return [...words, ...context].toSorted((one, other) => one.start - other.start)
}

function withoutAttribution(lines: readonly MailLine[], { kind, start, end }: Block): Block {
  let from = start
  while (kind === 'attributed' && from < end && !isQuotedLine(lines[from])) from += 1
  return { kind, start: from === end ? start : from, end }
}

function isQuotedLine(line: MailLine | undefined): boolean {
  return line !== undefined && (line.isQuote || line.text.startsWith('|')) && !/:\s*$/.test(line.text.slice(0, 30))
}

function hasTextLine(lines: readonly MailLine[], start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const line = lines[at]
    if (line !== undefined && !line.isBlank && !isSeparatorLine(line) && !hasHtmlQuoteMarker(line)) return true
  }
  return false
}

function hasHtmlQuoteMarker({ raw }: MailLine): boolean {
  return raw.includes(quoteMark)
}

/** Words with one blank line behind them, where there was any: it was taken for the end of the text. */
function trimmedBlockText(lines: readonly MailLine[], { kind, start, end }: Block): string {
  const shown = lines.slice(start, end).filter((line) => !hasHtmlQuoteMarker(line))
  return `${shown.map(({ raw }) => raw.trimEnd()).join('\n')}${kind === 'words' && lines[end]?.isBlank === true ? '\n' : ''}`
}

// In HTML a mail program's own markup says where the quoted mail begins, which is surer than any words.

/** No text has it: control characters are taken out of what people write. */
const quoteMark = '\u0001'

const ids = new Set(['divrplyfwdmsg', 'appendonsend', 'mail-editor-reference-message-container', 'orimsghtmlseperator'])
const classes = new Set([
  'gmail_quote',
  'gmail_quote_container',
  'yahoo_quoted',
  'moz-cite-prefix',
  'protonmail_quote',
  'zmail_extra',
  'ms-outlook-mobile-reference-message',
  'tutanota_quote',
  'mail_quote',
  'ydpyahoo_quoted',
  'front-blockquote',
])

export const quoteMarkOfHtmlElement: NonNullable<HtmlTextOptions['mark']> = (name, attributes) => {
  if (name !== 'div' && name !== 'blockquote' && name !== 'hr') return undefined
  const id = attributes.get('id')?.trim().toLowerCase().replace(/^x_/, '') ?? ''
  if (ids.has(id)) return quoteMark
  const named = attributes.get('class')?.toLowerCase().split(/\s+/, 20) ?? []
  // A quote inside of a quote is marked by its lines already.
  return name === 'div' && named.some((each) => classes.has(each.replace(/^x_/, ''))) ? quoteMark : undefined
}

export function dropHtmlQuoteMarkerLines(text: string): string {
  if (!text.includes(quoteMark)) return text
  return text
    .split('\n')
    .filter((line) => !line.includes(quoteMark))
    .join('\n')
    .trim()
}

// Signatures, and lines that phones add.

const maxSignatureLines = 15
const maxFooterLines = 8

export type Stretch = {
  readonly start: number
  readonly end: number
  /** Something was said before it, so that nothing of it need be words. */
  readonly isLater: boolean
}

/** Where the words end, in these lines. */
function findAuthorTextEnd(lines: readonly MailLine[], { start, end, isLater }: Stretch): number {
  let words = endWithoutTrailingFiller(lines, start, end)
  const first = findNextNonBlankLine(lines, start)
  const mark = findSignatureStart(lines, isLater ? first : first + 1, words)
  if (mark !== undefined) words = endWithoutTrailingFiller(lines, start, mark)
  return words
}

/** Blank lines, rules and lines that phones add, from below. */
function endWithoutTrailingFiller(lines: readonly MailLine[], start: number, end: number): number {
  let last = end
  while (last > start) {
    const line = lines[last - 1]
    if (line === undefined || !(line.isBlank || isSeparatorLine(line) || isDeviceSignature(line))) break
    last -= 1
  }
  return last
}

/** The first line of a signature. A mark with much below it is one of the author's own, and so is one with nothing above. */
function findSignatureStart(lines: readonly MailLine[], first: number, end: number): number | undefined {
  for (let at = Math.max(first, end - 1 - 2 * maxSignatureLines); at < end; at += 1) {
    const line = lines[at]
    if (line === undefined) continue
    const below = lines.slice(at + 1, end).filter(({ isBlank }) => !isBlank).length
    const isMark = line.raw.replace(/\r$/, '') === '-- ' || line.text === '--' || line.text === '—'
    if (isMark && below <= maxSignatureLines) return at
    if (isLongSeparatorLine(line) && below <= maxFooterLines) return at
  }
  return undefined
}

function isDeviceSignature({ low }: MailLine): boolean {
  const words = low.replace(/^[([<{"'“]+/, '')
  if (words.length > 140) return false
  const [sentence = ''] = words.split(/[.!](?:\s|$)/, 1)
  const isShort = sentence.replace(/<?\(?https?:\S*/g, '').split(/\s+/).length <= 10
  if (!isShort) return false
  if (
    /^.{2,30}(?:から送信|에서 보냄|傳送|发送|gesendet|gönderildi|küldve)\.?$/.test(words) &&
    /iphone|ipad|android|mobil|phone|mail/.test(words)
  )
    return true
  return (
    sentFromPhrases.some((phrase) => words.startsWith(phrase)) ||
    /^\p{L}+ from (?:my )?(?:mobile|phone|iphone)$/u.test(words)
  )
}
