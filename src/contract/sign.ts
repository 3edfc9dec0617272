// Presence: typing, reactions and status. Each is sent at most once, outside the outbox, and no turn waits for one.

/**
 * Moments a platform may show, outside the outbox: a message waits behind a run, its turn begins, it has been at work for a while, it
 * is over, a conversation was opened.
 */
export type PresenceUpdate = 'waiting' | 'seen' | 'typing' | 'ended' | 'opened'

/** What presence updates are given along; nothing that is not said to the same place anyway. */
export type PresenceDetails = {
  /** `waiting`, `seen`: the message, as its platform calls it. */
  readonly messageId?: string
  /** `seen`: how long the message waited to be taken up. */
  readonly waitedMs?: number
  /** `seen`: the words that were taken up. */
  readonly text?: string
  /** `opened`: what one might ask here. */
  readonly starters?: readonly Starter[]
  /** `ended`: how. `again`: it failed and is tried once more. */
  readonly outcome?: 'replied' | 'silent' | 'failed' | 'again'
}

/** Something a person might ask, offered before they have said anything. */
export type Starter = { readonly title: string; readonly message: string }
