// What we change in the parser's inline rules: bare addresses are links as they stand, and bold as models write it is bold.
import type { MarkdownIt } from 'markdown-it'
import { safeUrl } from '../safe-url.ts'

type InlineRule = Parameters<MarkdownIt['inline']['ruler']['push']>[1]

export function changeInlineRules(md: MarkdownIt): void {
  md.inline.ruler.at('linkify', bareAddress)
  md.inline.ruler.at('emphasis', emphasis)
  md.inline.ruler.disable('html_inline')
}

const asterisk = 0x2a
const underscore = 0x5f
// White space and characters that end a sentence in scripts without spaces; never part of an address as people write it.
const address = /:\/\/[^\s<>"`\u3000-\u303f\uff01-\uff0f\uff1a-\uff1f\u201c\u201d]{1,4000}/y
const scheme = /(?<![\p{L}\p{N}_])https?$/iu
const trailing = "?!.,:;*_~'|]"

/** `https://…` in running text, to the end the reader sees. */
const bareAddress: InlineRule = (state, silent) => {
  if (state.src.charCodeAt(state.pos) !== 0x3a || state.src.charCodeAt(state.pos + 1) !== 0x2f) return false
  const before = scheme.exec(state.pending.slice(-6))?.[0]
  if (before === undefined || state.linkLevel > 0 || silent) return false
  address.lastIndex = state.pos
  const rest = addressEnd((address.exec(state.src)?.[0] ?? '').slice(0, state.posMax - state.pos))
  const url = safeUrl(before + rest)
  if (rest.length < 4 || url === undefined) return false
  state.pending = state.pending.slice(0, -before.length)
  state.push('link_open', 'a', 1).attrs = [['href', url]]
  state.push('text', '', 0).content = before + rest
  state.push('link_close', 'a', -1)
  state.pos += rest.length
  return true
}

/** Without punctuation that belongs to the sentence, and without a closing bracket that was opened before the address. */
function addressEnd(text: string): string {
  let end = text.length
  let unopened = count(text, ')') - count(text, '(')
  for (; end > 0; end -= 1) {
    const last = text.charAt(end - 1)
    if (last === ')' && unopened > 0) unopened -= 1
    else if (!trailing.includes(last)) break
  }
  return text.slice(0, end)
}

function count(text: string, unit: string): number {
  let found = 0
  for (let at = text.indexOf(unit); at !== -1; at = text.indexOf(unit, at + 1)) found += 1
  return found
}

/** CommonMark's rule, and `**` between punctuation and a letter may open or close too: models write `**Label:**text`. */
const emphasis: InlineRule = (state, silent) => {
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
