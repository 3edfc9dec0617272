// Every document this channel publishes, as it is served: strict cards signed, cards for both versions, the key, addresses.
import type { AgentProfile, Connection, JsonObject } from '../../../src/contract/index.ts'
import type { A2aSettings } from '../config.ts'
import type { Dialect } from '../wire/operations.ts'
import { agentCard, type CardScene, extendedCard, type Mount } from './card.ts'
import { createDocumentCache, type Document } from './documents.ts'
import { addressCard, hybridCard, legacyCard } from './other-cards.ts'
import { keysPath, type OwnCardKeys, type OwnKey } from './own-key.ts'
import type { SchemeFacts } from './security.ts'

export type CardDesk = {
  /** Undefined: there is no such agent. */
  strict(mount: Mount, origin: string): Promise<Document | undefined>
  hybrid(mount: Mount, origin: string): Promise<Document | undefined>
  address(slug: string, origin: string): Promise<Document | undefined>
  /** The keys that cards are signed with; none where they are not. */
  keys(): Promise<Document>
  extended(mount: Mount, origin: string, dialect: Dialect): Promise<JsonObject | undefined>
}

export type CardDeps = {
  readonly settings: A2aSettings
  readonly connection: Connection
  readonly agents: () => readonly AgentProfile[]
  readonly schemes: readonly SchemeFacts[]
  /** Whether the outside reaches this gateway at all: on this machine nobody needs a credential. */
  readonly isPublic: boolean
  readonly key: OwnKey
  readonly keys: OwnCardKeys['all']
  readonly now: () => number
}

export function createCardDesk(deps: CardDeps): CardDesk {
  const { settings, schemes, agents, connection, key } = deps
  const cache = createDocumentCache(deps.now)
  const isClosed = deps.isPublic && !settings.anonymous && schemes.length > 0
  const sceneAt = (origin: string): CardScene => ({ settings, schemes, isClosed, origin, agents: agents() })
  const sign = async (scene: CardScene, card: JsonObject): Promise<JsonObject> =>
    (await key())?.sign(card, `${scene.origin}${keysPath(settings)}`) ?? card
  return {
    async strict(mount, origin) {
      const scene = sceneAt(origin)
      const card = agentCard(scene, mount)
      if (card === undefined) return undefined
      // A new key makes a new document of the same card.
      const kid = (await key())?.kid ?? ''
      return cache(`strict ${mount.agent ?? ''} ${origin} ${kid}`, card, (content) => sign(scene, content))
    },
    async hybrid(mount, origin) {
      const scene = sceneAt(origin)
      const card = agentCard(scene, mount)
      if (card === undefined) return undefined
      return cache(`hybrid ${mount.agent ?? ''} ${origin}`, hybridCard(scene, card), asItIs)
    },
    async address(slug, origin) {
      const scene = sceneAt(origin)
      const profile = scene.agents.find((each) => each.slug === slug)
      if (profile === undefined) return undefined
      return cache(`address ${slug} ${origin}`, addressCard(scene, profile, connection.domain), asItIs)
    },
    async keys() {
      return cache('keys', { keys: (await deps.keys()).map(({ publicJwk }) => publicJwk) }, asItIs)
    },
    async extended(mount, origin, dialect) {
      const scene = sceneAt(origin)
      const card = extendedCard(scene, mount)
      if (card === undefined) return undefined
      return dialect === '0.3' ? legacyCard(scene, card) : sign(scene, card)
    },
  }
}

const asItIs = async (content: JsonObject): Promise<JsonObject> => content
