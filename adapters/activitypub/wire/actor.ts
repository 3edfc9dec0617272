// An actor on another server, as its own server describes it.

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
