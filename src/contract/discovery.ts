// Where an agent of ours is found, as channels tell it: what stands in the document of its address.

/** Each place in full, by https; on this machine alone also by http. */
export type AgentUrls = {
  /** Its card, for other agents. */
  readonly card?: string
  /** Its actor, where it speaks ActivityPub. */
  readonly self?: string
  readonly profilePage?: string
  /** Where a user of another server goes to follow it: a template with `{uri}` in it. */
  readonly subscribe?: string
  /** Its mail address. */
  readonly mail?: string
  /** The domain of its address, where that is another one than this gateway's own. */
  readonly domain?: string
}

/** What a channel says when a client asks for an agent's address. */
export interface DiscoveryVerbs {
  /** Undefined: it is not on this channel. `gone`: it was, and is no more. `agent` is any name that a client asked for. */
  places(agent: string): Promise<AgentUrls | 'gone' | undefined>
  /** Whom an address of this channel's own belongs to, where a client asks by that. Pure. */
  agentAt?(url: URL): string | undefined
}
