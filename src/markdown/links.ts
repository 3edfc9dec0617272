// Links and mentions in running text: bare addresses to the end the reader sees, which addresses are safe, and names that may
// notify.
import type { Inline } from './tree.ts'

const scheme = /(?<![A-Za-z0-9_])https?$/i
// White space and characters that end a sentence in scripts without spaces are never part of an address as people write it.
const rest = /:\/\/[^\s<>"`\u3000-\u303f\uff01-\uff0f\uff1a-\uff1f\u201c\u201d]{1,4000}/y
const trailing = "?!.,:;*_~'|]"

/** The scheme that stands right before `://`. */
export function findSchemeBefore(text: string): string | undefined {
  return scheme.exec(text.slice(-6))?.[0]
}

/** From `://` at this place on. */
export function readUrlAfterScheme(text: string, at: number): string | undefined {
  rest.lastIndex = at
  const address = trimTrailingPunctuation(rest.exec(text)?.[0] ?? '')
  return address.length < 4 ? undefined : address
}

/** Words with their addresses as links; `textNodes` makes nodes of what is between. */
export function linkUrlsInText(text: string, textNodes: (words: string) => readonly Inline[]): readonly Inline[] {
  const nodes: Inline[] = []
  let end = 0
  for (let at = text.indexOf('://'); at !== -1; at = text.indexOf('://', Math.max(end, at + 3))) {
    const start = findSchemeBefore(text.slice(end, at))
    const address = start === undefined ? undefined : readUrlAfterScheme(text, at)
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
function trimTrailingPunctuation(text: string): string {
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

// Addresses that may stand behind a label: of a few protocols, and without anything that only deceives.

const protocols = new Set(['https:', 'http:', 'mailto:', 'tel:'])
const start = /^(?:https?:\/|mailto:|tel:)/i
const isWebAddress = /^https?:/
// The URL parser leaves these in addresses that are not of the web: ends of lines become headers of a mail, brackets markup.
const outside = /%0[0ad]|[\s<>"'`|\\^{}]/i
// A longer address is data, and no platform takes it.
const maxLength = 4096

/** As the URL parser writes it, which is how a browser would read it; undefined where a reader must not be sent there. */
export function safeUrl(written: string): string | undefined {
  const href = written.trim()
  if (href.length > maxLength || !start.test(href) || !URL.canParse(href)) return undefined
  const url = new URL(href)
  // A user name in an address looks like the host and is not.
  if (!protocols.has(url.protocol) || url.username !== '' || url.password !== '') return undefined
  if (!isWebAddress.test(url.href) && outside.test(url.href)) return undefined
  return url.href.length > maxLength ? undefined : url.href
}

// Names in running text that may notify the person they name: only those in `mayNotify`, each as its own node.

// The name and, where it says one, its host. Neither a mail address nor a package name is one.
const written =
  /(?<![\p{L}\p{N}\p{M}_./@+-])@[\p{L}\p{N}_](?:[\p{L}\p{N}_.-]{0,62}[\p{L}\p{N}_])?(?:@[\p{L}\p{N}](?:[\p{L}\p{N}.-]{0,251}[\p{L}\p{N}])?)?(?![\p{L}\p{N}_@/])/gu

export function linkMentions(text: string, mayNotify: ReadonlySet<string>): readonly Inline[] {
  const nodes: Inline[] = []
  let end = 0
  for (const { 0: name, index } of text.matchAll(written)) {
    if (!mayNotify.has(name.toLowerCase())) continue
    if (index > end) nodes.push({ type: 'text', value: text.slice(end, index) })
    nodes.push({ type: 'mention', name })
    end = index + name.length
  }
  if (end < text.length) nodes.push({ type: 'text', value: text.slice(end) })
  return nodes
}
