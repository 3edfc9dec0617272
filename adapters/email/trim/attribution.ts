// The line above a quote: "On Monday at 10:00, Ann <ann@example.com> wrote:", often broken into several.
import { type MailLine, nextWrittenLine } from './mail-lines.ts'
import { dayWords, onWords, wroteWords } from './phrases.ts'

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
