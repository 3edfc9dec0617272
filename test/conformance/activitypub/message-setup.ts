// Activities of Alice elsewhere, read as the channel reads them once the gate has let them in.

import { createDocumentUrls } from '../../../adapters/activitypub/documents/urls.ts'
import { normalizeActivity } from '../../../adapters/activitypub/normalize/activity.ts'
import type { LocalAgents } from '../../../adapters/activitypub/normalize/activity-context.ts'
import { isUnreadableActivity, readActivity } from '../../../adapters/activitypub/vocab.ts'
import {
  type KnownFacts,
  nothingKnown,
  type RemoteActor,
  type VerifiedActivity,
} from '../../../adapters/activitypub/wire/activity.ts'
import type { IgnoredEvent, InboundEvent, InboundMessage, KnownPart } from '../../../src/contract/index.ts'

export const us = 'https://bot.example/ap/demo'
export const sibling = 'https://bot.example/ap/helper'
export const alice = 'https://social.example/users/alice'
export const everybody = 'https://www.w3.org/ns/activitystreams#Public'
export const receivedAt = '2026-03-01T12:00:00.000Z'
type Fields = Readonly<Record<string, unknown>>

const author: RemoteActor = {
  id: alice,
  type: 'Person',
  inbox: `${alice}/inbox`,
  sharedInbox: 'https://social.example/inbox',
  followers: `${alice}/followers`,
  preferredUsername: 'alice',
  handle: '@alice@social.example',
  isHandleConfirmed: true,
  name: 'Alice',
  url: 'https://social.example/@alice',
  iconUrl: 'https://files.social.example/alice.png',
  keys: [],
  alsoKnownAs: [],
  isNoBot: false,
  fetchedAt: receivedAt,
}

export const mentionOf = (href: string, name = '@demo@bot.example') => ({ type: 'Mention', href, name })

/** As Mastodon writes a public post that begins with a mention. */
export function aNote(more: Fields = {}): Fields {
  const id = `${alice}/statuses/1`
  return {
    id,
    type: 'Note',
    summary: null,
    inReplyTo: null,
    published: '2026-03-01T11:59:58Z',
    url: 'https://social.example/@alice/1',
    attributedTo: alice,
    to: [everybody],
    cc: [`${alice}/followers`, us],
    sensitive: false,
    conversation: 'tag:social.example,2026-03-01:objectId=7:objectType=Conversation',
    content:
      '<p><span class="h-card" translate="no"><a href="https://bot.example/@demo" class="u-url mention">@<span>demo</span></a></span> what is the time?</p>',
    contentMap: {},
    attachment: [],
    tag: [mentionOf(us)],
    ...more,
  }
}

export function aCreate(object: unknown = aNote(), more: Fields = {}): Fields {
  const { id, to, cc } = object as Record<string, unknown>
  return {
    '@context': 'https://www.w3.org/ns/activitystreams',
    id: `${id}/activity`,
    type: 'Create',
    actor: alice,
    published: '2026-03-01T11:59:58Z',
    ...(to === undefined ? {} : { to }),
    ...(cc === undefined ? {} : { cc }),
    object,
    ...more,
  }
}

export const anActivity = (type: string, object: unknown, more: Fields = {}): Fields => ({
  '@context': 'https://www.w3.org/ns/activitystreams',
  id: `${alice}#${type.toLowerCase()}/1`,
  type,
  actor: alice,
  object,
  ...more,
})

export type Reading = {
  readonly signer?: Partial<RemoteActor>
  readonly facts?: Partial<KnownFacts>
  readonly moderation?: Partial<LocalAgents['moderation']>
  readonly agents?: readonly string[]
  readonly method?: VerifiedActivity['method']
}

export function readAs(
  activity: unknown,
  { signer, facts, moderation, agents, method }: Reading = {},
): readonly InboundEvent[] {
  const read = readActivity(JSON.parse(JSON.stringify(activity)))
  if (isUnreadableActivity(read)) throw new Error(read.reason)
  const gated: VerifiedActivity = {
    activity: read,
    signer: { ...author, ...signer },
    method: method ?? 'ap-http-signature',
    keyId: `${alice}#main-key`,
    inboxOf: 'demo',
  }
  const home: LocalAgents = {
    places: createDocumentUrls('https://bot.example'),
    agents: agents ?? ['demo', 'helper'],
    moderation: { allow: [], bots: [], follow: 'accept', ...moderation },
  }
  const arrival = { bytes: new Uint8Array(), headers: {}, receivedAt, from: 'remote' as const }
  const connection = { tenant: 'default', id: 'default', agent: 'demo', domain: 'bot.example' }
  return normalizeActivity(home, { kind: 'activity', gated, facts: { ...nothingKnown, ...facts } }, arrival, connection)
}

/** The one message it is. */
export function message(activity: unknown, reading?: Reading): InboundMessage {
  const [first, ...others] = readAs(activity, reading)
  if (first?.kind !== 'message' || others.length > 0)
    throw new Error(`not one message: ${JSON.stringify([first, others])}`)
  return first
}

/** Why it is none. */
export function unheard(activity: unknown, reading?: Reading): IgnoredEvent {
  const [first, ...others] = readAs(activity, reading)
  if (first?.kind !== 'ignored' || others.length > 0) throw new Error(`not ignored: ${JSON.stringify([first, others])}`)
  return first
}

export const partsIn = (note: Fields): readonly KnownPart[] =>
  message(aCreate(aNote(note))).message.parts as readonly KnownPart[]
export const textsIn = (note: Fields): readonly unknown[] =>
  partsIn(note).map((part) => ('content' in part ? part.content : part.kind))
