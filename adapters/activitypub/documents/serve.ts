// Serves every request below this channel's paths: documents for other servers, pages for people, and the inboxes.
import type {
  AgentProfile,
  FileSource,
  RawRequest,
  ReceiveResult,
  ServeContext,
  TransportAnswer,
} from '../../../src/contract/index.ts'
import { type JsonObject, readBody } from '../../../src/lib/index.ts'
import { isActivityMediaType } from '../vocab.ts'
import { noteContext } from '../wire/activity.ts'
import { followerKey, ownFamilies } from '../wire/records.ts'
import {
  agentDocument,
  agentKeyOwner,
  collectionDocument,
  instanceDocument,
  instanceKeyOwner,
  tombstoneDocument,
} from './actor-document.ts'
import { agentStatus, type DocumentDeps } from './document-deps.ts'
import { hostMetaXml, nodeinfoDocument, nodeinfoLinks, nodeinfoType } from './instance-info.ts'
import { isPublicNote, type OwnNote, type OwnNotes } from './own-notes.ts'
import { contentSecurityPolicy, notePage, profilePage } from './pages.ts'
import {
  answerNonReadMethod,
  htmlDocument,
  jsonDocument,
  notFoundResponse,
  problemResponse,
  textDocument,
} from './responses.ts'
import { type DocumentPath, parseDocumentPath } from './urls.ts'

type Serve = (request: Request, context: ServeContext) => Promise<Response | undefined>

type Serving = DocumentDeps & { readonly policy: () => Promise<string> }

/** How many posts a profile shows. */
const shownPosts = 10

export function createDocumentServer(deps: DocumentDeps & Inbox): Serve {
  let policy: Promise<string> | undefined
  const serving: Serving & Inbox = {
    ...deps,
    policy() {
      policy ??= contentSecurityPolicy()
      return policy
    },
  }
  return async (request, context) => {
    const place = parseDocumentPath(new URL(request.url).pathname)
    if (place === undefined) return notFoundResponse()
    try {
      return await servePath(serving, place, request, context)
    } catch (error) {
      return problemResponse(500, `something failed here; ask the operator about ${context.fail(error)}`)
    }
  }
}

async function servePath(
  deps: Serving & Inbox,
  place: DocumentPath,
  request: Request,
  context: ServeContext,
): Promise<Response> {
  if (place.kind === 'shared_inbox') return serveInbox(deps, { request, context, agent: undefined })
  const standing = 'agent' in place ? agentStatus(deps, place.agent) : undefined
  if (standing !== undefined && standing.kind !== 'here')
    return standing.kind === 'retired' ? serveRetiredAgent(deps, place, request) : notFoundResponse()
  if (place.kind === 'inbox') return serveInbox(deps, { request, context, agent: place.agent })
  const other = answerNonReadMethod(request)
  if (other !== undefined) return other
  return standing === undefined
    ? serveInstance(deps, place, request)
    : serveAgent(deps, place, standing.profile, request)
}

/** Others are told to forget an agent that was retired. */
function serveRetiredAgent({ places }: Serving, place: DocumentPath, request: Request): Response {
  if (!('agent' in place)) return notFoundResponse()
  const id = place.kind === 'note' ? places.note(place.agent, place.id) : places.actor(place.agent)
  return jsonDocument(request, tombstoneDocument(id), { status: 410 })
}

async function serveInstance(deps: Serving, place: DocumentPath, request: Request): Promise<Response> {
  const { places } = deps
  switch (place.kind) {
    case 'instance':
      return jsonDocument(request, instanceDocument(places, await deps.keys.of(instanceKeyOwner(places))))
    case 'host_meta':
      return textDocument(request, hostMetaXml(places), 'application/xrd+xml; charset=utf-8')
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
  if (prefersActivityJson(request.headers.get('accept'))) {
    const ring = await keys.of(agentKeyOwner(places, profile.slug))
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
      return jsonDocument(request, tombstoneDocument(deps.places.note(place.agent, place.id), read.at), { status: 410 })
    case 'shown': {
      const { note, isPrivate } = read
      if (prefersActivityJson(request.headers.get('accept')))
        return jsonDocument(request, { ...noteContext, ...note }, { isPrivate })
      return htmlDocument(request, notePage(deps, profile, note), await deps.policy(), { isPrivate })
    }
    default:
      return read satisfies never
  }
}

// A file of a post is served to readers that know its address, as long as the post is there, and the file is.

type MediaDeps = { readonly notes: Pick<OwnNotes, 'find'>; readonly files: FileSource | undefined }

/** Others keep what is public for so long, and ask again. */
const kept = 'public, max-age=3600'

async function serveMedia(
  { notes, files }: MediaDeps,
  { agent, id, name }: Extract<DocumentPath, { kind: 'media' }>,
  request: Request,
): Promise<Response> {
  const found = await notes.find(agent, id)
  if (found === undefined) return notFoundResponse()
  const isOpen = isPublicNote(found.visibility)
  if (found.deletedAt !== undefined) return isOpen ? fileGoneResponse() : notFoundResponse()
  const attachment = found.files.find((each) => each.name === name)?.attachment
  if (attachment === undefined) return notFoundResponse()
  const answer = await files?.answer?.(attachment, request)
  if (answer === undefined) return fileGoneResponse()
  if (isOpen) answer.headers.set('cache-control', kept)
  // Programs in browsers show posts, too; who has the address may read it in any case.
  answer.headers.set('access-control-allow-origin', '*')
  return answer
}

function fileGoneResponse(): Response {
  return problemResponse(410, 'this file is no more')
}

// Whether a client reads ActivityStreams or is a browser. One that does not say is shown a page.

const activityTypes = ['application/activity+json', 'application/ld+json', 'application/json']
const pageTypes = ['text/html', 'application/xhtml+xml', 'text/*', '*/*']
const maxLength = 1024

export function prefersActivityJson(accept: string | null): boolean {
  const asked = parseAccept(accept ?? '')
  const bestAcceptedRange = (types: readonly string[]): Range | undefined =>
    asked.filter(({ type, q }) => types.includes(type) && q > 0).toSorted((one, other) => other.q - one.q)[0]
  const [activity, page] = [bestAcceptedRange(activityTypes), bestAcceptedRange(pageTypes)]
  if (activity === undefined) return false
  if (page === undefined) return true
  // Named is better than any, and of two that are equal the first is meant.
  if (activity.q !== page.q) return activity.q > page.q
  return page.type.includes('*') || activity.at < page.at
}

type Range = { readonly type: string; readonly q: number; readonly at: number }

function parseAccept(accept: string): readonly Range[] {
  return accept
    .slice(0, maxLength)
    .toLowerCase()
    .split(',')
    .map((range, at) => {
      const [type = '', ...parameters] = range.split(';').map((each) => each.trim())
      const q = Number(parameters.find((each) => each.startsWith('q='))?.slice(2) ?? 1)
      return { type, q: Number.isNaN(q) ? 1 : q, at }
    })
}

// A client that may not read a post gets the same answer as for a post that never was.

type NoteReading =
  | { readonly kind: 'shown'; readonly note: JsonObject; readonly isPrivate: boolean }
  /** It was taken back. */
  | { readonly kind: 'gone'; readonly at: string }
  | { readonly kind: 'nothing' }

async function readNote(
  deps: Pick<DocumentDeps, 'notes' | 'records' | 'places' | 'signerOf'>,
  { agent, id }: { readonly agent: string; readonly id: string },
  request: Request,
): Promise<NoteReading> {
  const found = await deps.notes.find(agent, id)
  if (found === undefined) return { kind: 'nothing' }
  // That there was a direct note is not told to others, also when it is gone.
  if (found.deletedAt !== undefined)
    return isPublicNote(found.visibility) ? { kind: 'gone', at: found.deletedAt } : { kind: 'nothing' }
  const { note } = found
  if (note === undefined) return { kind: 'nothing' }
  if (isPublicNote(found.visibility)) return { kind: 'shown', note, isPrivate: false }
  const mayRead = await mayReadNote(deps, agent, { ...found, note }, request)
  return mayRead ? { kind: 'shown', note, isPrivate: true } : { kind: 'nothing' }
}

async function mayReadNote(
  { signerOf, records, places }: Pick<DocumentDeps, 'records' | 'places' | 'signerOf'>,
  agent: string,
  { note }: OwnNote & { readonly note: JsonObject },
  request: Request,
): Promise<boolean> {
  const signer = await signerOf(request)
  if (signer === undefined) return false
  const readers = ['to', 'cc'].flatMap((name) => note[name] ?? []).filter((each) => typeof each === 'string')
  if (readers.includes(signer)) return true
  if (!readers.includes(places.collection(agent, 'followers'))) return false
  return (await records.get(ownFamilies.follower, followerKey(agent, signer))) !== undefined
}

// The inbox routes: the request as an inbound event, and its outcome as a status that other servers understand.

type Inbox = {
  readonly maxBodyBytes: number
  /** Whether an activity may stand by a proof of its own, without a signature of the request. */
  readonly acceptsProofs: boolean
}

/** `agent`: whose inbox it is; undefined: the shared inbox. */
type Delivered = { readonly request: Request; readonly context: ServeContext; readonly agent: string | undefined }

async function serveInbox(inbox: Inbox, { request, context }: Delivered): Promise<Response> {
  const { maxBodyBytes, acceptsProofs } = inbox
  if (request.method !== 'POST') return problemResponse(405, 'activities are delivered here by POST', { allow: 'POST' })
  if (!isActivityMediaType(request.headers.get('content-type') ?? undefined))
    return problemResponse(415, 'send application/activity+json, or application/ld+json with its profile')
  // Without any signature the body is not read.
  if (!acceptsProofs && (request.headers.get('signature') ?? '') === '')
    return toInboxResponse({
      kind: 'rejected',
      reason: 'missing_credential',
      trace: context.logRejection('missing_credential'),
    })
  const bytes = await readBody(request, maxBodyBytes)
  if (bytes === undefined) return problemResponse(413, `send at most ${maxBodyBytes} bytes`)
  return toInboxResponse(await context.receive(toRawInboxRequest(request, context, bytes)))
}

/** What a signature is over, besides the headers, under names that no header has. */
function toRawInboxRequest(request: Request, context: ServeContext, bytes: Uint8Array): RawRequest {
  const { host, pathname, search } = new URL(request.url)
  const headers = Object.fromEntries(request.headers)
  return {
    bytes,
    headers: { ...headers, ':path': `${pathname}${search}`, ':authority': headers['host'] ?? host },
    receivedAt: context.receivedAt,
    from: context.from,
  }
}

const retrySeconds = '60'

/** A sender that a rule turns away learns nothing from it: to them it was delivered. */
function toInboxResponse(answer: ReceiveResult): Response {
  switch (answer.kind) {
    case 'stored':
    case 'rejected_event':
      return new Response(null, { status: 202, headers: { 'cache-control': 'no-store' } })
    case 'handshake':
      return toHttpResponseOfAnswer(answer.answer)
    case 'limited':
      return problemResponse(429, 'too much at once; deliver it again later', { 'retry-after': String(answer.seconds) })
    case 'later':
      return problemResponse(503, 'not now; deliver it again later', { 'retry-after': retrySeconds })
    case 'spent':
      return problemResponse(429, 'too much from people we do not know; deliver it again later', {
        'retry-after': '3600',
      })
    case 'unreadable':
      return problemResponse(400, 'this activity cannot be read')
    case 'rejected':
      return problemResponse(
        answer.reason === 'malformed_request' ? 400 : 401,
        `refused: ${answer.reason}`,
        traceHeader(answer),
      )
    default:
      return answer satisfies never
  }
}

function toHttpResponseOfAnswer({ status, headers, body }: TransportAnswer): Response {
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  return new Response(body ?? null, { status, headers: { ...type, 'cache-control': 'no-store', ...headers } })
}

function traceHeader({ trace }: { readonly trace?: string }): Readonly<Record<string, string>> {
  return trace === undefined ? {} : { 'x-parley-trace': trace }
}
