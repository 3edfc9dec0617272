// The card of an agent, the card of the hub in front of several, and the extended card for callers that show a credential.
import { type AgentProfile, type AgentSkill, formatAddress, type JsonObject } from '../../../src/contract/index.ts'
import type { A2aSettings } from '../config.ts'
import { agentsExtension, knownExtensions, signedPushExtension } from '../protocol/operations.ts'
import {
  hybridSchemes,
  legacySchemes,
  legacySecurity,
  type SchemeFacts,
  securityRequirements,
  securitySchemes,
} from './security-schemes.ts'

export type CardContext = {
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
export type Mount = { readonly agent: string | undefined }

/** Undefined: there is no such agent. */
export function agentCard(scene: CardContext, { agent }: Mount): JsonObject | undefined {
  if (agent === undefined) return hubCard(scene)
  const profile = scene.agents.find(({ slug }) => slug === agent)
  if (profile === undefined) return undefined
  const { label: name, description, skills } = profile
  return composeCard(scene, {
    name,
    description: description || name,
    skills,
    url: mountUrl(scene, agent),
    extensions: [],
  })
}

function mountUrl({ origin, settings }: Pick<CardContext, 'origin' | 'settings'>, agent?: string): string {
  return `${origin}${settings.path}${agent === undefined ? '' : `/${agent}`}`
}

function hubCard(scene: CardContext): JsonObject | undefined {
  const { agents, settings } = scene
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
      agents: agents.map(({ slug, label }) => ({ handle: slug, name: label, cardUrl: cardUrl(scene, slug) })),
    },
  }
  return composeCard(scene, {
    name,
    description,
    skills: [...first.skills, ...others.flatMap(({ slug, skills }) => skills.map((skill) => hubSkill(slug, skill)))],
    url: mountUrl(scene),
    extensions: others.length === 0 ? [] : [directory],
  })
}

function cardUrl(scene: CardContext, agent: string): string {
  return `${mountUrl(scene, agent)}/.well-known/agent-card.json`
}

function hubSkill(slug: string, skill: AgentSkill): AgentSkill {
  return { ...skill, id: `${slug}.${skill.id}`, tags: [...skill.tags, slug] }
}

type CardFacts = {
  readonly name: string
  readonly description: string
  readonly skills: readonly AgentSkill[]
  readonly url: string
  readonly extensions: readonly JsonObject[]
}

/** Empty members are left out: every reading of the rules for signing then gives the same bytes. */
function composeCard(scene: CardContext, { name, description, skills, url, extensions }: CardFacts): JsonObject {
  const { settings, schemes, isClosed } = scene
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
export function extendedCard(scene: CardContext, mount: Mount): JsonObject | undefined {
  const { extendedCard: more } = scene.settings
  const open = agentCard(scene, mount)
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
export function hybridCard(scene: CardContext, open: JsonObject): JsonObject {
  const { schemes } = scene
  return {
    ...open,
    ...legacyMembers(scene, open),
    ...(schemes.length === 0 ? {} : { securitySchemes: hybridSchemes(schemes) }),
  }
}

/** What 0.3 knows, and nothing else. */
export function legacyCard(scene: CardContext, open: JsonObject): JsonObject {
  const { supportedInterfaces: _interfaces, securityRequirements: _needs, capabilities, ...rest } = open
  const { extendedAgentCard: _extended, ...known } = capabilities as JsonObject
  const schemes = scene.schemes.length === 0 ? {} : { securitySchemes: legacySchemes(scene.schemes) }
  return { ...rest, ...schemes, capabilities: known, ...legacyMembers(scene, open) }
}

function legacyMembers({ settings, schemes, isClosed }: CardContext, open: JsonObject): JsonObject {
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
export function addressCard(scene: CardContext, profile: AgentProfile, domain: string): JsonObject {
  const { settings, isClosed } = scene
  const { provider, version, iconUrl } = settings.card
  return {
    address: formatAddress({ local: profile.slug, domain }),
    name: profile.label,
    ...(profile.description === '' ? {} : { description: profile.description }),
    ...(iconUrl === undefined ? {} : { icon: { url: iconUrl } }),
    version,
    protocol_version: '0.1',
    a2a: {
      endpoint: mountUrl(scene, profile.slug),
      transport: 'https+jsonrpc',
      capabilities: {
        streaming: settings.streaming,
        push_notifications: settings.push !== false,
        state_transition_history: false,
        extensions: cardExtensions(settings),
      },
      skills: profile.skills.map((skill) => ({ ...skill, tags: [...skill.tags] })) as unknown as readonly JsonObject[],
      input_modes: settings.inputModes.map(addressCardMode),
      output_modes: settings.outputModes.map(addressCardMode),
      auth: { scheme: isClosed ? 'bearer' : 'none' },
    },
    mentionable: {
      supported_inbound: ['a2a'],
      ...(provider === undefined ? {} : { homepage: provider.url }),
    },
  }
}

function addressCardMode(mime: string): JsonObject {
  if (mime.startsWith('text/')) return { kind: 'text', mime }
  return mime === 'application/json' ? { kind: 'artifact', mime } : { kind: 'file', mime }
}
