// Signs of life beside the books: at most once each, and nobody waits for them (ruling 33).

/**
 * Moments a platform may show, outside the books: the turn of a message begins, it has been at work for a while, it is over,
 * somebody opened a conversation.
 */
export type Sign = 'seen' | 'typing' | 'ended' | 'opened'

/** What signs are given along; nothing that is not said to the same place anyway. */
export type SignFacts = {
  /** `seen`: the words that were taken up. */
  readonly text?: string
  /** `opened`: what one might ask here. */
  readonly starters?: readonly Starter[]
  /** `ended`: how. `again`: it failed and is tried once more. */
  readonly outcome?: 'replied' | 'silent' | 'failed' | 'again'
}

/** Something a person might ask, offered before they have said anything. */
export type Starter = { readonly title: string; readonly message: string }
