// What the sender wrote now, told apart from the mail they answer and from their signature. One pass over the lines.
// When in doubt the words stay: a quote too many is read past, an answer too few is lost.
import { attributionAt } from './attribution.ts'
import { headerBlockAt } from './header-block.ts'
import { quoteMark } from './html-marks.ts'
import { type MailLine, mailLines, nextWrittenLine } from './mail-lines.ts'
import { isForwardLine, isOriginalLine, isRuleLine } from './separators.ts'
import { wordsEnd } from './signature.ts'

export type Trimmed = {
  readonly text: string
  /** What was taken off; empty where nothing was. */
  readonly quoted: string
}

/** Lines that belong together. `attributed`: a quote with a line above it that says whose words they are. */
type Block = { readonly kind: 'words' | 'quote' | 'attributed' | 'gone'; readonly start: number; readonly end: number }

/** Text made from HTML may hold the marks of `markQuote`. */
export function trimReply(text: string): Trimmed {
  return trimLines(mailLines(text.replaceAll('\r\n', '\n')))
}

function trimLines(lines: readonly MailLine[]): Trimmed {
  const blocks = splitBlocks(lines)
  const kept = keptBlocks(lines, blocks)
  const text = kept
    .map((block) => trimmedBlockText(lines, block))
    .join('\n')
    .trim()
  const isKept = new Uint8Array(lines.length)
  for (const { start, end } of kept) isKept.fill(1, start, end)
  const rest = lines.filter((line, at) => isKept[at] === 0 && !line.isBlank && !isQuoteMarkLine(line))
  // Nothing would be left of it, or everything: then it stays as it was.
  if (rest.length === 0 || !/[\p{L}\p{N}\p{S}]/u.test(text)) return { text: wholeText(lines), quoted: '' }
  return { text, quoted: rest.map(({ raw }) => raw).join('\n') }
}

function wholeText(lines: readonly MailLine[]): string {
  const shown = lines.filter((line) => !isQuoteMarkLine(line)).map(({ raw }) => raw)
  return shown.join('\n').trim()
}

/** The text from its beginning to where nothing more can be the author's. */
function splitBlocks(lines: readonly MailLine[]): readonly Block[] {
  const blocks: Block[] = []
  let hasWords = false
  for (let at = 0; at < lines.length; ) {
    const found: Block = blockAt(lines, at, hasWords)
    hasWords ||= found.kind === 'words' && hasWrittenWords(lines, found.start, found.end)
    blocks.push(found)
    at = found.end
  }
  return joinWordBlocks(blocks)
}

function blockAt(lines: readonly MailLine[], at: number, hasWords: boolean): Block {
  const line = lines[at]
  const end = lines.length
  if (line === undefined) return { kind: 'gone', start: at, end }
  // What is handed on is what the mail is about, down to its last line.
  if (isForwardLine(line)) return { kind: 'words', start: at, end }
  if (isQuoteMarkLine(line)) return markedBlock(lines, at, hasWords)
  if (line.isQuote) return { kind: 'quote', start: at, end: quoteEnd(lines, at) }
  if (isOriginalLine(line) || headerBlockAt(lines, at) > 0) return { kind: hasWords ? 'gone' : 'words', start: at, end }
  const attribution = attributionAt(lines, at)
  if (attribution === undefined) return { kind: 'words', start: at, end: at + 1 }
  const { length, quoteAt } = attribution
  if (quoteAt !== undefined) return { kind: 'attributed', start: at, end: quoteEnd(lines, quoteAt) }
  return { kind: 'gone', start: at, end: hasWords ? end : at + length }
}

/** Below a mark: a forward, lines that are marked as quoted, or the rest of the text. */
function markedBlock(lines: readonly MailLine[], at: number, hasWords: boolean): Block {
  const end = lines.length
  const mark: Block = { kind: 'gone', start: at, end: at + 1 }
  for (let below = at + 1, written = 0; below < end && written < 8; below += 1) {
    const line = lines[below]
    if (line === undefined || line.isBlank || isQuoteMarkLine(line)) continue
    if (isForwardLine(line)) return mark
    if (line.isQuote) return { kind: 'attributed', start: at, end: quoteEnd(lines, below) }
    written += 1
  }
  return hasWords ? { kind: 'gone', start: at, end } : mark
}

/** Quoted lines, and the blank ones between them. */
function quoteEnd(lines: readonly MailLine[], start: number): number {
  const isBarred = lines[start]?.isQuote !== true
  const isQuote = (line: MailLine | undefined): boolean =>
    line !== undefined && (line.isQuote || isQuoteMarkLine(line) || (isBarred && line.raw.trimStart().startsWith('|')))
  let end = start + 1
  for (let at = end; at < lines.length; at = nextWrittenLine(lines, at + 1)) {
    if (lines[at]?.isBlank === true) continue
    if (!isQuote(lines[at])) break
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
function keptBlocks(lines: readonly MailLine[], blocks: readonly Block[]): readonly Block[] {
  const words: Block[] = []
  for (const block of blocks.filter(({ kind }) => kind === 'words')) {
    const end = wordsEnd(lines, { start: block.start, end: block.end, isLater: words.length > 0 })
    if (end > nextWrittenLine(lines, block.start)) words.push({ ...block, end })
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

function hasWrittenWords(lines: readonly MailLine[], start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const line = lines[at]
    if (line !== undefined && !line.isBlank && !isRuleLine(line) && !isQuoteMarkLine(line)) return true
  }
  return false
}

function isQuoteMarkLine({ raw }: MailLine): boolean {
  return raw.includes(quoteMark)
}

/** Words with one blank line behind them, where there was any: it was taken for the end of the text. */
function trimmedBlockText(lines: readonly MailLine[], { kind, start, end }: Block): string {
  const shown = lines.slice(start, end).filter((line) => !isQuoteMarkLine(line))
  return `${shown.map(({ raw }) => raw.trimEnd()).join('\n')}${kind === 'words' && lines[end]?.isBlank === true ? '\n' : ''}`
}
