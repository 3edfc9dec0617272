// The few header lines that Outlook and others write above the mail that is answered: "From: …, Sent: …, To: …, Subject: …".
import { type MailLine, nextWrittenLine } from './mail-lines.ts'
import { type HeaderKind, headerWords } from './phrases.ts'

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
