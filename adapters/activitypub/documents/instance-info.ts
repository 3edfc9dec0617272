// The instance for other servers (NodeInfo, WebFinger) and for the operator when the gateway starts.

import { type Adapter, type AgentProfile, parseAddress } from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/index.ts'
import { escapeHtml } from '../../../src/markdown/index.ts'
import { agentStatus, type DocumentDeps } from './document-deps.ts'
import { type DocumentUrls, parseDocumentPath, reservedSlugs } from './urls.ts'

const nodeInfoSchemaUrl = (version: string): string => `http://nodeinfo.diaspora.software/ns/schema/${version}`

export function nodeinfoType(version: string): string {
  return `application/json; profile="${nodeInfoSchemaUrl(version)}#"; charset=utf-8`
}

export function nodeinfoLinks({ origin }: DocumentUrls): JsonObject {
  const links = ['2.1', '2.0'].map((version) => ({
    rel: nodeInfoSchemaUrl(version),
    href: `${origin}/nodeinfo/${version}`,
  }))
  return { links }
}

export async function nodeinfoDocument(
  { agents, notes, settings, version: ours }: DocumentDeps,
  version: '2.0' | '2.1',
): Promise<JsonObject> {
  const total = agents().length
  const { operator, contact } = settings
  return {
    version,
    software: { name: 'parley', version: ours },
    protocols: ['activitypub'],
    services: { inbound: [], outbound: [] },
    openRegistrations: false,
    usage: { users: { total, activeMonth: total, activeHalfyear: total }, localPosts: await notes.count() },
    metadata: {
      nodeDescription: 'A gateway for AI agents. Every account here is automated.',
      ...(operator === undefined ? {} : { operator }),
      ...(contact === undefined ? {} : { contact }),
    },
  }
}

export function hostMetaXml({ origin }: DocumentUrls): string {
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<XRD xmlns="http://docs.oasis-open.org/ns/xri/xrd-1.0">',
    `  <Link rel="lrdd" template="${escapeHtml(origin)}/.well-known/webfinger?resource={uri}"/>`,
    '</XRD>',
    '',
  ].join('\n')
}

// WebFinger links of an agent on this channel and of the instance, and which agent an address of this channel belongs to.

export function createActivityPubWebFinger(
  deps: Pick<DocumentDeps, 'agents' | 'settings' | 'places'>,
): NonNullable<Adapter['webfinger']> {
  const { places } = deps
  return {
    async urls(agent) {
      const standing = agentStatus(deps, agent)
      if (standing.kind === 'retired') return 'gone'
      if (standing.kind === 'unknown') return findInstanceAccount(places, agent)
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
function findInstanceAccount(
  { instance, instanceName }: DocumentUrls,
  name: string,
): { readonly self: string } | undefined {
  // A host may be longer than a user name may be, or a number in brackets.
  const isAccount = parseAddress(`${instanceName}@local.invalid`) !== undefined
  return name === instanceName && isAccount ? { self: instance } : undefined
}

// At the start the operator reads the handles of the agents, and which agent has none.

const shownHandles = 3

export function startupNotice({ handle }: DocumentUrls, agents: readonly AgentProfile[]): string {
  const slugs = agents.map(({ slug }) => slug)
  const handles = slugs.filter((slug) => !reservedSlugs.includes(slug)).map(handle)
  const nameless = slugs.filter((slug) => reservedSlugs.includes(slug))
  const remedy = 'the channel has something else at that address, give the agent another name'
  return [
    ...(handles.length === 0 ? [] : [`mention ${handles.slice(0, shownHandles).join(', ')}`]),
    ...nameless.map((slug) => `${slug} gets no account: ${remedy}`),
  ].join('; ')
}
