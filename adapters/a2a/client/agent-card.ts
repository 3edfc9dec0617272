// Agent cards: found by a card's URL, the base of an agent, or an address such as @agent@host; read, and their signatures checked.

import { formatAddress, parseAddress, type RemoteCallContext } from '../../../src/contract/index.ts'
import { asFields, type Fields, GatewayError, isPlainObject } from '../../../src/lib/index.ts'
import { type CardTrust, hasTrustedCardSignature } from '../protocol/card-signature.ts'
import { documentPaths } from '../protocol/operations.ts'
import { type Egress, maxCardBytes, readRemoteJson } from './client.ts'
import { isRemoteFault, RemoteFault } from './fault.ts'
import { type Binding, jsonTypes, malformedAnswerFault, type RemoteInterface } from './wire.ts'
export type Target =
  | { readonly kind: 'card' | 'base'; readonly url: URL }
  | { readonly kind: 'address'; readonly address: string }

/** Throws `config_invalid`: it was written by the operator. */
export function parseRemoteTarget(text: string): Target {
  const address = parseAddress(text)
  if (address !== undefined && !/^https?:/i.test(text)) return { kind: 'address', address: formatAddress(address) }
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new GatewayError(
      'config_invalid',
      '[agent] a remote agent is named by the URL of its card, by its base URL, or by an address such as @agent@host',
    )
  return { kind: url.pathname.endsWith('.json') ? 'card' : 'base', url }
}

export type CardDeps = {
  readonly egress: Egress
  readonly remoteCaller: Pick<RemoteCallContext['remoteCaller'], 'cardIn'>
  readonly signal: AbortSignal
  readonly trust: CardTrust | undefined
  readonly allows03: boolean
}

/** One agent's card as it was last seen. */
export type CardCache = { kept?: Kept }

type Kept = {
  readonly url: string
  readonly card: RemoteCard
  readonly etag: string | undefined
  readonly freshUntil: number
}

const requestMs = 10_000
const defaultAgeMs = 5 * 60_000
const longestAgeMs = 24 * 60 * 60_000

/** A card that is fresh is not asked for; one that has aged is asked for under its tag. */
export async function discoverCard(deps: CardDeps, target: Target, cardCache: CardCache): Promise<RemoteCard> {
  const { kept } = cardCache
  if (kept !== undefined && Date.now() < kept.freshUntil) return kept.card
  try {
    cardCache.kept = await fetchCardFromUrlsInTurn(
      deps,
      kept === undefined ? await listCandidateCardUrls(deps, target) : [kept.url],
      kept,
    )
  } catch (error) {
    // What it said before counts while it says nothing; what it no longer says does not.
    if (kept !== undefined && isRemoteFault(error, 'remote_unreachable')) return kept.card
    delete cardCache.kept
    throw error
  }
  return cardCache.kept.card
}

/** Where it used to be at another place, that one is asked too. */
async function fetchCardFromUrlsInTurn(deps: CardDeps, urls: readonly string[], kept: Kept | undefined): Promise<Kept> {
  const [first = '', ...others] = urls
  try {
    return await fetchCard(deps, first, kept)
  } catch (error) {
    if (!isRemoteFault(error, 'remote_card_invalid') || others.length === 0) throw error
    return fetchCardFromUrlsInTurn(deps, others, kept)
  }
}

async function listCandidateCardUrls(deps: CardDeps, target: Target): Promise<readonly string[]> {
  switch (target.kind) {
    case 'card':
      return [target.url.href]
    case 'base': {
      // A base without a slash at its end is a folder all the same.
      const base = new URL(target.url.href.replace(/[?#].*$/, '').replace(/\/*$/, '/'))
      const paths = deps.allows03 ? [documentPaths.card, documentPaths.early] : [documentPaths.card]
      return paths.map((path) => new URL(`.${path}`, base).href)
    }
    case 'address':
      return [await findCardUrlByWebFinger(deps, target.address)]
  }
}

async function findCardUrlByWebFinger({ egress, remoteCaller, signal }: CardDeps, address: string): Promise<string> {
  const account = address.replace(/^@/, '')
  const domain = account.slice(account.indexOf('@') + 1)
  const url = `https://${domain}/.well-known/webfinger?resource=${encodeURIComponent(`acct:${account}`)}`
  const request = { method: 'GET', url, headers: { accept: 'application/jrd+json, application/json' } } as const
  const response = await egress(request, { signal, timeoutMs: requestMs, maxBytes: maxCardBytes, maxRedirects: 1 })
  const card = remoteCaller.cardIn(await readCardBody(response, signal), address)
  if (card === undefined) throw new RemoteFault('remote_card_invalid')
  return card
}

async function fetchCard(deps: CardDeps, url: string, kept: Kept | undefined): Promise<Kept> {
  const { egress, signal, trust } = deps
  const tag = kept?.etag === undefined ? {} : { 'if-none-match': kept.etag }
  const headers = { accept: jsonTypes, ...tag }
  const response = await egress(
    { method: 'GET', url, headers },
    { signal, timeoutMs: requestMs, maxBytes: maxCardBytes },
  )
  const freshUntil = Date.now() + cacheMaxAge(response.headers.get('cache-control'))
  if (response.status === 304 && kept !== undefined) return { ...kept, freshUntil }
  const card = await readCardBody(response, signal)
  if (trust !== undefined && !(await hasTrustedCardSignature(card, trust, (jku) => fetchKeySet(deps, jku))))
    throw new RemoteFault('remote_card_unsigned')
  return { url, card: readCard(card), etag: response.headers.get('etag') ?? undefined, freshUntil }
}

async function fetchKeySet({ egress, signal }: CardDeps, url: string): Promise<Fields> {
  const headers = { accept: 'application/json' }
  const response = await egress(
    { method: 'GET', url, headers },
    { signal, timeoutMs: requestMs, maxBytes: maxCardBytes },
  )
  return readCardBody(response, signal)
}

async function readCardBody(response: Response, signal: AbortSignal): Promise<Fields> {
  if (response.status === 429 || response.status >= 500) throw new RemoteFault('remote_unreachable')
  if (response.status === 401 || response.status === 403) throw new RemoteFault('remote_unauthorized')
  if (!response.ok) throw new RemoteFault('remote_card_invalid')
  try {
    return await readRemoteJson(response, { bytes: maxCardBytes, events: 0 }, signal)
  } catch (error) {
    throw isRemoteFault(error, malformedAnswerFault().code) ? new RemoteFault('remote_card_invalid') : error
  }
}

function cacheMaxAge(cacheControl: string | null): number {
  if (cacheControl !== null && /\bno-(?:store|cache)\b/i.test(cacheControl)) return 0
  const seconds = /\bmax-age=(\d{1,9})\b/i.exec(cacheControl ?? '')?.[1]
  return seconds === undefined ? defaultAgeMs : Math.min(Number(seconds) * 1000, longestAgeMs)
}

// What a card says about itself is a stranger's text and goes nowhere.

export type RemoteCard = {
  /** In the order the agent prefers them. */
  readonly interfaces: readonly RemoteInterface[]
  readonly isStreaming: boolean
  /** It says that its texts are Markdown unless told otherwise. */
  readonly writesMarkdown: boolean
}

const maxInterfaces = 32

function readCard(card: Fields): RemoteCard {
  const listed = limitInterfaceCount(card['supportedInterfaces']).flatMap(readInterface)
  const modes = Array.isArray(card['defaultOutputModes']) ? card['defaultOutputModes'] : []
  return {
    interfaces: listed.length > 0 ? listed : legacyInterfaces(card),
    isStreaming: asFields(card['capabilities'])['streaming'] === true,
    writesMarkdown: modes.includes('text/markdown'),
  }
}

/** The first that we speak: 1.0 before 0.3, and 0.3 only where that is allowed. */
export function chooseInterface({ interfaces }: RemoteCard, allows03: boolean): RemoteInterface {
  const current = interfaces.find(({ dialect }) => dialect === '1.0')
  const legacy = allows03 ? interfaces.find(({ dialect }) => dialect === '0.3') : undefined
  const chosen = current ?? legacy
  if (chosen === undefined) throw new RemoteFault('remote_no_interface')
  return chosen
}

function readInterface(input: unknown): readonly RemoteInterface[] {
  if (!isPlainObject(input)) return []
  const { url, protocolBinding, protocolVersion, tenant } = input
  const binding = readProtocolBinding(protocolBinding)
  const dialect = parseProtocolVersion(protocolVersion)
  if (typeof url !== 'string' || !URL.canParse(url) || binding === undefined || dialect === undefined) return []
  const routed = typeof tenant === 'string' && tenant !== '' ? { tenant: tenant.slice(0, 256) } : {}
  return [{ url, binding, dialect, ...routed }]
}

/** A card of 0.3 names its first interface apart from the others. */
function legacyInterfaces(card: Fields): readonly RemoteInterface[] {
  const first = { url: card['url'], transport: card['preferredTransport'] ?? 'JSONRPC' }
  return [first, ...limitInterfaceCount(card['additionalInterfaces'])].flatMap((each) => {
    const { url, transport } = asFields(each)
    return readInterface({ url, protocolBinding: transport, protocolVersion: card['protocolVersion'] ?? '0.3' })
  })
}

function limitInterfaceCount(input: unknown): readonly unknown[] {
  return Array.isArray(input) ? input.slice(0, maxInterfaces) : []
}

function readProtocolBinding(name: unknown): Binding | undefined {
  return name === 'JSONRPC' || name === 'HTTP+JSON' ? name : undefined
}

/** Patches of a version speak alike. */
function parseProtocolVersion(version: unknown): RemoteInterface['dialect'] | undefined {
  const [major, minor] = String(version).split('.')
  if (major === '1') return '1.0'
  return major === '0' && minor === '3' ? '0.3' : undefined
}
