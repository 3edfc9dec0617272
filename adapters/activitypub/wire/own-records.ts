// What this channel keeps for good, by family: who follows an agent, and how often its keys were made anew (what it has posted: call.ts).

export const ownFamilies = {
  /** Key: `followerKey`. Value: whom to tell where, and by which Follow of when (`asker.ts`). */
  follower: 'follower',
  /** How often the keys of an actor were made anew. Key: its name. */
  keys: 'keys',
} as const

export function followerKey(agent: string, actor: string): string {
  return `${agent} ${actor}`
}
