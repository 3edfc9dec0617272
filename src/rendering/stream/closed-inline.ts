// A paragraph that is still being written: code, emphasis and links that are open at its end.

type Open = { readonly marker: string; readonly at: number }

const word = /[\p{L}\p{N}]/u
// Half an address, a reference, an escape: nothing to read yet.
const unfinished = /(?:\\|&[#\w]{0,31}|!)$/
const halfAutolink = /<(?=[a-z][^\s<>]*$)/i

export function closedInline(text: string): string {
  const code = openCode(text)
  if (code !== undefined) {
    const before = closedMarks(text.slice(0, code.at))
    const inside = text.slice(code.at + code.marker.length).replace(/`+$/, '')
    return inside.trim() === ''
      ? closeInlineMarks(before.text.trimEnd(), before.open)
      : closeInlineMarks(`${before.text}${code.marker}${inside}${code.marker}`, before.open)
  }
  const { text: whole, open } = closedMarks(withoutHalfLink(text.replace(unfinished, '').replace(halfAutolink, '')))
  return closeInlineMarks(whole.trimEnd(), open)
}

function closeInlineMarks(text: string, open: readonly Open[]): string {
  const left = [...open]
  let whole = text
  // A mark that nothing follows would stand there by itself.
  for (let last = left.at(-1); last !== undefined && last.at + last.marker.length >= whole.length; last = left.at(-1)) {
    whole = whole.slice(0, last.at).trimEnd()
    left.pop()
  }
  return (
    whole +
    left
      .map(({ marker }) => marker)
      .toReversed()
      .join('')
  )
}

function openCode(text: string): Open | undefined {
  for (let at = text.indexOf('`'); at !== -1; ) {
    if (text.charAt(at - 1) === '\\') {
      at = text.indexOf('`', at + 1)
      continue
    }
    const marker = /^`+/.exec(text.slice(at, at + 64))?.[0] ?? '`'
    const end = closingRun(text, marker, at + marker.length)
    if (end === -1) return { marker, at }
    at = text.indexOf('`', end + marker.length)
  }
  return undefined
}

function closingRun(text: string, marker: string, from: number): number {
  for (let at = text.indexOf(marker, from); at !== -1; ) {
    let end = at
    while (text.charAt(end) === '`') end += 1
    if (end - at === marker.length) return at
    at = text.indexOf(marker, end)
  }
  return -1
}

/** A link shows as its label until its address is complete. */
function withoutHalfLink(text: string): string {
  const bracket = text.lastIndexOf('[')
  if (bracket === -1 || text.charAt(bracket - 1) === '\\') return text
  const rest = text.slice(bracket + 1)
  const before = text.slice(0, text.charAt(bracket - 1) === '!' ? bracket - 1 : bracket)
  if (rest.startsWith('^') && !rest.includes(']')) return before
  const half = /^([^[\]]*)(?:\](?:\([^()\s]*(?:\([^()\s]*\)?[^()\s]*)*(?:\s[^()]*)?)?)?$/.exec(rest)
  return half === null ? text : before + (half[1] ?? '')
}

/** Emphasis that was opened and not closed; code is passed over. */
function closedMarks(text: string): { readonly text: string; readonly open: readonly Open[] } {
  const open: Open[] = []
  const runs = /\\.|(`+)[^`]*?\1(?!`)|<[^\s<>]+>|https?:\/\/\S+|(\*+|_+|~~)/gs
  for (const match of text.matchAll(runs)) {
    const run = match[2]
    if (run === undefined) continue
    const before = text.charAt(match.index - 1)
    const after = text.charAt(match.index + run.length)
    const isInWord = run.startsWith('_') && word.test(before) && word.test(after)
    if (isInWord) continue
    let left = run
    if (before.trim() !== '') left = closing(open, left)
    const canOpen = after.trim() !== '' || (after === '' && match.index + run.length === text.length)
    if (left !== '' && canOpen && left.length <= 3) pushOpenMark(open, left, match.index)
  }
  return { text, open }
}

/** Closes what is open from the inside; gives back what is left of the run. */
function closing(open: Open[], run: string): string {
  let left = run
  for (let last = open.at(-1); last !== undefined && left !== '' && left.startsWith(last.marker); last = open.at(-1)) {
    left = left.slice(last.marker.length)
    open.pop()
  }
  return left
}

function pushOpenMark(open: Open[], run: string, at: number): void {
  if (run.length === 3 && run !== '~~~')
    open.push({ marker: run.slice(0, 1), at }, { marker: run.slice(1), at: at + 1 })
  else open.push({ marker: run, at })
}
