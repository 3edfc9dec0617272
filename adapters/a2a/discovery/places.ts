// What stands in the document of an agent's address: where its card is. Only the connection whose cards lie below /.well-known says so.
import type { AgentProfile, DiscoveryVerbs } from '../../../src/contract/index.ts'
import { rootPaths } from '../serve/place.ts'

export function createDiscovery(publicUrl: string | undefined, agents: () => readonly AgentProfile[]): DiscoveryVerbs {
  return {
    async places(agent) {
      const isKnown = agents().some(({ slug }) => slug === agent)
      return publicUrl === undefined || !isKnown ? undefined : { card: `${publicUrl}${rootPaths.addresses}/${agent}` }
    },
  }
}
