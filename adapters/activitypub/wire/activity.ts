// An activity as plain JSON says it, read once: every shape that servers write becomes the one below.
import type { JsonObject, OnceClaim } from '../../../src/contract/index.ts'
import type { RemoteActor } from './actor.ts'

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
  readonly once?: readonly OnceClaim[]
  /** The community that passed it on. */
  readonly community?: string
  /** Slugs of the local agents whose inbox it came to; empty: the shared inbox. */
  readonly inboxOf: string | undefined
}
