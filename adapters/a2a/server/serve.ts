// Serves everything below this channel's paths: the public documents, and both bindings of every agent.

import type { Adapter, AgentProfile, ServeContext } from '../../../src/contract/index.ts'
import type { Fields } from '../../../src/lib/index.ts'
import { createFault, type Fault, isA2aFault } from '../protocol/faults.ts'
import { upgradeRequest } from '../protocol/legacy.ts'
import { type Dialect, documentPaths, matchRestRoute, type RestMatch } from '../protocol/operations.ts'
import { getCamelOrSnakeField, hasCamelOrSnakeField } from '../protocol/requests.ts'
import { chooseAnswerMediaType, readProtocolVersion } from '../verify.ts'
import { type CardDocument, type CardReader, cardResponse, checkCardMethod, type Serving } from './agent-card.ts'
import { type A2aDeps, invalidParamsFault } from './call.ts'
import { type BindingRequest, mediaTypeFault, readJsonBody, serveRpc } from './json-rpc.ts'
import { faultResponse, type ResponseFormat } from './responses.ts'
import { answerOperation, identifyCaller, reportFailure } from './run-operation.ts'

export function createA2aServer(
  deps: A2aDeps,
): (request: Request, context: ServeContext) => Promise<Response | undefined> {
  return async (request, context) => {
    const url = new URL(request.url)
    const slugs = deps.agents().map(({ slug }) => slug)
    const place = routePath(url.pathname, deps.settings.path, slugs)
    const origin = deps.publicUrl ?? url.origin
    try {
      if (place.kind === 'operation') return await serveOperation(deps, { request, context, origin }, place)
      const stranger = await checkMayReadCards(deps, request, context)
      if (stranger !== undefined) return faultResponse(defaultResponseFormat(deps, 'rest'), stranger)
      return (
        (await serveDocument(deps, request, place, { origin, isLocal: context.from === 'local' })) ??
        notFoundAtPath(deps)
      )
    } catch (error) {
      const isRpc = place.kind === 'operation' && place.segments.length === 0
      return faultResponse(defaultResponseFormat(deps, isRpc ? 'rpc' : 'rest'), reportFailure(context, error))
    }
  }
}

type Asked = Pick<BindingRequest, 'request' | 'context' | 'origin'>

function serveOperation(
  deps: A2aDeps,
  asked: Asked,
  { agent: mount, segments }: Extract<Route, { kind: 'operation' }>,
): Promise<Response> {
  const arriving = { ...asked, mount }
  return segments.length === 0 ? serveRpc(deps, arriving) : serveRest(deps, arriving, segments)
}

/** Undefined: the caller may read it. */
async function checkMayReadCards(deps: A2aDeps, request: Request, context: ServeContext): Promise<Fault | undefined> {
  if (deps.settings.cards === 'public') return undefined
  const caller = await identifyCaller(deps, request, context, undefined)
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
  return faultResponse(defaultResponseFormat(deps, 'rest'), createFault('not_found', 'there is nothing at this path'))
}

function defaultResponseFormat({ settings }: A2aDeps, form: ResponseFormat['form']): ResponseFormat {
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
  const slug = splitPathBelow(pathname, documentPaths.addresses)
  if (slug !== undefined) return slug.length === 1 ? { kind: 'address_card', slug: slug[0] ?? '' } : { kind: 'nothing' }
  const segments = splitPathBelow(pathname, base)
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
function splitPathBelow(pathname: string, base: string): readonly string[] | undefined {
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

export function createA2aWebFinger(
  publicUrl: string | undefined,
  agents: () => readonly AgentProfile[],
): NonNullable<Adapter['webfinger']> {
  return {
    async urls(agent) {
      const isKnown = agents().some(({ slug }) => slug === agent)
      return publicUrl === undefined || !isKnown
        ? undefined
        : { card: `${publicUrl}${documentPaths.addresses}/${agent}` }
    },
  }
}

// The HTTP+JSON binding: paths with verbs behind a colon, members in the query or the body.

async function serveRest(
  deps: A2aDeps,
  { request, context, mount, origin }: BindingRequest,
  segments: readonly string[],
): Promise<Response> {
  const { settings } = deps
  const { headers } = request
  const mediaType = chooseAnswerMediaType(headers.get('content-type') ?? undefined, headers.get('accept') ?? undefined)
  const version = readProtocolVersion(request, settings.protocolVersions)
  const dialect = typeof version === 'string' ? version : '1.0'
  const tongue: ResponseFormat = { dialect, form: 'rest', table: settings.errorTable, id: null, mediaType }
  const match = matchOperation(request.method, segments, dialect)
  if (match.kind !== 'found')
    return faultResponse(tongue, typeof version === 'string' ? unmatchedPathFault(match, segments, dialect) : version)
  // What a verb is asked of a task needs no body, and then no type of one.
  const foreign = methodAllowsBody(request) ? mediaTypeFault(headers, match.params['id'] !== undefined) : undefined
  if (foreign !== undefined) return faultResponse(tongue, foreign)
  const caller = await identifyCaller(deps, request, context, mount)
  if (isA2aFault(caller)) return faultResponse(tongue, caller)
  const body = methodAllowsBody(request) ? await readJsonBody(request, settings.maxBodyBytes) : readQuery(request)
  if (isA2aFault(body)) return faultResponse(tongue, body)
  if (typeof version !== 'string') return faultResponse(tongue, version)
  const params = mergePathParams(body, match.params)
  if (isA2aFault(params)) return faultResponse(tongue, params)
  const { name, tenant } = match
  const blocksByDefault = settings.legacyBlocking
  const read = dialect === '1.0' ? params : upgradeRequest(name, params, { form: 'rest', blocksByDefault })
  return answerOperation(deps, { request, context, caller, mount, tenant, dialect, origin }, tongue, {
    name,
    params: read,
  })
}

type Matched =
  | Exclude<RestMatch, { kind: 'found' }>
  | (Extract<RestMatch, { kind: 'found' }> & { readonly tenant: string | undefined })

/** 0.3 stands below /v1; 1.0 may have one segment for a tenant before it. */
function matchOperation(method: string, segments: readonly string[], dialect: Dialect): Matched {
  if (dialect === '0.3') {
    const match =
      segments[0] === 'v1' ? matchRestRoute(method, segments.slice(1), dialect) : { kind: 'nothing' as const }
    return match.kind === 'found' ? { ...match, tenant: undefined } : match
  }
  const plain = matchRestRoute(method, segments, dialect)
  if (plain.kind === 'found') return { ...plain, tenant: undefined }
  const [tenant, ...below] = segments
  // The path segment of the older version is never a tenant.
  const tenanted = tenant === 'v1' ? { kind: 'nothing' as const } : matchRestRoute(method, below, dialect)
  if (tenanted.kind === 'found') return { ...tenanted, tenant }
  return plain.kind === 'nothing' ? tenanted : plain
}

function unmatchedPathFault(
  match: Exclude<Matched, { kind: 'found' }>,
  segments: readonly string[],
  dialect: Dialect,
): Fault {
  if (match.kind === 'other_method')
    return createFault('method_not_allowed', `this path is asked by ${match.allow.join(' or ')}`, {
      headers: { allow: [...new Set(match.allow)].join(', ') },
    })
  const isOfOther = dialect === '0.3' ? segments[0] !== 'v1' : segments[0] === 'v1'
  const advice = isOfOther
    ? `; paths ${dialect === '0.3' ? 'without /v1 need A2A-Version: 1.0' : 'below /v1 are of 0.3'}`
    : ''
  return createFault('not_found', `there is nothing at this path in version ${dialect}${advice}`)
}

function methodAllowsBody({ method }: Request): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH'
}

/** Values as text, which is how their readers take them; a name that comes twice is a list. */
function readQuery(request: Request): Fields {
  const { searchParams } = new URL(request.url)
  const params: Record<string, unknown> = {}
  for (const name of new Set(searchParams.keys())) {
    const values = searchParams.getAll(name)
    params[name] = values.length === 1 ? values[0] : values
  }
  return params
}

/** The path names the task; a body that names another means something else than it says. */
function mergePathParams(body: Fields, path: Readonly<Record<string, string>>): Fields | Fault {
  for (const [name, value] of Object.entries(path)) {
    const given = hasCamelOrSnakeField(body, name) ? getCamelOrSnakeField(body, name) : undefined
    if (given !== undefined && given !== null && given !== '' && given !== value)
      return invalidParamsFault([{ field: name, description: 'is another in the path' }])
  }
  return { ...body, ...path }
}
