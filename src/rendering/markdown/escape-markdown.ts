// Words that must stay words inside Markdown, with as few backslashes as that needs.

const rooms = /@(?=(?:all|channel|everyone|here)\b)/gi
const anywhere = /[\\`*]|_(?<![\p{L}\p{N}]_(?=[\p{L}\p{N}]))|~(?=~)|(?<=~)~|^~|~$|<(?=\S)|&(?=#?\w{1,32};)|!$/gu
// A bracket that is closed before anything that would make a link or a definition of it is only a bracket.
const bracket = /\[(?!(?!\^)[^[\]]*\](?:[^([:]|$))/g
const address = /(?<=https?):(?=\/\/)/gi

/** Inside a label every bracket counts. */
export function escapeWords(text: string, isLabel: boolean): string {
  const escaped = text.replace(anywhere, '\\$&').replace(rooms, '&#64;')
  return isLabel ? escaped.replace(/[[\]]/g, '\\$&') : escaped.replace(bracket, '\\[').replace(address, '\\:')
}

const lineMark = /^(?:[-+](?=\s|$|[-\s]*$)|#(?=#{0,5}(?:\s|$))|>|=+\s*$|[|:-][-|:\s]*$)/
const number = /^(\d{1,9})([.)])(?=\s|$)/

/** What only means something at the start of a line. */
export function escapeLineStart(line: string): string {
  return line.replace(lineMark, '\\$&').replace(number, '$1\\$2')
}

/** A character that is seen the same and read as punctuation. */
export function asReference(character: string): string {
  return `&#${character.codePointAt(0) ?? 0xfffd};`
}

export function codeSpan(value: string): string {
  const fence = fenceFor(value, 1)
  const isPadded = /^`|`$/.test(value) || (/^ .* $/.test(value) && value.trim() !== '')
  return isPadded ? `${fence} ${value} ${fence}` : fence + value + fence
}

/** Longer than any run of backticks inside. */
export function fenceFor(value: string, atLeast: number): string {
  let longest = atLeast - 1
  for (const run of value.match(/`+/g) ?? []) longest = Math.max(longest, run.length)
  return '`'.repeat(longest + 1)
}

export function escapeUrl(url: string): string {
  return url.replace(/[\\()<>]|&(?=#?\w{1,32};)/g, '\\$&').replace(/\s/g, '%20')
}
