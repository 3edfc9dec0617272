// Every public document of this channel, as it is served: signed strict cards, cards for both versions, the key, address cards.
import type { AgentProfile, Connection, JsonObject } from '../../../src/contract/index.ts'
import { canonicalJson, sha256Hex } from '../../../src/lib/index.ts'
import type { A2aSettings } from '../config.ts'
import { createFault } from '../protocol/faults.ts'
import type { Dialect } from '../protocol/operations.ts'
import { addressCard, agentCard, type CardContext, extendedCard, hybridCard, legacyCard, type Mount } from './card.ts'
import type { SchemeFacts } from './security-schemes.ts'
import { keysPath, type OwnCardKeys, type OwnKey } from './signing.ts'

/** The reader of a card: by which origin it asks, and whether over the socket, where no credential is needed. */
export type CardReader = { readonly origin: string; readonly isLocal: boolean }

export type PublishedCards = {
  /** Undefined: there is no such agent. */
  strict(mount: Mount, reader: CardReader): Promise<CardDocument | undefined>
  hybrid(mount: Mount, reader: CardReader): Promise<CardDocument | undefined>
  address(slug: string, reader: CardReader): Promise<CardDocument | undefined>
  /** The keys that cards are signed with; none where they are not. */
  keys(): Promise<CardDocument>
  extended(mount: Mount, reader: CardReader, dialect: Dialect): Promise<JsonObject | undefined>
}

export type CardDeps = {
  readonly settings: A2aSettings
  readonly connection: Connection
  readonly agents: () => readonly AgentProfile[]
  readonly schemes: readonly SchemeFacts[]
  readonly key: OwnKey
  readonly keys: OwnCardKeys['all']
  readonly now: () => number
}

export function createPublishedCards(deps: CardDeps): PublishedCards {
  const { settings, schemes, agents, connection, key } = deps
  const cache = createDocumentCache(deps.now)
  const sceneFor = ({ origin, isLocal }: CardReader): CardContext => {
    const isClosed = !isLocal && !settings.anonymous
    // Readers of 0.3 take a scheme that is listed for one that is needed: it is named only where it opens something.
    const isListed = isClosed || (!isLocal && settings.extendedCard !== false)
    return { settings, schemes: isListed ? schemes : [], isClosed, origin, agents: agents() }
  }
  const cacheName = ({ origin, isLocal }: CardReader): string => `${origin}${isLocal ? ' local' : ''}`
  const signCard = async (scene: CardContext, card: JsonObject): Promise<JsonObject> =>
    (await key())?.sign(card, `${scene.origin}${keysPath(settings)}`) ?? card
  return {
    async strict(mount, reader) {
      const scene = sceneFor(reader)
      const card = agentCard(scene, mount)
      if (card === undefined) return undefined
      // A new key makes a new document of the same card.
      const kid = (await key())?.kid ?? ''
      return cache(`strict ${mount.agent ?? ''} ${cacheName(reader)} ${kid}`, card, (content) =>
        signCard(scene, content),
      )
    },
    async hybrid(mount, reader) {
      const scene = sceneFor(reader)
      const card = agentCard(scene, mount)
      if (card === undefined) return undefined
      return cache(`hybrid ${mount.agent ?? ''} ${cacheName(reader)}`, hybridCard(scene, card), asItIs)
    },
    async address(slug, reader) {
      const scene = sceneFor(reader)
      const profile = scene.agents.find((each) => each.slug === slug)
      if (profile === undefined) return undefined
      return cache(`address ${slug} ${cacheName(reader)}`, addressCard(scene, profile, connection.domain), asItIs)
    },
    async keys() {
      return cache('keys', { keys: (await deps.keys()).map(({ publicJwk }) => publicJwk) }, asItIs)
    },
    async extended(mount, reader, dialect) {
      const scene = sceneFor(reader)
      const card = extendedCard(scene, mount)
      if (card === undefined) return undefined
      return dialect === '0.3' ? legacyCard(scene, card) : signCard(scene, card)
    },
  }
}

const asItIs = async (content: JsonObject): Promise<JsonObject> => content

// Public documents: built when asked for, signed once for as long as they say the same, cached by their readers.

export type CardDocument = { readonly body: string; readonly etag: string; readonly modifiedMs: number }

/** `finish` is given the document as it is now, and makes of it what is served. */
export type DocumentCache = (
  name: string,
  content: JsonObject,
  finish: (content: JsonObject) => Promise<JsonObject>,
) => Promise<CardDocument>

const maxKept = 128

export function createDocumentCache(now: () => number): DocumentCache {
  const known = new Map<string, { readonly text: string; readonly document: Promise<CardDocument> }>()
  return async (name, content, finish) => {
    const text = canonicalJson(content)
    const before = known.get(name)
    if (before?.text === text) return before.document
    if (known.size >= maxKept) known.clear()
    const document = makeCardDocument(text, content, finish, now())
    known.set(name, { text, document })
    // A build that failed is tried again by the next reader.
    document.catch(() => known.delete(name))
    return document
  }
}

/** Named by what it says, not by its bytes: a signature differs each time it is made. */
async function makeCardDocument(
  text: string,
  content: JsonObject,
  finish: (content: JsonObject) => Promise<JsonObject>,
  nowMs: number,
): Promise<CardDocument> {
  const [hash, finished] = await Promise.all([sha256Hex(text), finish(content)])
  return {
    body: JSON.stringify(finished),
    etag: `W/"${hash.slice(0, 32)}"`,
    // HTTP dates know whole seconds.
    modifiedMs: Math.floor(nowMs / 1000) * 1000,
  }
}

const methods = 'GET, HEAD, OPTIONS'

export type Serving = { readonly maxAgeSeconds: number; readonly vary?: string }

/** Answers for the methods that a document knows; undefined: it is to be read. */
export function checkCardMethod(request: Request): Response | undefined {
  if (request.method === 'GET' || request.method === 'HEAD') return undefined
  if (request.method === 'OPTIONS')
    return new Response(null, {
      status: 204,
      headers: { allow: methods, 'access-control-allow-methods': methods, ...open },
    })
  const { message } = createFault('method_not_allowed', `this document can only be read; use ${methods}`)
  const error = { code: 405, status: 'UNIMPLEMENTED', message, details: [] }
  return new Response(JSON.stringify({ error }), {
    status: 405,
    headers: { allow: methods, 'content-type': 'application/json' },
  })
}

/** Cards may be read from any origin, pages in browsers included. */
const open = { 'access-control-allow-origin': '*' } as const

export function cardResponse(request: Request, document: CardDocument, { maxAgeSeconds, vary }: Serving): Response {
  const headers = {
    etag: document.etag,
    'last-modified': new Date(document.modifiedMs).toUTCString(),
    'cache-control': `public, max-age=${maxAgeSeconds}`,
    ...(vary === undefined ? {} : { vary }),
    ...open,
  }
  if (isNotModified(request.headers, document)) return new Response(null, { status: 304, headers })
  const body = request.method === 'HEAD' ? null : document.body
  return new Response(body, { status: 200, headers: { ...headers, 'content-type': 'application/json' } })
}

/** RFC 9110 section 13: a name that is given goes before a date. */
function isNotModified(headers: Headers, { etag, modifiedMs }: CardDocument): boolean {
  const names = headers.get('if-none-match')
  if (names !== null) return names.split(',').some((name) => ['*', etag, etag.slice(2)].includes(name.trim()))
  const since = Date.parse(headers.get('if-modified-since') ?? '')
  return !Number.isNaN(since) && modifiedMs <= since
}
