// The introduction of a quote: "On Monday at 10:00, Ann <ann@example.com> wrote:", often broken into several lines, and header
// lines of a forwarded mail.
import { type MailLine, nextWrittenLine } from './mail-lines.ts'
import {
  dayWords,
  forwardPhrases,
  type HeaderKind,
  headerWords,
  onWords,
  originalPhrases,
  wroteWords,
} from './phrases.ts'

export type Attribution = {
  /** How many lines it takes up. */
  readonly length: number
  /** Where the quoted lines below it begin; undefined where what follows is not marked as quoted. */
  readonly quoteAt: number | undefined
}

const maxWritten = 4
const maxAttributionLines = 6
const mailAddress = /[^\s<>"@]@[^\s<>"@]/
const clock = /\d{1,2}[:.h]\d{2}|\d{1,2}\s?(?:am|pm|uhr|時|时|點|点|시)/
const date = /\d{4}|\d{1,2}[./-]\d{1,2}|\d{1,2}\s?(?:月|월)/
const beginsWithDate =
  /^\d{4}[-/.年]\s?\d{1,2}[-/.月]\s?\d{1,2}|^\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|^\d{1,2}\.? \p{L}{2,12}\.? \d{4}/u
/** `<ann@example.com>:` */
const bracketed = /<[^<>]{3,250}> ?[:：]$/
const closings = [':', '：', '﹕']

export function attributionAt(lines: readonly MailLine[], start: number): Attribution | undefined {
  const first = lines[start]
  if (first === undefined || first.isBlank || first.isQuote || first.text === '') return undefined
  const reach = attributionReach(first)
  let joined = ''
  let written = 0
  for (let at = start; at < lines.length && at < start + reach.lines && written < reach.written; at += 1) {
    const line = lines[at]
    if (line === undefined || (line.isQuote && !isAttributionTail(line, joined))) break
    if (line.isBlank) continue
    // One that surely begins further down is another one.
    if (at > start && beginsLikeDate(line) && date.test(line.low)) return undefined
    written += 1
    joined = joined === '' ? line.low : `${joined} ${line.low}`
    if (isCompleteAttribution(joined)) return judgeCandidate(lines, { joined, start, end: at + 1 })
  }
  return dateOnlyAttribution(lines, start)
}

/** `<ann@example.com` on one line and `> wrote:` on the next. */
function isAttributionTail(line: MailLine, joined: string): boolean {
  if (line.text.length > 60 || joined === '' || !endsWithColon(line.text)) return false
  return hasWrote(line.low) || joined.lastIndexOf('<') > joined.lastIndexOf('>')
}

/** How far down its end is looked for: only what looks like a beginning may go on over several lines. */
function attributionReach(line: MailLine): { readonly lines: number; readonly written: number } {
  if (beginsLikeDate(line)) return { lines: maxAttributionLines, written: maxWritten }
  const isNamed = mailAddress.test(line.low) || (/\d/.test(line.low) && hasWrote(line.low))
  return isNamed ? { lines: 2, written: 2 } : { lines: 1, written: 1 }
}

function beginsLikeDate({ low }: MailLine): boolean {
  const words = low.replace(/^[-\s]+/, '')
  if (beginsWithDate.test(words) || dayWords.some((day) => isFollowedByNumber(words, day))) return true
  return startsWithOn(words) && (date.test(words) || clock.test(words) || (words.includes(',') && /\d/.test(words)))
}

function isFollowedByNumber(low: string, day: string): boolean {
  return low.startsWith(day) && /^[.,]{0,2} ?\d/.test(low.slice(day.length))
}

function isCompleteAttribution(joined: string): boolean {
  if (endsWithColon(joined)) return true
  if (!clock.test(joined) || !hasWrote(joined)) return false
  return joined.endsWith('--') || (mailAddress.test(joined) && /\p{L}$/u.test(joined) && endsWithWrote(joined))
}

type Candidate = { readonly joined: string; readonly start: number; readonly end: number }

/** Above marked quotes little evidence is enough; without them it must be what only a program writes. */
function judgeCandidate(lines: readonly MailLine[], { joined, start, end }: Candidate): Attribution | undefined {
  const next = nextWrittenLine(lines, end)
  const isAboveQuote = next < lines.length && next - end <= 2 && isQuoteBelow(lines[next])
  const verb = hasWrote(joined)
  const address = mailAddress.test(joined)
  const length = end - start
  if (isAboveQuote) {
    const isLikely = verb || (address && clock.test(joined)) || (address && date.test(joined))
    return isLikely ? { length, quoteAt: next } : undefined
  }
  const begins = startsWithOn(joined.replace(/^[-\s]+/, '')) || beginsWithDate.test(joined) || address
  const isTimed = clock.test(joined) && date.test(joined)
  const isSigned = (verb && begins && (address || isTimed)) || (isTimed && bracketed.test(joined))
  // A sentence of the author's that ends in a colon has no room for a date, a time and an address.
  return isSigned && joined.length <= 400 ? { length, quoteAt: undefined } : undefined
}

/** Some programs write a date, a time and a name, and neither a verb nor a colon. */
function dateOnlyAttribution(lines: readonly MailLine[], start: number): Attribution | undefined {
  const low = lines[start]?.low ?? ''
  if (!beginsWithDate.test(low) || low.length > 200) return undefined
  const next = nextWrittenLine(lines, start + 1)
  const isAboveQuote = isQuoteBelow(lines[next])
  const isStamped = /^\S+ \d{1,2}:\d{2}(?::\d{2})? (?:gmt|utc)[+-]\d/.test(low)
  if (isStamped || (isAboveQuote && mailAddress.test(low) && low.endsWith('>')))
    return { length: 1, quoteAt: isAboveQuote ? next : undefined }
  return undefined
}

/** Below such a line also bars mark a quote. */
function isQuoteBelow(line: MailLine | undefined): boolean {
  return line !== undefined && (line.isQuote || line.text.startsWith('|'))
}

/** Behind the colon there may be what closes a bracket, turns the direction or draws a line. */
function endsWithColon(text: string): boolean {
  let last = text.length - 1
  while (last >= 0 && ' \t\u200e\u200f>])-'.includes(text.charAt(last))) last -= 1
  return closings.includes(text.charAt(last))
}

function startsWithOn(low: string): boolean {
  return (
    onWords.some((word) => low.startsWith(word) && /^[\s,.:]/.test(low.slice(word.length))) || /^[在于於] ?\d/.test(low)
  )
}

function hasWrote(low: string): boolean {
  return wroteWords.some((word) => {
    const at = low.lastIndexOf(word)
    if (at === -1) return false
    // Scripts without spaces have no ends of words to look for.
    if (!/^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}]/u.test(word)) return true
    return !/\p{L}$/u.test(low.slice(0, at)) && !/^\p{L}/u.test(low.slice(at + word.length))
  })
}

function endsWithWrote(low: string): boolean {
  return wroteWords.some((word) => low.endsWith(` ${word}`))
}

// Outlook and others write a few header lines above the mail that is answered: "From: …, Sent: …, To: …, Subject: …".

const maxBlockLines = 14
const maxBetween = 2

/** How many lines such a block takes up from here; 0 where there is none. */
export function headerBlockAt(lines: readonly MailLine[], start: number): number {
  const first = readHeaderKind(lines[start])
  if (first === undefined || first === 'cc') return 0
  const kinds = new Set<HeaderKind>()
  let end = start
  let between = 0
  for (let at = start; at < lines.length && at < start + maxBlockLines; at += 1) {
    const kind = readHeaderKind(lines[at])
    if (kind !== undefined) {
      // The same field a second time is another block, or a list the author made.
      if (kinds.has(kind) && kind !== 'cc') break
      kinds.add(kind)
      end = at + 1
      between = 0
    } else if (between < maxBetween && isWithinBlock(lines, at)) between += 1
    else break
  }
  return isHeaderBlock(kinds) ? end - start : 0
}

/** A value that goes on on the next line, or a blank line between two fields. */
function isWithinBlock(lines: readonly MailLine[], at: number): boolean {
  if (lines[at]?.isBlank !== true)
    return readHeaderKind(lines[at + 1]) !== undefined || readHeaderKind(lines[at + 2]) !== undefined
  return readHeaderKind(lines[nextWrittenLine(lines, at)]) !== undefined
}

function isHeaderBlock(kinds: ReadonlySet<HeaderKind>): boolean {
  if (!kinds.has('from')) return false
  return kinds.has('sent') ? kinds.size >= 3 : kinds.has('to') && kinds.has('subject')
}

function readHeaderKind(line: MailLine | undefined): HeaderKind | undefined {
  if (line === undefined || line.isBlank) return undefined
  const low = line.low.replace(/^>+\s*/, '')
  const colon = low.search(/[:：]/)
  return colon < 1 || colon > 24 ? undefined : headerWords.get(low.slice(0, colon).trim())
}

// Separator lines stand between a mail and the one it answers or forwards.

const frames = ['--', '__', '==']

/** "-----Original Message-----" */
export function isOriginalLine({ low, text }: MailLine): boolean {
  const phrase = insideFrame(low)
  return isFramedLine(text) && originalPhrases.some((each) => phrase === each || phrase === `${each}:`)
}

/** "---------- Forwarded message ---------", "Begin forwarded message:", also where it is quoted. */
export function isForwardLine({ low, text }: MailLine): boolean {
  const phrase = insideFrame(low.replace(/^>+\s*/, ''))
  const isAlone = low.endsWith(':') || low.endsWith('：')
  if (!isFramedLine(text.replace(/^>+\s*/, '')) && !isAlone) return false
  return forwardPhrases.some((each) => phrase === each || phrase === `${each}:` || phrase.startsWith(`${each} `))
}

/** Nothing but signs that people and programs draw lines with. */
export function isRuleLine({ text, isBlank }: MailLine): boolean {
  return !isBlank && /^[-_=~+#*.·•—–\s\u1427]{1,500}$/.test(text) && /[-_=~+#*—–\u1427]/.test(text)
}

/** A long row of underscores: what Outlook puts above its header lines, and lists above their footers. */
export function isLongRuleLine({ text }: MailLine): boolean {
  return /^_{10,}$/.test(text)
}

function isFramedLine(text: string): boolean {
  return frames.some((frame) => text.startsWith(frame) || text.endsWith(frame))
}

function insideFrame(low: string): string {
  let [from, to] = [0, low.length]
  while (from < to && '-_=* \t'.includes(low.charAt(from))) from += 1
  while (to > from && '-_=* \t'.includes(low.charAt(to - 1))) to -= 1
  return low.slice(from, to)
}
