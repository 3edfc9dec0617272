// What WebFinger says about an agent on this channel and about the instance, and which agent an address of this channel belongs to.
import { type AgentPlaces, type DiscoveryVerbs, parseAddress } from '../../../src/contract/index.ts'
import { type Places, placeOf } from './places.ts'
import { type DocumentDeps, standingOf } from './settings.ts'

export function createDiscovery(deps: Pick<DocumentDeps, 'agents' | 'settings' | 'places'>): DiscoveryVerbs {
  const { places } = deps
  return {
    async places(agent) {
      const standing = standingOf(deps, agent)
      if (standing.kind === 'retired') return 'gone'
      if (standing.kind === 'unknown') return instanceNamed(places, agent)
      const own = new URL(places.origin).host
      const domain = places.handleHost === own ? {} : { domain: places.handleHost }
      return { self: places.actor(agent), profilePage: places.profile(agent), ...domain }
    },
    agentAt(url) {
      const place = url.origin === places.origin ? placeOf(url.pathname) : undefined
      if (place?.kind === 'instance') return places.instanceName
      return place?.kind === 'actor' || place?.kind === 'profile' ? place.agent : undefined
    },
  }
}

/**
 * A server that gets a request signed by the instance looks for its account, and one that finds none (Mastodon in secure mode)
 * refuses all we ask. Its account is at the host of the documents, also where handles have another one.
 */
function instanceNamed({ instance, instanceName }: Places, name: string): AgentPlaces | undefined {
  // A host may be longer than a user name may be, or a number in brackets.
  const isAccount = parseAddress(`${instanceName}@local.invalid`) !== undefined
  return name === instanceName && isAccount ? { self: instance } : undefined
}
