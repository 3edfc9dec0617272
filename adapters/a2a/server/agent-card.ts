// Agent cards and the channel's other public documents, as they are served: signed strict cards, cards for both versions, the key,
// address cards.
import { type AgentProfile, type Connection, formatAddress } from '../../../src/contract/index.ts'
import { canonicalJson, type JsonObject, LruMap, sha256Hex } from '../../../src/lib/index.ts'
import type { A2aSettings } from '../config.ts'
import { cardKeysPath, type OwnCardKeys, type OwnKey } from '../protocol/card-signature.ts'
import { createFault } from '../protocol/faults.ts'
import { agentsExtension, type Dialect, knownExtensions, signedPushExtension } from '../protocol/operations.ts'
import {
  bothVersionsSchemes,
  legacySchemes,
  legacySecurity,
  type SchemeFacts,
  securityRequirements,
  securitySchemes,
} from './security-schemes.ts'

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
  const createCardContext = ({ origin, isLocal }: CardReader): CardContext => {
    const isClosed = !isLocal && !settings.anonymous
    // Readers of 0.3 take a scheme that is listed for one that is needed: it is named only where it opens something.
    const isListed = isClosed || (!isLocal && settings.extendedCard !== false)
    return { settings, schemes: isListed ? schemes : [], isClosed, origin, agents: agents() }
  }
  const cardCacheKey = ({ origin, isLocal }: CardReader): string => `${origin}${isLocal ? ' local' : ''}`
  const signCard = async (context: CardContext, card: JsonObject): Promise<JsonObject> =>
    (await key())?.sign(card, `${context.origin}${cardKeysPath(settings)}`) ?? card
  return {
    async strict(mount, reader) {
      const context = createCardContext(reader)
      const card = agentCard(context, mount)
      if (card === undefined) return undefined
      // A new key makes a new document of the same card.
      const kid = (await key())?.kid ?? ''
      return cache(`strict ${mount.agent ?? ''} ${cardCacheKey(reader)} ${kid}`, card, (content) =>
        signCard(context, content),
      )
    },
    async hybrid(mount, reader) {
      const context = createCardContext(reader)
      const card = agentCard(context, mount)
      if (card === undefined) return undefined
      return cache(
        `hybrid ${mount.agent ?? ''} ${cardCacheKey(reader)}`,
        bothVersionsCard(context, card),
        leaveCardUnsigned,
      )
    },
    async address(slug, reader) {
      const context = createCardContext(reader)
      const profile = context.agents.find((each) => each.slug === slug)
      if (profile === undefined) return undefined
      return cache(
        `address ${slug} ${cardCacheKey(reader)}`,
        webFingerAgentCard(context, profile, connection.domain),
        leaveCardUnsigned,
      )
    },
    async keys() {
      return cache('keys', { keys: (await deps.keys()).map(({ publicJwk }) => publicJwk) }, leaveCardUnsigned)
    },
    async extended(mount, reader, dialect) {
      const context = createCardContext(reader)
      const card = extendedCard(context, mount)
      if (card === undefined) return undefined
      return dialect === '0.3' ? legacyCard(context, card) : signCard(context, card)
    },
  }
}

const leaveCardUnsigned = async (content: JsonObject): Promise<JsonObject> => content

// Documents are built when asked for, signed once for as long as they say the same, cached by their readers.

export type CardDocument = { readonly body: string; readonly etag: string; readonly modifiedMs: number }

/** `finish` is given the document as it is now, and makes of it what is served. */
export type DocumentCache = (
  name: string,
  content: JsonObject,
  finish: (content: JsonObject) => Promise<JsonObject>,
) => Promise<CardDocument>

const maxKept = 128

export function createDocumentCache(now: () => number): DocumentCache {
  const known = new LruMap<string, { readonly text: string; readonly document: Promise<CardDocument> }>(maxKept)
  return async (name, content, finish) => {
    const text = canonicalJson(content)
    const before = known.get(name)
    if (before?.text === text) return before.document
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

// The card of an agent, the card of the hub in front of several, and the extended card for callers that show a credential.

type CardContext = {
  readonly settings: A2aSettings
  /** The first is whom the hub speaks for. */
  readonly agents: readonly AgentProfile[]
  /** How the outside reaches this gateway: an origin without a path. */
  readonly origin: string
  readonly schemes: readonly SchemeFacts[]
  /** Whether a caller must show a credential. */
  readonly isClosed: boolean
}

/** Whose card: of one agent by its slug, or of the hub. */
type Mount = { readonly agent: string | undefined }

/** Undefined: there is no such agent. */
function agentCard(context: CardContext, { agent }: Mount): JsonObject | undefined {
  if (agent === undefined) return allAgentsCard(context)
  const profile = context.agents.find(({ slug }) => slug === agent)
  if (profile === undefined) return undefined
  const { label: name, description, skills } = profile
  return composeCard(context, {
    name,
    description: description || name,
    skills,
    url: agentMountUrl(context, agent),
    extensions: [],
  })
}

function agentMountUrl({ origin, settings }: Pick<CardContext, 'origin' | 'settings'>, agent?: string): string {
  return `${origin}${settings.path}${agent === undefined ? '' : `/${agent}`}`
}

function allAgentsCard(context: CardContext): JsonObject | undefined {
  const { agents, settings } = context
  const [first] = agents
  if (first === undefined) return undefined
  const name = settings.card.name ?? first.label
  const others = agents.slice(1)
  const ownWords = settings.card.description ?? (first.description || name)
  const description =
    others.length === 0
      ? ownWords
      : `${ownWords} Begin with @ and a name to speak to another agent here: ${others.map(({ slug }) => slug).join(', ')}.`
  const directory = {
    uri: agentsExtension,
    description: 'The agents behind this address',
    params: {
      defaultAgent: first.slug,
      agents: agents.map(({ slug, label }) => ({ handle: slug, name: label, cardUrl: cardUrl(context, slug) })),
    },
  }
  return composeCard(context, {
    name,
    description,
    skills: [
      ...first.skills,
      ...others.flatMap(({ slug, skills }) => skills.map((skill) => prefixSkillWithAgent(slug, skill))),
    ],
    url: agentMountUrl(context),
    extensions: others.length === 0 ? [] : [directory],
  })
}

function cardUrl(context: CardContext, agent: string): string {
  return `${agentMountUrl(context, agent)}/.well-known/agent-card.json`
}

type AgentSkill = AgentProfile['skills'][number]

function prefixSkillWithAgent(slug: string, skill: AgentSkill): AgentSkill {
  return { ...skill, id: `${slug}.${skill.id}`, tags: [...skill.tags, slug] }
}

type CardFacts = {
  readonly name: string
  readonly description: string
  readonly skills: AgentProfile['skills']
  readonly url: string
  readonly extensions: readonly JsonObject[]
}

/** Empty members are left out: every reading of the rules for signing then gives the same bytes. */
function composeCard(context: CardContext, { name, description, skills, url, extensions }: CardFacts): JsonObject {
  const { settings, schemes, isClosed } = context
  const { provider, documentationUrl, iconUrl, version } = settings.card
  return {
    name,
    description,
    supportedInterfaces: cardInterfaces(settings, url),
    ...(provider === undefined ? {} : { provider }),
    version,
    ...(documentationUrl === undefined ? {} : { documentationUrl }),
    capabilities: {
      streaming: settings.streaming,
      pushNotifications: settings.push !== false,
      extensions: [...cardExtensions(settings), ...extensions],
      extendedAgentCard: settings.extendedCard !== false,
    },
    ...(schemes.length === 0 ? {} : { securitySchemes: securitySchemes(schemes) }),
    ...(isClosed ? { securityRequirements: securityRequirements(schemes) } : {}),
    defaultInputModes: settings.inputModes,
    defaultOutputModes: settings.outputModes,
    skills: skills.map(renderSkill),
    ...(iconUrl === undefined ? {} : { iconUrl }),
  }
}

/** The first is preferred. */
function cardInterfaces({ protocolVersions }: A2aSettings, url: string): readonly JsonObject[] {
  return ['1.0', '0.3'].flatMap((protocolVersion) =>
    protocolVersions.some((each) => each === protocolVersion)
      ? ['JSONRPC', 'HTTP+JSON'].map((protocolBinding) => ({ url, protocolBinding, protocolVersion }))
      : [],
  )
}

function cardExtensions({ requiredExtensions, push, signing }: A2aSettings): readonly JsonObject[] {
  const isExtensionOffered = (uri: string): boolean =>
    uri !== signedPushExtension || (push !== false && signing !== false)
  const known = Object.entries(knownExtensions).flatMap(([uri, description]) =>
    isExtensionOffered(uri) ? [{ uri, description }] : [],
  )
  const required = requiredExtensions.map(({ uri, description }) => ({
    uri,
    ...(description === undefined ? {} : { description }),
    required: true,
  }))
  return [...required, ...known]
}

function renderSkill({ id, name, description, tags, examples }: AgentSkill): JsonObject {
  const shown = examples === undefined || examples.length === 0 ? {} : { examples: [...examples] }
  return { id, name, description, tags: [...tags], ...shown }
}

/** Undefined: nothing was configured for those who show a credential. */
function extendedCard(context: CardContext, mount: Mount): JsonObject | undefined {
  const { extendedCard: more } = context.settings
  const open = agentCard(context, mount)
  if (open === undefined || typeof more === 'boolean') return undefined
  const { description, documentationUrl, skills } = more
  return {
    ...open,
    ...(description === undefined ? {} : { description }),
    ...(documentationUrl === undefined ? {} : { documentationUrl }),
    ...(skills === undefined
      ? {}
      : { skills: [...(open['skills'] as readonly JsonObject[]), ...skills.map(renderSkill)] }),
  }
}

// The same agent in other cards: with the members that 0.3 reads, and the short one that its WebFinger address links to.

/** Both versions in one document. It is not signed: strict readers of either would find it changed. */
function bothVersionsCard(context: CardContext, open: JsonObject): JsonObject {
  const { schemes } = context
  return {
    ...open,
    ...legacyCardMembers(context, open),
    ...(schemes.length === 0 ? {} : { securitySchemes: bothVersionsSchemes(schemes) }),
  }
}

/** What 0.3 knows, and nothing else. */
function legacyCard(context: CardContext, open: JsonObject): JsonObject {
  const { supportedInterfaces: _interfaces, securityRequirements: _needs, capabilities, ...rest } = open
  const { extendedAgentCard: _extended, ...known } = capabilities as JsonObject
  const schemes = context.schemes.length === 0 ? {} : { securitySchemes: legacySchemes(context.schemes) }
  return { ...rest, ...schemes, capabilities: known, ...legacyCardMembers(context, open) }
}

function legacyCardMembers({ settings, schemes, isClosed }: CardContext, open: JsonObject): JsonObject {
  const [first] = open['supportedInterfaces'] as readonly { readonly url: string }[]
  const url = first?.url ?? ''
  return {
    protocolVersion: '0.3.0',
    url,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [
      { url, transport: 'JSONRPC' },
      { url, transport: 'HTTP+JSON' },
    ],
    supportsAuthenticatedExtendedCard: settings.extendedCard !== false,
    ...(isClosed ? { security: legacySecurity(schemes) } : {}),
  }
}

/** Behind the agent-card link of WebFinger. */
function webFingerAgentCard(context: CardContext, profile: AgentProfile, domain: string): JsonObject {
  const { settings, isClosed } = context
  const { provider, version, iconUrl } = settings.card
  return {
    address: formatAddress({ local: profile.slug, domain }),
    name: profile.label,
    ...(profile.description === '' ? {} : { description: profile.description }),
    ...(iconUrl === undefined ? {} : { icon: { url: iconUrl } }),
    version,
    protocol_version: '0.1',
    a2a: {
      endpoint: agentMountUrl(context, profile.slug),
      transport: 'https+jsonrpc',
      capabilities: {
        streaming: settings.streaming,
        push_notifications: settings.push !== false,
        state_transition_history: false,
        extensions: cardExtensions(settings),
      },
      skills: profile.skills.map((skill) => ({ ...skill, tags: [...skill.tags] })) as unknown as readonly JsonObject[],
      input_modes: settings.inputModes.map(mediaTypeToPartKind),
      output_modes: settings.outputModes.map(mediaTypeToPartKind),
      auth: { scheme: isClosed ? 'bearer' : 'none' },
    },
    mentionable: {
      supported_inbound: ['a2a'],
      ...(provider === undefined ? {} : { homepage: provider.url }),
    },
  }
}

function mediaTypeToPartKind(mime: string): JsonObject {
  if (mime.startsWith('text/')) return { kind: 'text', mime }
  return mime === 'application/json' ? { kind: 'artifact', mime } : { kind: 'file', mime }
}
