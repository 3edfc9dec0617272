// Addresses in running text, to the end the reader sees: `https://…` and nothing that only looks like a domain.
import { safeUrl } from './safe-url.ts'
import type { Inline } from './tree.ts'

const scheme = /(?<![A-Za-z0-9_])https?$/i
// White space and characters that end a sentence in scripts without spaces are never part of an address as people write it.
const rest = /:\/\/[^\s<>"`\u3000-\u303f\uff01-\uff0f\uff1a-\uff1f\u201c\u201d]{1,4000}/y
const trailing = "?!.,:;*_~'|]"

/** The scheme that stands right before `://`. */
export function schemeBefore(text: string): string | undefined {
  return scheme.exec(text.slice(-6))?.[0]
}

/** From `://` at this place on. */
export function addressAt(text: string, at: number): string | undefined {
  rest.lastIndex = at
  const address = withoutTrailing(rest.exec(text)?.[0] ?? '')
  return address.length < 4 ? undefined : address
}

/** Words with their addresses as links; `textNodes` makes nodes of what is between. */
export function withAddresses(text: string, textNodes: (words: string) => readonly Inline[]): readonly Inline[] {
  const nodes: Inline[] = []
  let end = 0
  for (let at = text.indexOf('://'); at !== -1; at = text.indexOf('://', Math.max(end, at + 3))) {
    const start = schemeBefore(text.slice(end, at))
    const address = start === undefined ? undefined : addressAt(text, at)
    if (start === undefined || address === undefined) continue
    const url = safeUrl(start + address)
    if (url === undefined) continue
    if (at - start.length > end) nodes.push(...textNodes(text.slice(end, at - start.length)))
    nodes.push({ type: 'link', url, children: [{ type: 'text', value: start + address }] })
    end = at + address.length
  }
  return end < text.length ? [...nodes, ...textNodes(text.slice(end))] : nodes
}

/** Without punctuation that belongs to the sentence, and without a closing bracket that was opened before the address. */
function withoutTrailing(text: string): string {
  let end = text.length
  let unopened = countOccurrences(text, ')') - countOccurrences(text, '(')
  for (; end > 0; end -= 1) {
    const last = text.charAt(end - 1)
    if (last === ')' && unopened > 0) unopened -= 1
    else if (!trailing.includes(last)) break
  }
  return text.slice(0, end)
}

function countOccurrences(text: string, unit: string): number {
  let found = 0
  for (let at = text.indexOf(unit); at !== -1; at = text.indexOf(unit, at + 1)) found += 1
  return found
}
