// Every request below this channel's paths: documents for other servers, pages for people, and the inboxes.
import type { AgentProfile, ServeContext } from '../../../src/contract/index.ts'
import { noteContext } from '../wire/vocabulary.ts'
import { agentDocument, agentOwner, instanceDocument, instanceOwner, tombstone } from './actor-document.ts'
import {
  htmlDocument,
  jsonDocument,
  methodNotAllowed,
  notFoundResponse,
  problemResponse,
  textDocument,
} from './answers.ts'
import { collectionDocument } from './collections.ts'
import { type Inbox, serveInbox } from './inbox.ts'
import { hostMeta, nodeinfoDocument, nodeinfoLinks, nodeinfoType } from './instance-documents.ts'
import { serveMedia } from './media.ts'
import { wantsActivity } from './negotiate.ts'
import { readNote } from './note-document.ts'
import { notePage } from './pages/note-page.ts'
import { pagePolicy } from './pages/page.ts'
import { profilePage } from './pages/profile-page.ts'
import { type DocumentPath, parseDocumentPath } from './places.ts'
import { agentStatus, type DocumentDeps } from './settings.ts'

export type Serve = (request: Request, door: ServeContext) => Promise<Response | undefined>

type Serving = DocumentDeps & { readonly policy: () => Promise<string> }

/** How many posts a profile shows. */
const shownPosts = 10

export function createDocumentServer(deps: DocumentDeps & Inbox): Serve {
  let policy: Promise<string> | undefined
  const serving: Serving & Inbox = {
    ...deps,
    policy() {
      policy ??= pagePolicy()
      return policy
    },
  }
  return async (request, door) => {
    const place = parseDocumentPath(new URL(request.url).pathname)
    if (place === undefined) return notFoundResponse()
    try {
      return await servePath(serving, place, request, door)
    } catch (error) {
      return problemResponse(500, `something failed here; ask the operator about ${door.fail(error)}`)
    }
  }
}

async function servePath(
  deps: Serving & Inbox,
  place: DocumentPath,
  request: Request,
  door: ServeContext,
): Promise<Response> {
  if (place.kind === 'shared_inbox') return serveInbox(deps, { request, door, agent: undefined })
  const standing = 'agent' in place ? agentStatus(deps, place.agent) : undefined
  if (standing !== undefined && standing.kind !== 'here')
    return standing.kind === 'retired' ? serveRetired(deps, place, request) : notFoundResponse()
  if (place.kind === 'inbox') return serveInbox(deps, { request, door, agent: place.agent })
  const other = methodNotAllowed(request)
  if (other !== undefined) return other
  return standing === undefined
    ? serveInstance(deps, place, request)
    : serveAgent(deps, place, standing.profile, request)
}

/** Others are told to forget an agent that was retired. */
function serveRetired({ places }: Serving, place: DocumentPath, request: Request): Response {
  if (!('agent' in place)) return notFoundResponse()
  const id = place.kind === 'note' ? places.note(place.agent, place.id) : places.actor(place.agent)
  return jsonDocument(request, tombstone(id), { status: 410 })
}

async function serveInstance(deps: Serving, place: DocumentPath, request: Request): Promise<Response> {
  const { places } = deps
  switch (place.kind) {
    case 'instance':
      return jsonDocument(request, instanceDocument(places, await deps.keys.of(instanceOwner(places))))
    case 'host_meta':
      return textDocument(request, hostMeta(places), 'application/xrd+xml; charset=utf-8')
    case 'nodeinfo_links':
      return jsonDocument(request, nodeinfoLinks(places), { type: 'application/json' })
    case 'nodeinfo':
      return jsonDocument(request, await nodeinfoDocument(deps, place.version), { type: nodeinfoType(place.version) })
    default:
      return notFoundResponse()
  }
}

async function serveAgent(
  deps: Serving,
  place: DocumentPath,
  profile: AgentProfile,
  request: Request,
): Promise<Response> {
  switch (place.kind) {
    case 'actor':
    case 'profile':
      return serveProfile(deps, profile, request)
    case 'note':
      return serveNote(deps, place, profile, request)
    case 'media':
      return serveMedia(deps, place, request)
    case 'collection': {
      const query = new URL(request.url).searchParams
      const page = query.has('page') ? { after: query.get('after') ?? '' } : undefined
      const document = await collectionDocument(deps, place.agent, place.name, page)
      return document === undefined ? notFoundResponse() : jsonDocument(request, document)
    }
    default:
      return notFoundResponse()
  }
}

async function serveProfile(deps: Serving, profile: AgentProfile, request: Request): Promise<Response> {
  const { keys, places, notes } = deps
  if (wantsActivity(request.headers.get('accept'))) {
    const ring = await keys.of(agentOwner(places, profile.slug))
    return jsonDocument(request, agentDocument(deps, profile, ring))
  }
  const { notes: posts } = await notes.page(profile.slug, { limit: shownPosts })
  return htmlDocument(request, profilePage(deps, profile, posts), await deps.policy())
}

async function serveNote(
  deps: Serving,
  place: Extract<DocumentPath, { kind: 'note' }>,
  profile: AgentProfile,
  request: Request,
): Promise<Response> {
  const read = await readNote(deps, place, request)
  switch (read.kind) {
    case 'nothing':
      return notFoundResponse()
    case 'gone':
      return jsonDocument(request, tombstone(deps.places.note(place.agent, place.id), read.at), { status: 410 })
    case 'shown': {
      const { note, isPrivate } = read
      if (wantsActivity(request.headers.get('accept')))
        return jsonDocument(request, { ...noteContext, ...note }, { isPrivate })
      return htmlDocument(request, notePage(deps, profile, note), await deps.policy(), { isPrivate })
    }
    default:
      return read satisfies never
  }
}
