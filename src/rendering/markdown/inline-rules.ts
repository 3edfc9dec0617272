// What we change in the parser's inline rules: bare addresses are links as they stand, and bold as models write it is bold.
import type { MarkdownIt } from 'markdown-it'
import { addressAt, schemeBefore } from '../bare-address.ts'
import { safeUrl } from '../safe-url.ts'

type InlineRule = Parameters<MarkdownIt['inline']['ruler']['push']>[1]

export function changeInlineRules(md: MarkdownIt): void {
  md.inline.ruler.at('linkify', bareAddress)
  md.inline.ruler.at('emphasis', emphasis)
  md.inline.ruler.disable('html_inline')
}

const asterisk = 0x2a
const underscore = 0x5f
/** `https://…` in running text, to the end the reader sees. */
const bareAddress: InlineRule = (state, silent) => {
  if (state.src.charCodeAt(state.pos) !== 0x3a || state.src.charCodeAt(state.pos + 1) !== 0x2f) return false
  const scheme = schemeBefore(state.pending)
  if (scheme === undefined || state.linkLevel > 0 || silent) return false
  const rest = addressAt(state.src.slice(0, state.posMax), state.pos)
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
