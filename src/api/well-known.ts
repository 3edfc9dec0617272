// The /.well-known routes: WebFinger (RFC 7033), the key of our attestations, OAuth protected resource metadata. Channels say
// where an agent is found, the core says whose it is.
import type { Context, Hono } from 'hono'
import * as z from 'zod'
import { parseAddress } from '../contract/index.ts'
import type { AgentUrls, WebFinger } from '../contract/optional-verbs.ts'
import { hasTokenIssuers, resourcePath, toProtectedResource } from '../identity/issuers/token-issuers.ts'
import { agentJrd, type Jrd } from '../identity/webfinger.ts'
import type { GatewayConnection } from '../turns/gateway-connection.ts'
import type { AppDeps } from './deps.ts'
import { answerToResponse, errorCodeAnswer, jsonBodyAnswer } from './http-answers.ts'
import { apiNotFoundError } from './identify-caller.ts'
import { defineOperation, defineResource } from './resource.ts'

/** Public, also for pages of other origins. */
const anyOriginHeaders = { 'access-control-allow-origin': '*' } as const
const maxResourceLength = 2_048

type Deps = Pick<AppDeps, 'gateway' | 'publicUrl'>
type DiscoverableConnection = {
  readonly connection: GatewayConnection['connection']
  readonly discovery: WebFinger
}

const linkSchema = z.object({
  rel: z.string(),
  type: z.string().optional(),
  href: z.string().optional(),
  template: z.string().optional(),
})

/** Only there where a channel says where agents are found. */
export const discovery = defineResource({
  name: 'discovery',
  tag: 'About the gateway',
  audience: 'anybody',
  isServed: ({ gateway }) => gateway.connections.some(({ adapter }) => adapter.webfinger !== undefined),
  operations: {
    find: defineOperation({
      method: 'get',
      path: '/.well-known/webfinger',
      id: 'findAgent',
      summary: 'Where an agent is found, by its address (RFC 7033)',
      query: z.object({ resource: z.string(), rel: z.string().optional() }),
      returns: 'Its links',
      output: z.object({ subject: z.string(), aliases: z.array(z.string()).optional(), links: z.array(linkSchema) }),
      mediaType: 'application/jrd+json',
      problems: [400, 404, 410],
      respond: (deps, context) => answerWebfinger(deps, discoverableConnections(deps), context),
    }),
  },
})

function discoverableConnections({ gateway }: Deps): readonly DiscoverableConnection[] {
  return gateway.connections.flatMap(({ connection, adapter }) =>
    adapter.webfinger === undefined ? [] : [{ connection, discovery: adapter.webfinger }],
  )
}

async function answerWebfinger(
  deps: Deps,
  known: readonly DiscoverableConnection[],
  context: Context,
): Promise<Response> {
  const resource = context.req.query('resource') ?? ''
  if (resource === '' || resource.length > maxResourceLength)
    return webfingerRefusal('bad_request', 'ask with ?resource=acct:name@domain')
  const found = await findJrd(deps, known, resource)
  if (found === undefined) return webfingerRefusal('not_found', 'no agent has that address here')
  if (found === 'gone') return webfingerRefusal('content_erased', 'the agent that had this address is no longer here')
  const rels = context.req.queries('rel') ?? []
  const links = rels.length === 0 ? found.links : found.links.filter(({ rel }) => rels.includes(rel))
  const headers = { 'content-type': 'application/jrd+json; charset=utf-8', 'cache-control': 'public, max-age=300' }
  return answerToResponse({ ...jsonBodyAnswer(200, { ...found, links }), headers: { ...headers, ...anyOriginHeaders } })
}

async function findJrd(
  { publicUrl }: Deps,
  known: readonly DiscoverableConnection[],
  resource: string,
): Promise<Jrd | 'gone' | undefined> {
  const asked = readWebfingerResource(resource, known)
  if (asked === undefined) return undefined
  const all = await Promise.all(known.map(({ discovery }) => discovery.urls(asked.agent)))
  const places = all.filter((each) => each !== undefined && each !== 'gone')
  if (places.length === 0) return all.includes('gone') ? 'gone' : undefined
  // Where two name the same place the first one counts: connections stand in the order of the configuration.
  const merged = Object.assign({}, ...places.toReversed()) as AgentUrls
  const own = known[0]?.connection.domain ?? ''
  const hosts = [own, merged.domain, publicUrl === undefined ? undefined : new URL(publicUrl).host]
  if (asked.host !== undefined && !hosts.includes(asked.host)) return undefined
  const jrd = agentJrd(`@${asked.agent}@${merged.domain ?? own}`, merged)
  // A client that knows it by the other domain finds that this is the same agent.
  const isElsewhere = merged.domain !== undefined && merged.domain !== own
  return isElsewhere ? { ...jrd, aliases: [...(jrd.aliases ?? []), `acct:${asked.agent}@${own}`] } : jrd
}

/** The agent that a client asks for, by account or by an address that a channel knows as one of its own. */
function readWebfingerResource(
  resource: string,
  known: readonly DiscoverableConnection[],
): { readonly agent: string; readonly host?: string } | undefined {
  if (/^https?:/i.test(resource)) {
    if (!URL.canParse(resource)) return undefined
    const url = new URL(resource)
    const agent = known.map(({ discovery }) => discovery.agentAt?.(url)).find((each) => each !== undefined)
    return agent === undefined ? undefined : { agent }
  }
  const account = resource.replace(/^acct:/i, '').replace(/^@/, '')
  const at = account.lastIndexOf('@')
  if (at < 1) return undefined
  const [local, host] = [account.slice(0, at), account.slice(at + 1).toLowerCase()]
  // A host that is no domain may still be this machine's, with its port: it is compared with our own.
  const isLocal = parseAddress(`${local}@local.invalid`) !== undefined
  return isLocal ? { agent: local.toLowerCase(), host: parseAddress(account)?.domain ?? host } : undefined
}

function webfingerRefusal(code: 'bad_request' | 'not_found' | 'content_erased', words: string): Response {
  const { headers, ...rest } = errorCodeAnswer(code, words)
  return answerToResponse({ ...rest, headers: { ...headers, ...anyOriginHeaders } })
}

// GET /.well-known/adapter-card: the public key by which others check what this gateway attests about people.

const adapterCardPath = '/.well-known/adapter-card'

export function addAdapterCardRoute(app: Hono, { gateway }: Pick<AppDeps, 'gateway'>): void {
  app.get(adapterCardPath, async (_context, next) => {
    const card = await gateway.connectorCard()
    if (card === undefined) return void (await next())
    const document = jsonBodyAnswer(200, card)
    return answerToResponse({ ...document, headers: { ...document.headers, 'cache-control': 'public, max-age=300' } })
  })
}

// GET /.well-known/oauth-protected-resource: which servers issue tokens for this gateway (RFC 9728).

type ResourceDeps = Pick<AppDeps, 'tokenIssuers' | 'publicUrl'>

/** Paths of ours, and nothing that only looks like one. */
const plainPath = /^(?:\/[\w.@~-]{1,128}){0,8}$/

const resourceOutput = z.object({
  resource: z.string(),
  authorization_servers: z.array(z.string()),
  scopes_supported: z.array(z.string()).optional(),
  bearer_methods_supported: z.array(z.string()),
})

/** Only there where the operator named issuers of tokens. */
export const tokenIssuers = defineResource({
  name: 'token-issuers',
  tag: 'About the gateway',
  audience: 'anybody',
  isServed: (deps) => deps.tokenIssuers !== undefined && hasTokenIssuers(deps.tokenIssuers),
  operations: {
    get: defineOperation({
      method: 'get',
      path: resourcePath,
      id: 'getProtectedResource',
      summary: 'Who issues tokens for this gateway (RFC 9728)',
      returns: 'Its metadata',
      output: resourceOutput,
      respond: answerResourceMetadata,
    }),
    getAt: defineOperation({
      method: 'get',
      path: `${resourcePath}/*`,
      id: 'getProtectedResourceAt',
      summary: 'Who issues tokens for this gateway (RFC 9728)',
      params: { '*': z.string().meta({ description: 'The path of what is protected' }) },
      returns: 'Its metadata',
      output: resourceOutput,
      respond: answerResourceMetadata,
    }),
  },
})

function answerResourceMetadata(deps: ResourceDeps, context: Context): Response {
  const { origin, pathname } = new URL(context.req.url)
  const path = pathname.slice(resourcePath.length)
  if (!plainPath.test(path) || deps.tokenIssuers === undefined) throw apiNotFoundError()
  const resource = `${deps.publicUrl === undefined ? origin : new URL(deps.publicUrl).origin}${path}`
  const document = jsonBodyAnswer(200, toProtectedResource(deps.tokenIssuers, resource))
  return answerToResponse({ ...document, headers: { ...document.headers, 'cache-control': 'public, max-age=300' } })
}
