// Lines of a text, each looked at only so far: however long a line is or however many there are, the work stays bounded.

export type MailLine = {
  /** As it was. */
  readonly raw: string
  /** Trimmed, without emphasis marks, at most 500 characters. */
  readonly text: string
  /** The same in small letters. */
  readonly low: string
  readonly isBlank: boolean
  /** It begins with a mark of quoting. */
  readonly isQuote: boolean
}

const maxLines = 2_000
const maxLineLength = 500

/** What is below the first 2,000 lines is one more, with line ends in it. */
export function splitMailLines(text: string): readonly MailLine[] {
  const lines: MailLine[] = []
  let at = 0
  while (lines.length < maxLines) {
    const end = text.indexOf('\n', at)
    if (end === -1) return [...lines, readMailLine(text.slice(at))]
    lines.push(readMailLine(text.slice(at, end)))
    at = end + 1
  }
  return [...lines, joinOverflowIntoLine(text.slice(at))]
}

function readMailLine(raw: string): MailLine {
  const seen = raw.slice(0, maxLineLength).replaceAll('\u00a0', ' ').trim()
  const text = seen.replaceAll('*', '').trim()
  return { raw, text, low: text.toLowerCase(), isBlank: seen === '', isQuote: startsWithQuoteMark(seen) }
}

/** It is a quote if every line of it says so. */
function joinOverflowIntoLine(raw: string): MailLine {
  let isQuote = true
  for (let at = 0; isQuote && at < raw.length; ) {
    const end = raw.indexOf('\n', at)
    const stop = end === -1 ? raw.length : end
    while (at < stop && ' \t\r'.includes(raw.charAt(at))) at += 1
    isQuote = at === stop || raw.charAt(at) === '>'
    at = stop + 1
  }
  return { raw, text: '', low: '', isBlank: raw.trim() === '', isQuote }
}

/** `> `, and the way some old programs write it, with the initials or the name of who is quoted before it. */
function startsWithQuoteMark(text: string): boolean {
  return text.startsWith('>') || /^\p{Lu}[\p{L}'-]{0,19}>{1,9}(?: |$)/u.test(text)
}

/** The next line from `at` that is not blank; the number of lines where there is none. */
export function findNextNonBlankLine(lines: readonly MailLine[], at: number): number {
  let next = at
  while (next < lines.length && lines[next]?.isBlank === true) next += 1
  return next
}
