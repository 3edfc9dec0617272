// What WebFinger says about an agent on this channel, and whose an address of this channel is (ruling 51).
import type { DiscoveryVerbs } from '../../../src/contract/index.ts'
import { placeOf } from './places.ts'
import { type DocumentDeps, standingOf } from './settings.ts'

export function createDiscovery(deps: Pick<DocumentDeps, 'agents' | 'settings' | 'places'>): DiscoveryVerbs {
  const { places } = deps
  return {
    async places(agent) {
      const standing = standingOf(deps, agent)
      if (standing.kind === 'retired') return 'gone'
      if (standing.kind === 'unknown') return undefined
      const own = new URL(places.origin).host
      const domain = places.handleHost === own ? {} : { domain: places.handleHost }
      return { self: places.actor(agent), profilePage: places.profile(agent), ...domain }
    },
    agentAt(url) {
      const place = url.origin === places.origin ? placeOf(url.pathname) : undefined
      return place?.kind === 'actor' || place?.kind === 'profile' ? place.agent : undefined
    },
  }
}
