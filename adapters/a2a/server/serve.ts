// Serves everything below this channel's paths: the public documents, and both bindings of every agent.
import type { AgentProfile, ServeContext, WebFinger } from '../../../src/contract/index.ts'
import { createFault, type Fault, isA2aFault } from '../protocol/faults.ts'
import { documentPaths } from '../protocol/operations.ts'
import { type CardDocument, type CardReader, cardResponse, checkCardMethod, type Serving } from './agent-card.ts'
import type { A2aDeps } from './call.ts'
import { type BindingRequest, serveRpc } from './json-rpc.ts'
import { faultResponse, type ResponseFormat } from './responses.ts'
import { serveRest } from './rest.ts'
import { identifyCaller, reportFailure } from './run-operation.ts'

export function createA2aServer(
  deps: A2aDeps,
): (request: Request, door: ServeContext) => Promise<Response | undefined> {
  return async (request, door) => {
    const url = new URL(request.url)
    const slugs = deps.agents().map(({ slug }) => slug)
    const place = routePath(url.pathname, deps.settings.path, slugs)
    const origin = deps.publicUrl ?? url.origin
    try {
      if (place.kind === 'operation') return await serveOperation(deps, { request, door, origin }, place)
      const stranger = await checkCardReader(deps, request, door)
      if (stranger !== undefined) return faultResponse(defaultFormat(deps, 'rest'), stranger)
      return (
        (await serveDocument(deps, request, place, { origin, isLocal: door.from === 'local' })) ?? notFoundAtPath(deps)
      )
    } catch (error) {
      const isRpc = place.kind === 'operation' && place.segments.length === 0
      return faultResponse(defaultFormat(deps, isRpc ? 'rpc' : 'rest'), reportFailure(door, error))
    }
  }
}

type Asked = Pick<BindingRequest, 'request' | 'door' | 'origin'>

function serveOperation(
  deps: A2aDeps,
  asked: Asked,
  { agent: mount, segments }: Extract<Route, { kind: 'operation' }>,
): Promise<Response> {
  const arriving = { ...asked, mount }
  return segments.length === 0 ? serveRpc(deps, arriving) : serveRest(deps, arriving, segments)
}

/** Undefined: the caller may read it. */
async function checkCardReader(deps: A2aDeps, request: Request, door: ServeContext): Promise<Fault | undefined> {
  if (deps.settings.cards === 'public') return undefined
  const caller = await identifyCaller(deps, request, door, undefined)
  return isA2aFault(caller) ? caller : undefined
}

async function serveDocument(
  { settings, cards }: A2aDeps,
  request: Request,
  place: Exclude<Route, { kind: 'operation' }>,
  reader: CardReader,
): Promise<Response | undefined> {
  const { maxAgeSeconds } = settings.card
  const isLegacyOn = settings.protocolVersions.includes('0.3')
  const serveCard = async (
    read: Promise<CardDocument | undefined>,
    serving: Serving,
  ): Promise<Response | undefined> => {
    const document = await read
    return document === undefined ? undefined : (checkCardMethod(request) ?? cardResponse(request, document, serving))
  }
  switch (place.kind) {
    case 'root_card': {
      // Who says 1.0 reads 1.0; who says nothing may be of the version before.
      const isStrict = !isLegacyOn || (request.headers.get('a2a-version') ?? '').trim().startsWith('1.')
      const read = isStrict ? cards.strict({ agent: undefined }, reader) : cards.hybrid({ agent: undefined }, reader)
      return serveCard(read, { maxAgeSeconds, ...(isLegacyOn ? { vary: 'A2A-Version' } : {}) })
    }
    case 'early_card':
      return isLegacyOn ? serveCard(cards.hybrid({ agent: undefined }, reader), { maxAgeSeconds }) : undefined
    case 'address_card':
      return serveCard(cards.address(place.slug, reader), { maxAgeSeconds })
    case 'card':
      return serveCard(cards.strict({ agent: place.agent }, reader), { maxAgeSeconds })
    case 'keys':
      return serveCard(cards.keys(), { maxAgeSeconds })
    case 'nothing':
      return undefined
    default:
      return place satisfies never
  }
}

function notFoundAtPath(deps: A2aDeps): Response {
  return faultResponse(defaultFormat(deps, 'rest'), createFault('not_found', 'there is nothing at this path'))
}

function defaultFormat({ settings }: A2aDeps, form: ResponseFormat['form']): ResponseFormat {
  return { dialect: '1.0', form, table: settings.errorTable, id: null, mediaType: 'application/json' }
}

// A request is routed by its path alone: to a document, or to an operation of an agent.

type Route =
  | { readonly kind: 'root_card' | 'early_card' }
  | { readonly kind: 'address_card'; readonly slug: string }
  | { readonly kind: 'card' | 'keys'; readonly agent: string | undefined }
  /** `segments` below the agent, decoded; none: JSON-RPC. */
  | { readonly kind: 'operation'; readonly agent: string | undefined; readonly segments: readonly string[] }
  | { readonly kind: 'nothing' }

/** Where the documents of the whole host lie. */

/** First words of paths that the hub itself answers; an agent of such a name is reached there, by naming it as the tenant. */
const hubWords = new Set(['message:send', 'message:stream', 'tasks', 'extendedAgentCard', 'v1', '.well-known'])

function routePath(pathname: string, base: string, agents: readonly string[]): Route {
  if (pathname === documentPaths.card) return { kind: 'root_card' }
  if (pathname === documentPaths.early) return { kind: 'early_card' }
  const slug = segmentsBelow(pathname, documentPaths.addresses)
  if (slug !== undefined) return slug.length === 1 ? { kind: 'address_card', slug: slug[0] ?? '' } : { kind: 'nothing' }
  const segments = segmentsBelow(pathname, base)
  if (segments === undefined) return { kind: 'nothing' }
  const [first] = segments
  const isAgent = first !== undefined && !hubWords.has(first) && agents.includes(first)
  const agent = isAgent ? first : undefined
  const below = isAgent ? segments.slice(1) : segments
  if (below[0] !== '.well-known') return { kind: 'operation', agent, segments: below }
  const document = below.slice(1).join('/')
  if (document === 'agent-card.json') return { kind: 'card', agent }
  return document === 'jwks.json' ? { kind: 'keys', agent } : { kind: 'nothing' }
}

/** A slash at the end is no segment. Undefined: the path is not below it, or cannot be read. */
function segmentsBelow(pathname: string, base: string): readonly string[] | undefined {
  if (pathname !== base && !pathname.startsWith(`${base}/`)) return undefined
  const raw = pathname.slice(base.length + 1).replace(/\/$/, '')
  if (raw === '') return []
  try {
    return raw.split('/').map(decodeURIComponent)
  } catch {
    return undefined
  }
}

// Only the connection whose cards lie below /.well-known has a link in an agent's WebFinger document.

export function createA2aWebFinger(publicUrl: string | undefined, agents: () => readonly AgentProfile[]): WebFinger {
  return {
    async urls(agent) {
      const isKnown = agents().some(({ slug }) => slug === agent)
      return publicUrl === undefined || !isKnown
        ? undefined
        : { card: `${publicUrl}${documentPaths.addresses}/${agent}` }
    },
  }
}
