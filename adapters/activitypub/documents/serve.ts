// Every request below this channel's paths: documents for other servers, pages for people, and the inboxes.
import type { AgentProfile, ServeDoor } from '../../../src/contract/index.ts'
import { vocabulary } from '../wire/vocabulary.ts'
import { agentDocument, agentOwner, instanceDocument, instanceOwner, tombstone } from './actor-document.ts'
import { jsonAnswer, nothingHere, otherMethod, pageAnswer, problem, textAnswer } from './answers.ts'
import { collectionDocument } from './collections.ts'
import { type Inbox, serveInbox } from './inbox.ts'
import { hostMeta, nodeinfoDocument, nodeinfoLinks, nodeinfoType } from './instance-documents.ts'
import { serveMedia } from './media.ts'
import { wantsActivity } from './negotiate.ts'
import { readNote } from './note-document.ts'
import { notePage } from './pages/note-page.ts'
import { pagePolicy } from './pages/page.ts'
import { profilePage } from './pages/profile-page.ts'
import { type Place, placeOf } from './places.ts'
import { type DocumentDeps, standingOf } from './settings.ts'

export type Serve = (request: Request, door: ServeDoor) => Promise<Response | undefined>

type Serving = DocumentDeps & { readonly policy: () => Promise<string> }

/** How many posts a profile shows. */
const shownPosts = 10

export function createServe(deps: DocumentDeps & Inbox): Serve {
  let policy: Promise<string> | undefined
  const serving: Serving & Inbox = {
    ...deps,
    policy() {
      policy ??= pagePolicy()
      return policy
    },
  }
  return async (request, door) => {
    const place = placeOf(new URL(request.url).pathname)
    if (place === undefined) return nothingHere()
    try {
      return await serveAt(serving, place, request, door)
    } catch (error) {
      return problem(500, `something failed here; ask the operator about ${door.fail(error)}`)
    }
  }
}

async function serveAt(deps: Serving & Inbox, place: Place, request: Request, door: ServeDoor): Promise<Response> {
  if (place.kind === 'shared_inbox') return serveInbox(deps, { request, door, agent: undefined })
  const standing = 'agent' in place ? standingOf(deps, place.agent) : undefined
  if (standing !== undefined && standing.kind !== 'here')
    return standing.kind === 'retired' ? retired(deps, place, request) : nothingHere()
  if (place.kind === 'inbox') return serveInbox(deps, { request, door, agent: place.agent })
  const other = otherMethod(request)
  if (other !== undefined) return other
  return standing === undefined
    ? serveInstance(deps, place, request)
    : serveAgent(deps, place, standing.profile, request)
}

/** Others are told to forget an agent that was retired. */
function retired({ places }: Serving, place: Place, request: Request): Response {
  if (!('agent' in place)) return nothingHere()
  const id = place.kind === 'note' ? places.note(place.agent, place.id) : places.actor(place.agent)
  return jsonAnswer(request, tombstone(id), { status: 410 })
}

async function serveInstance(deps: Serving, place: Place, request: Request): Promise<Response> {
  const { places } = deps
  switch (place.kind) {
    case 'instance':
      return jsonAnswer(request, instanceDocument(places, await deps.keys.of(instanceOwner(places))))
    case 'host_meta':
      return textAnswer(request, hostMeta(places), 'application/xrd+xml; charset=utf-8')
    case 'nodeinfo_links':
      return jsonAnswer(request, nodeinfoLinks(places), { type: 'application/json' })
    case 'nodeinfo':
      return jsonAnswer(request, await nodeinfoDocument(deps, place.version), { type: nodeinfoType(place.version) })
    default:
      return nothingHere()
  }
}

async function serveAgent(deps: Serving, place: Place, profile: AgentProfile, request: Request): Promise<Response> {
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
      return document === undefined ? nothingHere() : jsonAnswer(request, document)
    }
    default:
      return nothingHere()
  }
}

async function serveProfile(deps: Serving, profile: AgentProfile, request: Request): Promise<Response> {
  const { keys, places, notes } = deps
  if (wantsActivity(request.headers.get('accept'))) {
    const ring = await keys.of(agentOwner(places, profile.slug))
    return jsonAnswer(request, agentDocument(deps, profile, ring))
  }
  const { notes: posts } = await notes.page(profile.slug, { limit: shownPosts })
  return pageAnswer(request, profilePage(deps, profile, posts), await deps.policy())
}

async function serveNote(
  deps: Serving,
  place: Extract<Place, { kind: 'note' }>,
  profile: AgentProfile,
  request: Request,
): Promise<Response> {
  const read = await readNote(deps, place, request)
  switch (read.kind) {
    case 'nothing':
      return nothingHere()
    case 'gone':
      return jsonAnswer(request, tombstone(deps.places.note(place.agent, place.id), read.at), { status: 410 })
    case 'shown': {
      const { note, isPrivate } = read
      if (wantsActivity(request.headers.get('accept')))
        return jsonAnswer(request, { ...vocabulary, ...note }, { isPrivate })
      return pageAnswer(request, notePage(deps, profile, note), await deps.policy(), { isPrivate })
    }
    default:
      return read satisfies never
  }
}
