// Footnotes for the parser: where a note is defined, and where one is named. Notes are numbered in the order they are named.
import type { MarkdownIt } from 'markdown-it'

type FootnoteBlockRule = Parameters<MarkdownIt['block']['ruler']['push']>[1]
type FootnoteInlineRule = Parameters<MarkdownIt['inline']['ruler']['push']>[1]
type Env = Parameters<FootnoteBlockRule>[0]['env']

/** Labels of the notes this text defines, each with its number once it has one. */
export type NoteNumbers = Map<string, number | undefined>

const opening = /\[\^([^\s[\]^]{1,64})\]:[ \t]*/y
const named = /\[\^([^\s[\]^]{1,64})\]/y

export function addFootnotes(md: MarkdownIt): void {
  md.block.ruler.before('reference', 'note', footnoteRule, { alt: ['paragraph', 'reference'] })
  md.inline.ruler.before('link', 'note_name', noteName)
}

export function noteNumbers(env: Env): NoteNumbers {
  // Only the rules below write it.
  env['notes'] ??= new Map()
  return env['notes'] as NoteNumbers
}

export function footnoteNumber(notes: NoteNumbers, label: string): number {
  const known = notes.get(label)
  if (known !== undefined) return known
  let taken = 0
  for (const number of notes.values()) if (number !== undefined) taken += 1
  notes.set(label, taken + 1)
  return taken + 1
}

const footnoteRule: FootnoteBlockRule = (state, start, end, silent) => {
  const at = (state.bMarks[start] ?? 0) + (state.tShift[start] ?? 0)
  if ((state.sCount[start] ?? 0) - state.blkIndent >= 4 || state.src.charCodeAt(at + 1) !== 0x5e) return false
  opening.lastIndex = at
  const label = opening.exec(state.src)?.[1]
  if (label === undefined || opening.lastIndex > (state.eMarks[start] ?? 0)) return false
  const notes = noteNumbers(state.env)
  // The first definition counts; another one stays as it is written.
  if (notes.has(label)) return false
  if (silent) return true
  notes.set(label, undefined)
  const last = endOfNote(state, start, end)
  const first = state.src.slice(opening.lastIndex, state.eMarks[start])
  const more = state.getLines(start + 1, last, state.blkIndent, false)
  state.push('note_open', '', 1).meta = { label }
  const inline = state.push('inline', '', 0)
  inline.content = (more === '' ? first : `${first}\n${more}`).trim()
  inline.children = []
  state.push('note_close', '', -1)
  state.line = last
  return true
}

/** Up to an empty line, unless an indented one follows. */
function endOfNote(state: Parameters<FootnoteBlockRule>[0], start: number, end: number): number {
  let line = start + 1
  while (line < end) {
    if (state.isEmpty(line)) {
      const isMore = line + 1 < end && !state.isEmpty(line + 1) && (state.sCount[line + 1] ?? 0) - state.blkIndent >= 4
      if (!isMore) return line
    } else if (state.src.startsWith('[^', (state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0))) return line
    else if ((state.sCount[line] ?? 0) < state.blkIndent) return line
    line += 1
  }
  return line
}

const noteName: FootnoteInlineRule = (state, silent) => {
  if (state.src.charCodeAt(state.pos) !== 0x5b || state.src.charCodeAt(state.pos + 1) !== 0x5e) return false
  named.lastIndex = state.pos
  const match = named.exec(state.src)
  const label = match?.[1]
  const notes = noteNumbers(state.env)
  if (match === null || label === undefined || !notes.has(label)) return false
  if (!silent) state.push('note_name', '', 0).meta = { label }
  state.pos += match[0].length
  return true
}
