// The source of a growing text with its end made whole: an unfinished line of marks, a table without its rule and half a row are
// held back, and what is open in the last paragraph is closed.
import { closedInline } from './closed-inline.ts'

const nestedFenceLine = /^\s*(?:>\s?|[-+*]\s+|\d{1,9}[.)]\s+)*(`{3,}|~{3,})([^\n]*)$/
// Perhaps the beginning of a list, a heading, a quote, a rule, a fence: not words yet.
const onlyMarks = /^\s*(?:[-+*_=#>~`|:\s]+|\d{1,9}[.)]?)$/
const blockStart = /^\s*(?:(?:[-+*]|\d{1,9}[.)]|#{1,6}|>)\s+)+(?:\[[ xX]\]\s+)?/

export function closedTail(text: string): string {
  const lines = text.split('\n')
  const fence = openFence(lines)
  const last = lines.at(-1) ?? ''
  if (fence !== undefined) return isPartOfFence(last, fence) ? withoutLast(lines) : text
  if (onlyMarks.test(last)) return closedTail(withoutLast(lines).trimEnd())
  const table = tableStart(lines)
  if (table !== undefined) return closedTable(lines, table)
  const start = paragraphStart(lines)
  const lead = blockStart.exec(lines[start] ?? '')?.[0] ?? ''
  const head = [...lines.slice(0, start), lead].join('\n')
  return head + closedInline(lines.slice(start).join('\n').slice(lead.length))
}

function withoutLast(lines: readonly string[]): string {
  return lines.slice(0, -1).join('\n')
}

function openFence(lines: readonly string[]): string | undefined {
  let open: string | undefined
  for (const line of lines) {
    const match = nestedFenceLine.exec(line)
    const marker = match?.[1]
    if (open === undefined) open = marker
    else if (marker?.startsWith(open) === true && (match?.[2] ?? '').trim() === '') open = undefined
  }
  return open
}

/** The line that opens it is still being written, or one that may close it. */
function isPartOfFence(line: string, fence: string): boolean {
  return nestedFenceLine.test(line) || (line.trim() !== '' && fence.startsWith(line.trim()))
}

/** Where the block of rows at the end begins. */
function tableStart(lines: readonly string[]): number | undefined {
  const end = lines.at(-1) === '' ? lines.length - 1 : lines.length
  let start = end
  while (start > 0 && /^\s*(?:>\s?)*\|/.test(lines[start - 1] ?? '')) start -= 1
  return start === end ? undefined : start
}

/** A table shows once its rule is complete, row by row. */
function closedTable(lines: readonly string[], start: number): string {
  const isRuled = lines.length > start + 2
  const kept = isRuled ? lines.slice(0, -1) : lines.slice(0, start)
  return kept.join('\n')
}

function paragraphStart(lines: readonly string[]): number {
  let start = lines.length - 1
  while (start > 0 && !blockStart.test(lines[start] ?? '') && (lines[start - 1] ?? '').trim() !== '') start -= 1
  return start
}
