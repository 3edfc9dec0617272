// What the channel keeps for good about others beyond who follows: who wants nothing from us, what was reported, what was for several.
import type { Records } from '../../../src/contract/index.ts'

export const peerFamilies = {
  /** Who follows by which activity, so that an Undo may name that alone. Key: its IRI. Value: `{ agent, actor }`. */
  follow: 'follow',
  /** Who asked to follow and waits for the operator. Key: `peerKey`. Value: like a follower. */
  request: 'follow_request',
  /** Who has blocked an agent. Key: `peerKey`. Value: `{ agent, actor, block }`. */
  block: 'block',
  /** Which agents a note was for, where they were several or it was to a community. Key: its IRI. Value: `{ agents, author }`. */
  shared: 'shared_note',
  /** What another server reported to the operator. Key: IRI of the report. Value: `{ actor, about, complaint, at }`. */
  flag: 'flag',
  /** The same once the operator is done with it, with `closed_at`. */
  closedFlag: 'closed_flag',
} as const

/** An agent's name holds no white space, so no two pairs have one key. What `Places` calls a person, too. */
export function peerKey(agent: string, actor: string): string {
  return `${agent} ${actor}`
}

/** What goes to one person goes in this order. It has an end, so that no key is the beginning of another. */
export function personOrderKey(agent: string, actor: string): string {
  return `${peerKey(agent, actor)} >`
}

export async function hasBlocked(records: Records, agent: string, actor: string): Promise<boolean> {
  return (await records.get(peerFamilies.block, peerKey(agent, actor))) !== undefined
}
