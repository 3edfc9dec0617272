// The Markdown parser, made on first use and shared: CommonMark with tables, strikethrough and footnotes, no HTML, and our changes
// of its rules.

import type { MarkdownIt } from 'markdown-it'
import createMarkdownIt from 'markdown-it'
import { findSchemeBefore, readUrlAfterScheme, safeUrl } from './links.ts'

export type Token = ReturnType<MarkdownIt['parse']>[number]

let shared: MarkdownIt | undefined

/** Tokens of a text; `env` receives what is known about it as a whole. */
export function markdownTokens(text: string, env: Record<string, unknown>): readonly Token[] {
  shared ??= createParser()
  return shared.parse(text, env)
}

function createParser(): MarkdownIt {
  const md = createMarkdownIt({ html: false, linkify: false })
  // Addresses are judged when the tree is built: a refused one must cost its link, never its label.
  md.validateLink = () => true
  md.normalizeLink = (url) => url
  md.normalizeLinkText = (text) => text
  changeBlockRules(md)
  changeInlineRules(md)
  addFootnoteRules(md)
  // Their work is done while the tree is built, or there is none.
  md.core.ruler.disable(['normalize', 'strip_references', 'linkify', 'replacements', 'smartquotes', 'text_join'])
  md.block.ruler.disable('html_block')
  md.core.ruler.at('inline', (state) => {
    for (const token of state.tokens) {
      if (token.type === 'inline') parseInline(md, token, state.env)
    }
  })
  return md
}

// Longer than this, and made of little else than marks: such text is no formatting, and its cost would not be linear.
const suspiciousLength = 2000
const maxBrackets = 1000

// Without any of these there is nothing to read but words.
const inlineMarks = /[\\`*_~[<&]|:\/\//

/** Without children a token is its words. */
function parseInline(md: MarkdownIt, token: Token, env: Record<string, unknown>): void {
  const children = token.children ?? []
  const isNoise = token.content.length > suspiciousLength && consistsMostlyOfMarkup(token.content)
  if (isNoise || !inlineMarks.test(token.content)) token.children = null
  else md.inline.parse(token.content, md, env, children)
}

function consistsMostlyOfMarkup(text: string): boolean {
  let brackets = 0
  let marks = 0
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    if (unit === 0x5b) brackets += 1
    else if (unit === 0x2a || unit === 0x5f || unit === 0x60 || unit === 0x7e || unit === 0x26) marks += 1
  }
  return brackets > maxBrackets || marks * 3 > text.length
}

// What we change in the parser's block rules: nesting is capped without losing words, a definition needs a real address, and
// a table row keeps the cells its header has no column for.
// Beyond a number of blocks that no reply needs, the rest is not parsed as blocks.

type BlockRule = Parameters<MarkdownIt['block']['ruler']['push']>[1]
type BlockState = Parameters<BlockRule>[0]

/** Quotes, lists and items inside each other; what is deeper is text. */
const maxContainers = 16

const maxTokens = 12_000
const maxRows = 1200

const definition = /\[(?:[^\\[\]]|\\.){1,999}\]:\s{0,99}<?(?:https?:\/\/|mailto:|tel:)/iy

function changeBlockRules(md: MarkdownIt): void {
  for (const name of ['blockquote', 'list']) {
    wrapBlockRule(md, name, (rule) => (state, start, end, silent) => {
      return state.level < maxContainers && rule(state, start, end, silent)
    })
  }
  wrapBlockRule(md, 'reference', (rule) => (state, start, end, silent) => {
    definition.lastIndex = (state.bMarks[start] ?? 0) + (state.tShift[start] ?? 0)
    // "[Note]: this" is a sentence, not an address.
    return definition.test(state.src) && rule(state, start, end, silent)
  })
  wrapBlockRule(md, 'table', (rule) => (state, start, end, silent) => {
    const from = state.tokens.length
    if (!rule(state, start, Math.min(end, start + maxRows), silent)) return false
    if (!silent) mergeExtraCellsIntoLast(state, from)
    return true
  })
  md.block.ruler.before('table', 'rest', tokenLimitRule)
}

const tokenLimitRule: BlockRule = (state, start, end, silent) => {
  if (silent || state.tokens.length < maxTokens) return false
  state.push('rest', '', 0).map = [start, end]
  state.line = end
  return true
}

function wrapBlockRule(md: MarkdownIt, name: string, change: (rule: BlockRule) => BlockRule): void {
  const { ruler } = md.block
  const known = ruler.__rules__.find((rule) => rule.name === name)
  if (known !== undefined) ruler.at(name, change(known.fn), { alt: known.alt })
}

/** Words beyond the last column are put into it. */
function mergeExtraCellsIntoLast(state: BlockState, from: number): void {
  let columns = 0
  let cell = 0
  let extra: readonly string[] = []
  for (let index = from; index < state.tokens.length; index += 1) {
    const token = state.tokens[index]
    if (token?.type === 'th_open') columns += 1
    else if (token?.type === 'tr_open') {
      cell = 0
      extra = columns === 0 ? [] : listCellsBeyondColumns(state, token.map?.[0] ?? 0, columns)
    } else if (token?.type === 'inline') {
      cell += 1
      if (cell === columns && extra.length > 0) token.content = [token.content, ...extra].join(' | ')
    }
  }
}

function listCellsBeyondColumns(state: BlockState, line: number, columns: number): readonly string[] {
  const text = state.src.slice((state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0), state.eMarks[line]).trim()
  if (text.length <= columns || !hasPipesBeyondColumns(text, columns)) return []
  const cells = text.split(/(?<!\\)\|/)
  if (cells[0] === '') cells.shift()
  if (cells.at(-1) === '') cells.pop()
  return cells.slice(columns).flatMap((each) => (each.trim() === '' ? [] : [each.trim()]))
}

function hasPipesBeyondColumns(text: string, columns: number): boolean {
  let pipes = 0
  for (let at = text.indexOf('|'); at !== -1; at = text.indexOf('|', at + 1)) pipes += 1
  return pipes >= columns
}

// Footnotes for the parser: where a note is defined, and where one is named. Notes are numbered in the order they are named.

type FootnoteBlockRule = Parameters<MarkdownIt['block']['ruler']['push']>[1]
type FootnoteInlineRule = Parameters<MarkdownIt['inline']['ruler']['push']>[1]
type Env = Parameters<FootnoteBlockRule>[0]['env']

/** Labels of the notes this text defines, each with its number once it has one. */
export type NoteNumbers = Map<string, number | undefined>

const opening = /\[\^([^\s[\]^]{1,64})\]:[ \t]*/y
const named = /\[\^([^\s[\]^]{1,64})\]/y

function addFootnoteRules(md: MarkdownIt): void {
  md.block.ruler.before('reference', 'note', footnoteRule, { alt: ['paragraph', 'reference'] })
  md.inline.ruler.before('link', 'note_name', footnoteReferenceRule)
}

export function getFootnoteNumbers(env: Env): NoteNumbers {
  // Only the rules below write it.
  env['notes'] ??= new Map()
  return env['notes'] as NoteNumbers
}

export function getOrAssignFootnoteNumber(notes: NoteNumbers, label: string): number {
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
  const notes = getFootnoteNumbers(state.env)
  // The first definition counts; another one stays as it is written.
  if (notes.has(label)) return false
  if (silent) return true
  notes.set(label, undefined)
  const last = findFootnoteEnd(state, start, end)
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
function findFootnoteEnd(state: Parameters<FootnoteBlockRule>[0], start: number, end: number): number {
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

const footnoteReferenceRule: FootnoteInlineRule = (state, silent) => {
  if (state.src.charCodeAt(state.pos) !== 0x5b || state.src.charCodeAt(state.pos + 1) !== 0x5e) return false
  named.lastIndex = state.pos
  const match = named.exec(state.src)
  const label = match?.[1]
  const notes = getFootnoteNumbers(state.env)
  if (match === null || label === undefined || !notes.has(label)) return false
  if (!silent) state.push('note_name', '', 0).meta = { label }
  state.pos += match[0].length
  return true
}

// What we change in the parser's inline rules: bare addresses are links as they stand, and bold as models write it is bold.

type InlineRule = Parameters<MarkdownIt['inline']['ruler']['push']>[1]

function changeInlineRules(md: MarkdownIt): void {
  md.inline.ruler.at('linkify', bareUrlRule)
  md.inline.ruler.at('emphasis', emphasisRule)
  md.inline.ruler.disable('html_inline')
}

const asterisk = 0x2a
const underscore = 0x5f
/** `https://…` in running text, to the end the reader sees. */
const bareUrlRule: InlineRule = (state, silent) => {
  if (state.src.charCodeAt(state.pos) !== 0x3a || state.src.charCodeAt(state.pos + 1) !== 0x2f) return false
  const scheme = findSchemeBefore(state.pending)
  if (scheme === undefined || state.linkLevel > 0 || silent) return false
  const rest = readUrlAfterScheme(state.src.slice(0, state.posMax), state.pos)
  const url = rest === undefined ? undefined : safeUrl(scheme + rest)
  if (rest === undefined || url === undefined) return false
  state.pending = state.pending.slice(0, -scheme.length)
  state.push('link_open', 'a', 1).attrs = [['href', url]]
  state.push('text', '', 0).content = scheme + rest
  state.push('link_close', 'a', -1)
  state.pos += rest.length
  return true
}

/** CommonMark's rule, and `**` between punctuation and a letter may open or close too: models write `**Label:**text`. */
const emphasisRule: InlineRule = (state, silent) => {
  const marker = state.src.charCodeAt(state.pos)
  if (silent || (marker !== asterisk && marker !== underscore)) return false
  const { can_open, can_close, length } = state.scanDelims(state.pos, marker === asterisk)
  const isBetween = marker === asterisk && length === 2 && can_open !== can_close && isInsideWord(state, length)
  for (let index = 0; index < length; index += 1) {
    state.push('text', '', 0).content = String.fromCharCode(marker)
    state.delimiters.push({
      marker,
      length,
      token: state.tokens.length - 1,
      end: -1,
      open: can_open || isBetween,
      close: can_close || isBetween,
    })
  }
  state.pos += length
  return true
}

function isInsideWord(state: Parameters<InlineRule>[0], length: number): boolean {
  const isVisible = (unit: string) => unit.trim() !== ''
  return isVisible(state.src.charAt(state.pos - 1)) && isVisible(state.src.charAt(state.pos + length))
}
