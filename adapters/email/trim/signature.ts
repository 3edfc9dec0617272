// What stands below the words of a mail without being any of them: signatures, and what phones add.
import { type MailLine, nextWrittenLine } from './mail-lines.ts'
import { sentFromPhrases } from './phrases.ts'
import { isLongRuleLine, isRuleLine } from './separators.ts'

const maxSignatureLines = 15
const maxFooterLines = 8

export type Stretch = {
  readonly start: number
  readonly end: number
  /** Something was said before it, so that nothing of it need be words. */
  readonly isLater: boolean
}

/** Where the words end, in these lines. */
export function wordsEnd(lines: readonly MailLine[], { start, end, isLater }: Stretch): number {
  let words = withoutTail(lines, start, end)
  const first = nextWrittenLine(lines, start)
  const mark = signatureMark(lines, isLater ? first : first + 1, words)
  if (mark !== undefined) words = withoutTail(lines, start, mark)
  return words
}

/** Blank lines, rules and lines that phones add, from below. */
function withoutTail(lines: readonly MailLine[], start: number, end: number): number {
  let last = end
  while (last > start) {
    const line = lines[last - 1]
    if (line === undefined || !(line.isBlank || isRuleLine(line) || isSentFrom(line))) break
    last -= 1
  }
  return last
}

/** The first line of a signature. A mark with much below it is one of the author's own, and so is one with nothing above. */
function signatureMark(lines: readonly MailLine[], first: number, end: number): number | undefined {
  for (let at = Math.max(first, end - 1 - 2 * maxSignatureLines); at < end; at += 1) {
    const line = lines[at]
    if (line === undefined) continue
    const below = lines.slice(at + 1, end).filter(({ isBlank }) => !isBlank).length
    const isMark = line.raw.replace(/\r$/, '') === '-- ' || line.text === '--' || line.text === '—'
    if (isMark && below <= maxSignatureLines) return at
    if (isLongRuleLine(line) && below <= maxFooterLines) return at
  }
  return undefined
}

function isSentFrom({ low }: MailLine): boolean {
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
