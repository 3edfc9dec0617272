// What servers and statistics ask about the instance: NodeInfo, and where WebFinger is.
import type { JsonObject } from '../../../src/contract/index.ts'
import { escapeHtml } from '../../../src/markdown/index.ts'
import type { DocumentUrls } from './places.ts'
import type { DocumentDeps } from './settings.ts'

const schema = (version: string): string => `http://nodeinfo.diaspora.software/ns/schema/${version}`

export function nodeinfoType(version: string): string {
  return `application/json; profile="${schema(version)}#"; charset=utf-8`
}

export function nodeinfoLinks({ origin }: DocumentUrls): JsonObject {
  const links = ['2.1', '2.0'].map((version) => ({ rel: schema(version), href: `${origin}/nodeinfo/${version}` }))
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

export function hostMeta({ origin }: DocumentUrls): string {
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<XRD xmlns="http://docs.oasis-open.org/ns/xri/xrd-1.0">',
    `  <Link rel="lrdd" template="${escapeHtml(origin)}/.well-known/webfinger?resource={uri}"/>`,
    '</XRD>',
    '',
  ].join('\n')
}
