// Addresses: humans, agents and services share one address space, `@local@domain`.

/** A parsed address; the domain is lower-case and in its wire (punycode) form. */
export type Address = { readonly local: string; readonly domain: string }

// People's local parts follow RFC 5321's dot-string, less `/` and `%`, which paths and URLs would read differently.
const localPattern = /^(?=.{1,64}$)[A-Za-z0-9!#$&'*+=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$&'*+=?^_`{|}~-]+)*$/
const hostedLocalPattern = /^[A-Za-z0-9._-]{1,64}$/
// Labels the URL parser leaves as they are: no punycode to check, and no number at the end, which may mean an IPv4 address.
const plainDomain = /^(?:(?!-|xn--)[a-z0-9-]{1,63}(?<!-)\.)+(?!-|xn--)[a-z][a-z0-9-]{0,62}(?<!-)$/
const labelPattern = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/

/** Reads `@local@domain`, `local@domain` or `acct:local@domain`; anything else is undefined. */
export function parseAddress(text: string): Address | undefined {
  const bare = text.startsWith('acct:') ? text.slice(5) : text.startsWith('@') ? text.slice(1) : text
  const at = bare.indexOf('@')
  if (at < 1 || bare.indexOf('@', at + 1) !== -1) return undefined
  const local = bare.slice(0, at)
  const domain = toAsciiDomain(bare.slice(at + 1))
  if (!localPattern.test(local) || domain === undefined) return undefined
  return { local, domain }
}

export function formatAddress(address: Address): string {
  return `@${address.local}@${address.domain}`
}

/** True when the text is already in the canonical stored form. */
export function isCanonicalAddress(text: string): boolean {
  const parsed = parseAddress(text)
  return parsed !== undefined && formatAddress(parsed) === text
}

/** True for a canonical address that an agent of ours may have: a smaller alphabet than the outside world's. */
export function isValidAgentAddress(text: string): boolean {
  const parsed = parseAddress(text)
  return parsed !== undefined && formatAddress(parsed) === text && hostedLocalPattern.test(parsed.local)
}

function toAsciiDomain(text: string): string | undefined {
  // The URL parser is the one punycode implementation every runtime has; refuse what it would reinterpret.
  if (text.length === 0 || text.length > 253 || /[\s/\\?#:@%[\]<>^|]/.test(text)) return undefined
  if (plainDomain.test(text)) return text
  let host: string
  try {
    host = new URL(`http://${text}/`).hostname
  } catch {
    return undefined
  }
  const labels = host.split('.')
  if (labels.length < 2 || host.length > 253 || /^[0-9.]+$/.test(host)) return undefined
  return labels.every((label) => labelPattern.test(label)) ? host : undefined
}

// Addresses for people's eyes: punycode labels are shown in Unicode, unless that would help a look-alike.

/** `@local@domain` with a readable domain. Never compare or store what this returns. */
export function displayAddress(address: Address): string {
  return `@${address.local}@${address.domain.split('.').map(toUnicodeLabel).join('.')}`
}

function toUnicodeLabel(label: string): string {
  if (!label.startsWith('xn--')) return label
  const unicode = decodePunycode(label.slice(4))
  if (unicode === undefined || mixesScripts(unicode)) return label
  // The URL parser has the last word: what it would not encode back to this label is not shown.
  return URL.canParse(`http://${unicode}.example/`) &&
    new URL(`http://${unicode}.example/`).hostname === `${label}.example`
    ? unicode
    : label
}

/** Latin letters beside Cyrillic or Greek ones are how a familiar name is imitated. */
function mixesScripts(text: string): boolean {
  const scripts = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u]
  return scripts.filter((script) => script.test(text)).length > 1
}

/** RFC 3492 section 6.2 with the parameters of section 5. */
function decodePunycode(text: string): string | undefined {
  const split = text.lastIndexOf('-')
  const output = split > 0 ? [...text.slice(0, split)].map((letter) => letter.charCodeAt(0)) : []
  let position = split > 0 ? split + 1 : 0
  let codePoint = 128
  let bias = 72
  let index = 0
  while (position < text.length) {
    const before = index
    for (let weight = 1, step = 36; ; step += 36) {
      const digit = punycodeDigit(text.charCodeAt(position))
      position += 1
      if (digit === undefined) return undefined
      index += digit * weight
      const threshold = Math.min(Math.max(step - bias, 1), 26)
      if (digit < threshold) break
      weight *= 36 - threshold
      if (index > 0x7fffffff) return undefined
    }
    const length = output.length + 1
    bias = adaptPunycodeBias(index - before, length, before === 0)
    codePoint += Math.floor(index / length)
    index %= length
    if (codePoint > 0x10ffff) return undefined
    output.splice(index, 0, codePoint)
    index += 1
  }
  return String.fromCodePoint(...output)
}

function adaptPunycodeBias(difference: number, length: number, isFirst: boolean): number {
  let delta = isFirst ? Math.floor(difference / 700) : Math.floor(difference / 2)
  delta += Math.floor(delta / length)
  let steps = 0
  for (; delta > 455; steps += 36) delta = Math.floor(delta / 35)
  return steps + Math.floor((36 * delta) / (delta + 38))
}

function punycodeDigit(code: number): number | undefined {
  if (code >= 48 && code <= 57) return code - 22
  return code >= 97 && code <= 122 ? code - 97 : undefined
}
