// What WebFinger says about an agent on this channel and about the instance, and which agent an address of this channel belongs to.
import { type AgentUrls, type DiscoveryVerbs, parseAddress } from '../../../src/contract/index.ts'
import { type DocumentUrls, parseDocumentPath } from './places.ts'
import { agentStatus, type DocumentDeps } from './settings.ts'

export function createActivityPubWebFinger(deps: Pick<DocumentDeps, 'agents' | 'settings' | 'places'>): DiscoveryVerbs {
  const { places } = deps
  return {
    async places(agent) {
      const standing = agentStatus(deps, agent)
      if (standing.kind === 'retired') return 'gone'
      if (standing.kind === 'unknown') return findInstance(places, agent)
      const own = new URL(places.origin).host
      const domain = places.handleHost === own ? {} : { domain: places.handleHost }
      return { self: places.actor(agent), profilePage: places.profile(agent), ...domain }
    },
    agentAt(url) {
      const place = url.origin === places.origin ? parseDocumentPath(url.pathname) : undefined
      if (place?.kind === 'instance') return places.instanceName
      return place?.kind === 'actor' || place?.kind === 'profile' ? place.agent : undefined
    },
  }
}

/**
 * A server that gets a request signed by the instance looks for its account, and one that finds none (Mastodon in secure mode)
 * refuses all we ask. Its account is at the host of the documents, also where handles have another one.
 */
function findInstance({ instance, instanceName }: DocumentUrls, name: string): AgentUrls | undefined {
  // A host may be longer than a user name may be, or a number in brackets.
  const isAccount = parseAddress(`${instanceName}@local.invalid`) !== undefined
  return name === instanceName && isAccount ? { self: instance } : undefined
}
