// Types of activities, actors and keys: every shape that servers write becomes the ones below.

import type { InboundMessage } from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/index.ts'
export type Visibility = 'public' | 'unlisted' | 'followers' | 'direct'

export type ReadTag = {
  readonly type: 'Mention' | 'Hashtag' | 'Emoji' | 'Link'
  readonly href: string | undefined
  readonly name: string
}

export type ReadAttachment = {
  readonly type: string
  readonly url: string
  readonly mediaType: string | undefined
  /** What a person who cannot see it is told. */
  readonly alt: string
}

export type ReadObject = {
  readonly id: string | undefined
  readonly type: string
  readonly attributedTo: string | undefined
  readonly to: readonly string[]
  readonly cc: readonly string[]
  /** HTML as it came. */
  readonly content: string
  readonly language: string | undefined
  /** Content warning. */
  readonly summary: string
  readonly isSensitive: boolean
  readonly name: string
  readonly inReplyTo: string | undefined
  readonly context: string | undefined
  readonly conversation: string | undefined
  readonly tags: readonly ReadTag[]
  readonly attachments: readonly ReadAttachment[]
  /** Of a poll. */
  readonly options: readonly string[]
  readonly quote: string | undefined
  readonly url: string | undefined
  readonly published: string | undefined
  readonly updated: string | undefined
  readonly audience: readonly string[]
}

export type ReadActivity = {
  readonly id: string | undefined
  readonly type: string
  readonly actor: string
  readonly to: readonly string[]
  readonly cc: readonly string[]
  /** Embedded, or its IRI alone. */
  readonly object: ReadObject | string | undefined
  /** For Undo, Accept, Reject and Announce: the activity inside, where it is embedded. */
  readonly inner: ReadActivity | undefined
  readonly target: string | undefined
  readonly published: string | undefined
  readonly raw: JsonObject
}

/** What verification let through. */
export type VerifiedActivity = {
  readonly activity: ReadActivity
  readonly signer: RemoteActor
  /** `ap-origin-fetch`: nothing of theirs is signed; their own server shows it, asked over https. */
  readonly method: 'ap-http-signature' | 'ap-object-integrity-proof' | 'ap-origin-fetch'
  /** Undefined where no key was in it. */
  readonly keyId: string | undefined
  /** What was signed, where a copy of the request could be told from it by nothing else. Absent where no signature is at hand. */
  readonly once?: NonNullable<InboundMessage['once']>
  /** The community that passed it on. */
  readonly community?: string
  /** Slugs of the local agents whose inbox it came to; empty: the shared inbox. */
  readonly inboxOf: string | undefined
}

export type RemoteKey = {
  /** IRI of the key. */
  readonly id: string
  readonly owner: string
  readonly algorithm: 'rsa' | 'ed25519' | 'p256'
  /** SPKI, base64. */
  readonly spki: string
}

export type RemoteActor = {
  readonly id: string
  /** Person, Service, Application, Group, Organization. */
  readonly type: string
  readonly inbox: string
  readonly sharedInbox: string | undefined
  readonly followers: string | undefined
  readonly preferredUsername: string
  /** `@user@host`; its host is confirmed only where WebFinger points back. */
  readonly handle: string
  readonly isHandleConfirmed: boolean
  readonly name: string
  readonly url: string | undefined
  readonly iconUrl: string | undefined
  readonly keys: readonly RemoteKey[]
  readonly alsoKnownAs: readonly string[]
  /** Says that it wants no answers of bots. */
  readonly isNoBot: boolean
  readonly fetchedAt: string
}

// verify hands to normalize an activity that was proven, and what the channel knows already about actors in it.

export type KnownFacts = {
  /** Agents of ours that the author has blocked. */
  readonly blocked: readonly string[]
  /** Agents that the note was for which is taken back, where that is kept. */
  readonly shared: readonly string[]
  /** What an activity that is undone was about, where only its address is given. */
  readonly undone: { readonly kind: 'Follow' | 'Block'; readonly agent: string } | undefined
}

export type ActivityPayload =
  | { readonly kind: 'activity'; readonly gated: VerifiedActivity; readonly facts: KnownFacts }
  /** A community passed it on, and its author's server does not bear it out. `gated` is what the community sent. */
  | { readonly kind: 'unproven'; readonly gated: VerifiedActivity; readonly reason: string }
  /** An actor is gone: their own server says so. */
  | { readonly kind: 'departed'; readonly activity: ReadActivity }

export const nothingKnown: KnownFacts = { blocked: [], shared: [], undone: undefined }

// IRIs of our actors, notes and files. Other servers ask for them for years: none of these may change.

export const publicAudience = 'https://www.w3.org/ns/activitystreams#Public'

export function actorIri(origin: string, agent: string): string {
  return `${origin}/ap/${agent}`
}

/** The page of an agent. */
export function profileIri(origin: string, agent: string): string {
  return `${origin}/@${agent}`
}

export function followersIri(origin: string, agent: string): string {
  return `${actorIri(origin, agent)}/followers`
}

export function noteIri(origin: string, agent: string, digest: string): string {
  return `${actorIri(origin, agent)}/notes/${digest}`
}

/** For a thread that came without a name. */
export function contextIri(noteId: string): string {
  return `${noteId}#context`
}

/** `name`: the note's digest, and a part that cannot be guessed. */
export function mediaIri(origin: string, agent: string, name: string): string {
  return `${actorIri(origin, agent)}/media/${name}`
}

// The JSON-LD context of our posts is the same where they are delivered, fetched and listed.

/** Said inline, so that no server has to fetch what our words mean. */
export const noteContext: JsonObject = {
  '@context': [
    'https://www.w3.org/ns/activitystreams',
    'https://w3id.org/security/data-integrity/v1',
    { sensitive: 'as:sensitive', ostatus: 'http://ostatus.org#', conversation: 'ostatus:conversation' },
  ],
}
