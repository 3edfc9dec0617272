// Lines that stand between a mail and the one it answers or hands on.
import type { MailLine } from './mail-lines.ts'
import { forwardPhrases, originalPhrases } from './phrases.ts'

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
