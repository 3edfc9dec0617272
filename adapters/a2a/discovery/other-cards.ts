// The same agent in other cards: with the members that 0.3 reads, and the short one that its WebFinger address links to.
import { type AgentProfile, formatAddress, type JsonObject } from '../../../src/contract/index.ts'
import { type CardContext, cardExtensions, mountUrl } from './card.ts'
import { hybridSchemes, legacySchemes, legacySecurity } from './security.ts'

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
