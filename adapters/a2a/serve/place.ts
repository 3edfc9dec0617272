// Routes a request by its path alone: to a document, or to an operation of an agent.

export type Route =
  | { readonly kind: 'root_card' | 'early_card' }
  | { readonly kind: 'address_card'; readonly slug: string }
  | { readonly kind: 'card' | 'keys'; readonly agent: string | undefined }
  /** `segments` below the agent, decoded; none: JSON-RPC. */
  | { readonly kind: 'operation'; readonly agent: string | undefined; readonly segments: readonly string[] }
  | { readonly kind: 'nothing' }

/** Where the documents of the whole host lie. */
export const rootPaths = {
  card: '/.well-known/agent-card.json',
  early: '/.well-known/agent.json',
  addresses: '/.well-known/agent-card',
} as const

/** First words of paths that the hub itself answers; an agent of such a name is reached there, by naming it as the tenant. */
const hubWords = new Set(['message:send', 'message:stream', 'tasks', 'extendedAgentCard', 'v1', '.well-known'])

export function routePath(pathname: string, base: string, agents: readonly string[]): Route {
  if (pathname === rootPaths.card) return { kind: 'root_card' }
  if (pathname === rootPaths.early) return { kind: 'early_card' }
  const slug = segmentsBelow(pathname, rootPaths.addresses)
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
