// Which agent an address of ours means, by its name with or without a tag; or that it is where reports about our mails come back. Pure.
import { keyLength } from '../threads/key.ts'
import { looksLikeToken } from '../threads/token.ts'

/** The local part of envelope senders: no agent answers there. */
const bounceLocal = 'bounce'

export type AddressMeaning =
  /** `address`: without the tag. `token`: a tag that may be a reply token. */
  | { readonly kind: 'agent'; readonly agent: string; readonly address: string; readonly token?: string }
  | { readonly kind: 'bounce'; readonly token: string }
  | { readonly kind: 'unknown' }

export type Addresses = {
  /** Every domain whose mail is ours. */
  readonly domains: readonly string[]
  /** Agents that answer here, by slug. */
  readonly agents: readonly string[]
  /** Other names: an address or a local part, in small letters, to the agent it means. */
  readonly aliases: Readonly<Record<string, string>>
}

// `+` is the usual separator; forms that take none let one of the others pass, which names may contain: there only a token counts.
const tagged = /^([^+]+)\+(.*)$/
const tokenLength = keyLength * 2

export function resolveRecipient(addresses: Addresses, address: string): AddressMeaning {
  const at = address.lastIndexOf('@')
  const local = address.slice(0, at).toLowerCase()
  const domain = address.slice(at + 1).toLowerCase()
  if (at < 1) return { kind: 'unknown' }
  const { name, tag } = splitTag(addresses, local, domain)
  if (addresses.domains.includes(domain) && name === bounceLocal) return { kind: 'bounce', token: tag ?? '' }
  const agent = findAgentByName(addresses, name, domain)
  if (agent === undefined) return { kind: 'unknown' }
  const token = tag !== undefined && looksLikeToken(tag) ? { token: tag } : {}
  return { kind: 'agent', agent, address: `${name}@${domain}`, ...token }
}

/** True for every address that we send from or take mail at. */
export function isOurAddress(addresses: Addresses, address: string): boolean {
  return resolveRecipient(addresses, address).kind !== 'unknown'
}

function findAgentByName({ agents, aliases, domains }: Addresses, name: string, domain: string): string | undefined {
  const alias = aliases[`${name}@${domain}`] ?? (domains.includes(domain) ? aliases[name] : undefined)
  if (alias !== undefined && agents.includes(alias)) return alias
  return domains.includes(domain) && agents.includes(name) ? name : undefined
}

function splitTag(
  addresses: Addresses,
  local: string,
  domain: string,
): { readonly name: string; readonly tag: string | undefined } {
  if (findAgentByName(addresses, local, domain) !== undefined) return { name: local, tag: undefined }
  const plus = tagged.exec(local)
  if (plus !== null) return { name: plus[1] ?? '', tag: plus[2] }
  const token = local.slice(-tokenLength)
  const separator = local.at(-tokenLength - 1)
  const isTagged = (separator === '-' || separator === '=') && looksLikeToken(token)
  return isTagged ? { name: local.slice(0, -tokenLength - 1), tag: token } : { name: local, tag: undefined }
}
