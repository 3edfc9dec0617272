// The link to an agent's card in its WebFinger document. Only the connection whose cards lie below /.well-known has one.
import type { AgentProfile, DiscoveryVerbs } from '../../../src/contract/index.ts'
import { rootPaths } from '../serve/place.ts'

export function createA2aWebFinger(
  publicUrl: string | undefined,
  agents: () => readonly AgentProfile[],
): DiscoveryVerbs {
  return {
    async places(agent) {
      const isKnown = agents().some(({ slug }) => slug === agent)
      return publicUrl === undefined || !isKnown ? undefined : { card: `${publicUrl}${rootPaths.addresses}/${agent}` }
    },
  }
}
