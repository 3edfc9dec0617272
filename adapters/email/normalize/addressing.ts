// Addressing: which agent an address of ours means, by its name with or without a tag, or that it is where reports about our mails
// come back. Pure.

import type { ChannelContext, Connection } from '../../../src/contract/index.ts'
import { isTokenShaped, keyLength } from '../threading.ts'
import { isFieldProven, type Mailbox } from '../wire/mail.ts'
import type { VerifiedMail, VerifiedRecipient } from '../wire/verified-mail.ts'
import { getProvenAuthor } from './sender.ts'

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
  const token = tag !== undefined && isTokenShaped(tag) ? { token: tag } : {}
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
  const isTagged = (separator === '-' || separator === '=') && isTokenShaped(token)
  return isTagged ? { name: local.slice(0, -tokenLength - 1), tag: token } : { name: local, tag: undefined }
}

// Who else is in a mail, and whether this agent is addressed: only To and Cc count, never the text of a mail. Pure.

type AgentRecipient = Extract<VerifiedRecipient, { kind: 'agent' }>

const maxMentions = 50

export function mailChannelContext(
  mail: VerifiedMail,
  recipient: AgentRecipient,
  context: { readonly connection: Connection; readonly addresses: Addresses; readonly threadId: string },
): ChannelContext {
  const { head, proof } = mail
  const author = getProvenAuthor(proof)
  const isOtherRecipient = ({ address }: Mailbox): boolean =>
    address !== author?.address && !isOurAddress(context.addresses, address)
  // A recipient that a server on the way wrote in makes it less direct, and is neither addressed nor addresses the agent.
  const named = [...(isFieldProven(proof, 'to') ? head.to : []), ...(isFieldProven(proof, 'cc') ? head.cc : [])]
  const others = [...head.to, ...head.cc].filter(isOtherRecipient)
  const isNamed = named.some(({ address }) => {
    const meant = resolveRecipient(context.addresses, address)
    return meant.kind === 'agent' && meant.agent === recipient.agent
  })
  // A blind copy is ambient context: answering it would tell the others of it.
  const isDirect = others.length === 0 && (isNamed || recipient.tokenKey !== undefined)
  return {
    connector_id: context.connection.id,
    external_provider: 'email',
    external_conversation_id: context.threadId,
    external_message_id: recipient.thread.id,
    sender_id: author?.address ?? null,
    room_kind: isDirect ? 'dm' : 'group',
    from_self: false,
    addressed: isDirect ? 'dm' : recipient.tokenKey !== undefined ? 'reply' : isNamed ? 'mention' : 'none',
    visibility: isDirect ? 'direct' : 'private',
    mentions: named
      .filter(isOtherRecipient)
      .slice(0, maxMentions)
      .map(({ address }) => ({ text: address, subject: `mailto:${address}` })),
    event: 'new',
  }
}
