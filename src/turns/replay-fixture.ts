// A stored turn as a fixture for tests: no secrets, and no person's name, address or id. Fields are carried over one by one, so
// that what is not known here is left out rather than leaked.

import { isKnownPart, type KnownPart, type NormalizedMessage, type Part, type Sender } from '../contract/index.ts'
import type { HistoricalMessage } from '../contract/message.ts'
import { senderSchema } from '../contract/sender.ts'
import type { SentCall, Stored } from '../db/replay.ts'
import type { StoredMessage } from '../db/turn-rows.ts'
import { redactRaw } from '../inbound/stored-copy.ts'
import type { Json } from '../lib/json-value.ts'
import { toHistoricalMessage } from '../sessions/transcript.ts'

/** `cleaned`: every text becomes filler of the same shape. `with_text`: texts stay, less names, ids and secrets. */
export type FixtureRequest = 'none' | 'cleaned' | 'with_text'

export type Fixture = {
  readonly v: 1
  readonly channel: string
  readonly agent: string
  /** Valid NormalizedMessages, in the order of the turn. */
  readonly messages: readonly NormalizedMessage[]
  readonly history: readonly HistoricalMessage[]
  readonly steps: readonly { readonly step: string; readonly state: string; readonly result: Json }[]
  readonly sent: readonly SentCall[]
}

export function createAnonymizedFixture(stored: Stored, wish: Exclude<FixtureRequest, 'none'>): Fixture {
  const names = createPseudonyms(wish === 'with_text')
  const messages = stored.members.flatMap(({ message }) => (message === null ? [] : [message]))
  const history = stored.history.map(toHistoricalMessage).filter((turn) => turn !== undefined)
  // First every person is given a name, then texts are cleaned: a name may be said before its bearer speaks.
  for (const { sender } of [...history, ...messages]) registerSenderPseudonyms(names, sender)
  for (const message of messages) registerMessagePseudonyms(names, message)
  return {
    v: 1,
    channel: stored.connection.split('/')[0] ?? '',
    agent: stored.agent,
    messages: messages.map((message) => anonymizeMessage(names, stored.agent, message)),
    history: history.map((turn) => anonymizeHistory(names, stored.agent, turn)),
    steps: stored.steps.map(({ step, state, result }) => ({ step, state, result: names.json(result) })),
    sent: stored.calls.map(({ purpose, primary, call }) => ({
      purpose,
      primary,
      call: names.json(call) as SentCall['call'],
    })),
  }
}

function registerSenderPseudonyms(
  names: Pseudonyms,
  { address, display_name, profile, identities = [] }: Sender,
): void {
  const person = names.person(address)
  const aliases = [
    display_name,
    profile?.display_name,
    profile?.username,
    profile?.url,
    profile?.provider_subject,
    ...identities.map((identity) => identity.subject),
  ]
  for (const alias of aliases) names.alias(alias, person)
}

function registerMessagePseudonyms(names: Pseudonyms, { id, thread_id, sender, channel }: StoredMessage): void {
  names.alias(channel?.sender_id, names.person(sender.address))
  for (const mention of channel?.mentions ?? []) names.person(mention.subject ?? mention.text)
  names.id('conversation', channel?.external_conversation_id ?? thread_id)
  names.id('message', channel?.external_message_id ?? id)
}

function anonymizeMessage(names: Pseudonyms, agent: string, message: StoredMessage): NormalizedMessage {
  const { id, thread_id, in_reply_to, sender, parts, recipient_capabilities, received_via, received_at } = message
  return {
    id: names.id('message', id),
    thread_id: names.id('thread', thread_id),
    ...(in_reply_to === undefined ? {} : { in_reply_to: names.id('message', in_reply_to) }),
    sender: anonymizeSender(names, agent, sender),
    recipient: fixtureAgentAddress(agent),
    parts: anonymizeParts(names, parts),
    recipient_capabilities,
    received_via,
    received_at,
    raw: null,
    ...(message.channel === undefined ? {} : { channel: anonymizeChannelContext(names, sender, message.channel) }),
  }
}

function anonymizeHistory(
  names: Pseudonyms,
  agent: string,
  { role, sender, parts, timestamp }: HistoricalMessage,
): HistoricalMessage {
  const said =
    role === 'assistant' ? { ...sender, address: fixtureAgentAddress(agent) } : anonymizeSender(names, agent, sender)
  return { role, sender: said, parts: anonymizeParts(names, parts), timestamp }
}

function anonymizeSender(names: Pseudonyms, agent: string, sender: Sender): Sender {
  const person = names.person(sender.address)
  // Through the schema: a verified sender cannot be written down in any other way.
  return senderSchema.parse({
    address: `@${person}@example.com`,
    ...(sender.display_name === undefined ? {} : { display_name: person }),
    auth_method: sender.auth_method,
    verified: sender.verified,
    ...(sender.identities === undefined
      ? {}
      : {
          identities: sender.identities.map(({ subject, method, assurance, issued_at, proof }) => ({
            // The kind of subject before the colon is the channel's; what comes after it is a person's id.
            subject: `${subject.includes(':') ? `${subject.split(':')[0]}:` : ''}${person}`,
            issuer: 'example.com',
            method,
            assurance,
            audience: fixtureAgentAddress(agent),
            issued_at,
            proof: { type: proof.type, verified_by: 'parley' },
          })),
        }),
  })
}

function anonymizeChannelContext(
  names: Pseudonyms,
  sender: Sender,
  channel: NonNullable<StoredMessage['channel']>,
): NonNullable<StoredMessage['channel']> {
  const { external_conversation_id, external_message_id, sender_id, mentions, target_id, run_id, command } = channel
  const pseudonymOrNull = (kind: string, value: string | null): string | null =>
    value === null ? null : names.id(kind, value)
  return {
    connector_id: channel.connector_id,
    external_provider: channel.external_provider,
    external_conversation_id: pseudonymOrNull('conversation', external_conversation_id),
    external_message_id: pseudonymOrNull('message', external_message_id),
    sender_id: sender_id === null ? null : names.person(sender.address),
    room_kind: channel.room_kind,
    from_self: channel.from_self,
    addressed: channel.addressed,
    visibility: channel.visibility,
    mentions: mentions.map(({ text, subject }) => {
      const person = names.person(subject ?? text)
      return { text: `@${person}`, ...(subject === undefined ? {} : { subject: person }) }
    }),
    event: channel.event,
    ...(target_id === undefined ? {} : { target_id: names.id('message', target_id) }),
    ...(run_id === undefined ? {} : { run_id: names.id('run', run_id) }),
    ...(command === undefined ? {} : { command: { name: command.name, args: names.text(command.args) } }),
  }
}

function fixtureAgentAddress(agent: string): string {
  return `@${agent}@example.com`
}

// Parts keep their kinds and shapes, without what they say or where their bytes are.

function anonymizeParts(names: Pseudonyms, parts: readonly Part[]): Part[] {
  return parts.map((part) => (isKnownPart(part) ? anonymizePart(names, part) : { kind: part.kind }))
}

function anonymizePart(names: Pseudonyms, part: KnownPart): Part {
  switch (part.kind) {
    case 'text':
      return {
        ...part,
        content: part.mime === 'text/html' ? anonymizeHtml(names, part.content) : names.text(part.content),
      }
    case 'file':
    case 'artifact':
      return {
        kind: part.kind,
        bytes_ref: { kind: 'url', url: 'https://example.com/file' },
        ...(part.mime === undefined ? {} : { mime: part.mime }),
        ...(part.name === undefined ? {} : { name: names.text(part.name) }),
      }
    case 'link':
      return { kind: 'link', url: 'https://example.com/' }
    case 'tool_call':
      // Arguments are JSON: they came out of the database.
      return { kind: 'tool_call', id: names.id('call', part.id), name: part.name, args: names.json(part.args as Json) }
    case 'policy':
      return { kind: 'policy', policy: { kind: part.policy.kind, message: names.text(part.policy.message) } }
  }
}

/** Tags keep their names and lose their attributes, which may hold links and addresses. */
function anonymizeHtml(names: Pseudonyms, html: string): string {
  return html
    .split(/(<[^>]*>)/)
    .map((bit) => (bit.startsWith('<') ? bit.replace(/^<(\/?)(\w+)[^>]*>$/, '<$1$2>') : names.text(bit)))
    .join('')
}

// Stand-ins for people, rooms and texts are stable: the same original gives the same stand-in within one fixture.

type Pseudonyms = {
  readonly person: (key: string) => string
  /** Another name of the same person. */
  readonly alias: (value: string | null | undefined, standIn: string) => void
  readonly id: (kind: string, value: string) => string
  readonly text: (value: string) => string
  /** Any other JSON: its shape, without what it says. */
  readonly json: (value: Json) => Json
}

const filler = 'loremipsumdolorsitametconsecteturadipiscingelit'
/** Shorter ones would be found inside ordinary words. */
const shortestName = 3

function createPseudonyms(keepsText: boolean): Pseudonyms {
  const counts = new Map<string, number>()
  const known = new Map<string, string>()
  const numberedPseudonym = (kind: string, value: string): string => {
    const found = known.get(value)
    if (found !== undefined) return found
    const number = (counts.get(kind) ?? 0) + 1
    counts.set(kind, number)
    known.set(value, `${kind}-${number}`)
    return `${kind}-${number}`
  }
  const anonymizeText = (value: string): string => {
    const exact = known.get(value)
    if (exact !== undefined) return exact
    return keepsText ? replaceNames(known, redactSecretText(value)) : replaceByFiller(value)
  }
  const anonymizeJson = (value: Json): Json => {
    if (typeof value === 'string') return anonymizeText(value)
    if (typeof value === 'number') return isIdentifyingNumber(known, value) ? 1_000_000 : value
    if (Array.isArray(value)) return value.map(anonymizeJson)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, field]) => [known.get(key) ?? key, anonymizeJson(field)]),
    )
  }
  return {
    person: (key) => numberedPseudonym('person', key),
    alias(value, standIn) {
      if (value === undefined || value === null || value === '') return
      if (!known.has(value)) known.set(value, standIn)
      for (const word of value.split(/\s+/))
        if (word.length >= shortestName && !known.has(word)) known.set(word, standIn)
    },
    id: numberedPseudonym,
    text: anonymizeText,
    json: anonymizeJson,
  }
}

/** Letters become filler and digits zeros; case, blanks, punctuation and a leading command stay. */
function replaceByFiller(text: string): string {
  const command = /^\/\w+/.exec(text)?.[0] ?? ''
  let at = 0
  const nextFillerLetter = (original: string): string => {
    const next = filler[at % filler.length] ?? 'x'
    at += 1
    return original === original.toLowerCase() ? next : next.toUpperCase()
  }
  return command + text.slice(command.length).replace(/\p{L}/gu, nextFillerLetter).replace(/\p{N}/gu, '0')
}

function redactSecretText(value: string): string {
  return String(redactRaw({ value })['value'] ?? '')
}

function replaceNames(known: ReadonlyMap<string, string>, value: string): string {
  const originals = [...known.keys()].filter((each) => each.length >= shortestName).toSorted(compareByLength)
  let cleaned = value
  for (const original of originals) {
    const word = new RegExp(`(?<![\\p{L}\\p{N}])${escapeRegExp(original)}(?![\\p{L}\\p{N}])`, 'giu')
    cleaned = cleaned.replace(word, known.get(original) ?? '')
  }
  return cleaned
}

/** A person's id as a number, or one long enough to be a telephone number or an account. */
function isIdentifyingNumber(known: ReadonlyMap<string, string>, value: number): boolean {
  return known.has(String(value)) || Math.abs(value) >= 100_000
}

function compareByLength(one: string, other: string): number {
  return other.length - one.length
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
