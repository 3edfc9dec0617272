// A stored turn as a fixture for tests: no secrets, and no person's name, address or id. Fields are carried over one by one, so
// that what is not known here is left out rather than leaked.
import {
  type HistoricalMessage,
  type Json,
  type NormalizedMessage,
  type Sender,
  senderSchema,
} from '../../contract/index.ts'
import type { SentCall, Stored } from '../../db/replay.ts'
import type { StoredMessage } from '../../db/turn-rows.ts'
import { toHistoricalMessage } from '../../sessions/codec.ts'
import { anonymizeParts } from './clean-parts.ts'
import { createPseudonyms, type Pseudonyms } from './pseudonyms.ts'

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

export function cleanedFixture(stored: Stored, wish: Exclude<FixtureRequest, 'none'>): Fixture {
  const names = createPseudonyms(wish === 'with_text')
  const messages = stored.members.flatMap(({ message }) => (message === null ? [] : [message]))
  const history = stored.history.map(toHistoricalMessage).filter((turn) => turn !== undefined)
  // First every person is given a name, then texts are cleaned: a name may be said before its bearer speaks.
  for (const { sender } of [...history, ...messages]) meet(names, sender)
  for (const message of messages) meetMessage(names, message)
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

function meet(names: Pseudonyms, { address, display_name, profile, identities = [] }: Sender): void {
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

function meetMessage(names: Pseudonyms, { id, thread_id, sender, channel }: StoredMessage): void {
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
    ...(message.channel === undefined ? {} : { channel: cleanChannel(names, sender, message.channel) }),
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

function cleanChannel(
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
