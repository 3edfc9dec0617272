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
  const domain = wireDomain(bare.slice(at + 1))
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
export function isHostedAddress(text: string): boolean {
  const parsed = parseAddress(text)
  return parsed !== undefined && formatAddress(parsed) === text && hostedLocalPattern.test(parsed.local)
}

function wireDomain(text: string): string | undefined {
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
