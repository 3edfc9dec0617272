// URLs of everything of ours, built and parsed. They never change: other servers keep them.
import { profileIri } from '../wire/activity.ts'

export type DocumentUrls = {
  readonly origin: string
  readonly instance: string
  /** Its user name. Others look for it by WebFinger, and Mastodon takes no colon in one. */
  readonly instanceName: string
  readonly sharedInbox: string
  /** Host of the handles, which need not be the host of the documents. */
  readonly handleHost: string
  actor(agent: string): string
  inbox(agent: string): string
  collection(agent: string, name: CollectionName): string
  note(agent: string, id: string): string
  profile(agent: string): string
  handle(agent: string): string
}

export const collectionNames = ['outbox', 'followers', 'following', 'featured'] as const
export type CollectionName = (typeof collectionNames)[number]

const root = '/ap'

export function createDocumentUrls(origin: string, handleHost = new URL(origin).host): DocumentUrls {
  const actorUrl = (agent: string): string => `${origin}${root}/${agent}`
  return {
    origin,
    instance: `${origin}${root}/actor`,
    instanceName: new URL(origin).hostname,
    sharedInbox: `${origin}${root}/inbox`,
    handleHost,
    actor: actorUrl,
    inbox: (agent) => `${actorUrl(agent)}/inbox`,
    collection: (agent, name) => `${actorUrl(agent)}/${name}`,
    note: (agent, id) => `${actorUrl(agent)}/notes/${id}`,
    profile: (agent) => profileIri(origin, agent),
    handle: (agent) => `@${agent}@${handleHost}`,
  }
}

/** Slugs that name something else here. */
export const reservedSlugs: readonly string[] = ['actor', 'inbox']

/** Paths that the gateway's listener hands to this channel. */
export const servedPaths: readonly string[] = [
  `${root}/*`,
  '/:handle{@[A-Za-z0-9-]+}',
  '/.well-known/host-meta',
  '/.well-known/nodeinfo',
  '/nodeinfo/*',
]

export type DocumentPath =
  | { readonly kind: 'instance' | 'shared_inbox' | 'host_meta' | 'nodeinfo_links' }
  | { readonly kind: 'nodeinfo'; readonly version: '2.0' | '2.1' }
  | { readonly kind: 'actor' | 'profile' | 'inbox'; readonly agent: string }
  | { readonly kind: 'collection'; readonly agent: string; readonly name: CollectionName }
  | { readonly kind: 'note'; readonly agent: string; readonly id: string }
  /** A file that goes with the note `id`, under a name that cannot be guessed. */
  | { readonly kind: 'media'; readonly agent: string; readonly id: string; readonly name: string }

/** Undefined: there is nothing at this path. */
export function parseDocumentPath(pathname: string): DocumentPath | undefined {
  switch (pathname) {
    case `${root}/actor`:
      return { kind: 'instance' }
    case `${root}/inbox`:
      return { kind: 'shared_inbox' }
    case '/.well-known/host-meta':
      return { kind: 'host_meta' }
    case '/.well-known/nodeinfo':
      return { kind: 'nodeinfo_links' }
    case '/nodeinfo/2.0':
    case '/nodeinfo/2.1':
      return { kind: 'nodeinfo', version: pathname.endsWith('0') ? '2.0' : '2.1' }
    default:
      return parseAgentPath(pathname)
  }
}

function parseAgentPath(pathname: string): DocumentPath | undefined {
  const handle = /^\/@([a-z0-9-]+)$/i.exec(pathname)?.[1]
  if (handle !== undefined) return { kind: 'profile', agent: handle.toLowerCase() }
  const [, agent, what, id] =
    /^\/ap\/([a-z0-9][a-z0-9-]*)(?:\/([a-z]+)(?:\/([A-Za-z0-9_-]{1,128}))?)?$/.exec(pathname) ?? []
  if (agent === undefined || reservedSlugs.includes(agent)) return undefined
  if (what === undefined) return { kind: 'actor', agent }
  if (what === 'notes') return id === undefined ? undefined : { kind: 'note', agent, id }
  if (what === 'media') return parseMediaPath(agent, id)
  if (id !== undefined) return undefined
  if (what === 'inbox') return { kind: 'inbox', agent }
  const name = collectionNames.find((each) => each === what)
  return name === undefined ? undefined : { kind: 'collection', agent, name }
}

function parseMediaPath(agent: string, written = ''): DocumentPath | undefined {
  const [, id, name] = /^([A-Za-z0-9_]+)-([a-z0-9]+)$/.exec(written) ?? []
  return id === undefined || name === undefined ? undefined : { kind: 'media', agent, id, name }
}
