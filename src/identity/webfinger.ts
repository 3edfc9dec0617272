// WebFinger documents (RFC 7033): what an address leads to. Written strictly, read with the one alias that is still in use.
import * as z from 'zod'
import { parseAddress } from '../contract/index.ts'
import type { AgentUrls } from '../contract/optional-verbs.ts'
import { GatewayError } from '../lib/errors.ts'

/** Published under the first name only; the second is what older publishers wrote. */
const cardRel = 'https://mentionable.dev/ns/rel/agent-card'
const legacyCardRel = 'https://mentionable.dev/agent-card'
const profileRel = 'http://webfinger.net/rel/profile-page'
const subscribeRel = 'http://ostatus.org/schema/1.0/subscribe'

export type JrdLink = { readonly rel: string; readonly type?: string } & (
  | { readonly href: string }
  | { readonly template: string }
)
export type Jrd = {
  readonly subject: string
  /** Other names of the same agent. */
  readonly aliases?: readonly string[]
  readonly links: readonly JrdLink[]
}

/** Links in the order the specification gives them. Throws `config_invalid` for a URL that is not https. */
export function agentJrd(address: string, { card, self, profilePage, subscribe, mail }: AgentUrls): Jrd {
  const links: readonly JrdLink[] = [
    ...(self === undefined ? [] : [{ rel: 'self', type: 'application/activity+json', href: self }]),
    ...(card === undefined ? [] : [{ rel: cardRel, type: 'application/json', href: card }]),
    ...(profilePage === undefined ? [] : [{ rel: profileRel, type: 'text/html', href: profilePage }]),
    ...(subscribe === undefined ? [] : [{ rel: subscribeRel, template: subscribe }]),
    ...(mail === undefined ? [] : [{ rel: 'mailto', href: `mailto:${mail}` }]),
  ]
  const plain = links.find((link) => !isPublishableLink(link))
  if (plain !== undefined)
    throw new GatewayError('config_invalid', `[identity] ${plain.rel} of ${address} must be an https address`)
  const aliases = [profilePage, self].filter((alias) => alias !== undefined)
  return { subject: formatAcctUri(address), ...(aliases.length === 0 ? {} : { aliases }), links }
}

/** A loopback link cannot be reached from outside, so it is no risk to others. */
function isPublishableLink(link: JrdLink): boolean {
  const href = 'href' in link ? link.href : link.template
  if (isSafeLink({ rel: link.rel, href })) return true
  return URL.canParse(href) && new URL(href).protocol === 'http:' && isLoopbackHostname(new URL(href).hostname)
}

function isLoopbackHostname(hostname: string): boolean {
  return hostname === '127.0.0.1' || hostname === '[::1]' || hostname === 'localhost' || hostname.endsWith('.localhost')
}

export type JrdReading =
  | {
      readonly ok: true
      readonly card: string | undefined
      readonly self: string | undefined
      readonly profilePage: string | undefined
      /** `JRD_ORDER`: links stand in another order than they should; nothing depends on it. */
      readonly warnings: readonly 'JRD_ORDER'[]
    }
  | { readonly ok: false; readonly code: 'JRD_MALFORMED' | 'JRD_SUBJECT' | 'JRD_HREF' }

const jrdSchema = z.object({
  subject: z.string().max(512),
  links: z
    // Links that are templates have no href; there is nothing of theirs that we follow.
    .array(
      z.object({
        rel: z.string().max(512),
        type: z.string().max(256).optional(),
        href: z.string().max(2048).default(''),
      }),
    )
    .max(64)
    .default([]),
})

/** What a server says about `address`. It must speak of that address and no other, and lead nowhere in the clear. */
export function readJrd(input: unknown, address: string): JrdReading {
  const parsed = jrdSchema.safeParse(input)
  if (!parsed.success) return { ok: false, code: 'JRD_MALFORMED' }
  const { subject, links } = parsed.data
  if (!isSameAccount(subject, address)) return { ok: false, code: 'JRD_SUBJECT' }
  const known = links.filter(({ rel, href }) => href !== '' && linkOrder.some((rels) => rels.includes(rel)))
  if (!known.every(isSafeLink)) return { ok: false, code: 'JRD_HREF' }
  const findLinkHref = (...rels: readonly string[]) =>
    rels.map((rel) => known.find((link) => link.rel === rel)?.href).find((href) => href !== undefined)
  return {
    ok: true,
    card: findLinkHref(cardRel, legacyCardRel),
    self: findLinkHref('self'),
    profilePage: findLinkHref(profileRel),
    warnings: areJrdLinksInOrder(known) ? [] : ['JRD_ORDER'],
  }
}

const linkOrder: readonly (readonly string[])[] = [['self'], [cardRel, legacyCardRel], [profileRel], ['mailto']]

function areJrdLinksInOrder(links: readonly { readonly rel: string }[]): boolean {
  const places = links.map(({ rel }) => linkOrder.findIndex((rels) => rels.includes(rel)))
  return places.every((place, index) => index === 0 || (places[index - 1] ?? 0) <= place)
}

function isSafeLink({ rel, href }: { readonly rel: string; readonly href: string }): boolean {
  if (rel === 'mailto') return href.startsWith('mailto:')
  return URL.canParse(href) && new URL(href).protocol === 'https:'
}

function isSameAccount(subject: string, address: string): boolean {
  const [said, asked] = [parseAddress(subject), parseAddress(address)]
  return said !== undefined && asked !== undefined && said.local === asked.local && said.domain === asked.domain
}

function formatAcctUri(address: string): string {
  const parsed = parseAddress(address)
  // This machine goes by a number and a port, which no address has.
  const [, local = '', host = ''] = /^@([\w.-]{1,64})@([\w.-]+(?::\d{1,5})?)$/.exec(address) ?? []
  if (parsed === undefined && isLoopbackHostname(host.replace(/:\d+$/, ''))) return `acct:${local}@${host}`
  if (parsed === undefined) throw new GatewayError('config_invalid', `[identity] ${address} is no address`)
  return `acct:${parsed.local}@${parsed.domain}`
}
