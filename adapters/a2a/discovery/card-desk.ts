// Every public document of this channel, as it is served: signed strict cards, cards for both versions, the key, address cards.
import type { AgentProfile, Connection, JsonObject } from '../../../src/contract/index.ts'
import type { A2aSettings } from '../config.ts'
import type { Dialect } from '../wire/operations.ts'
import { agentCard, type CardContext, extendedCard, type Mount } from './card.ts'
import { type CardDocument, createDocumentCache } from './documents.ts'
import { addressCard, hybridCard, legacyCard } from './other-cards.ts'
import { keysPath, type OwnCardKeys, type OwnKey } from './own-key.ts'
import type { SchemeFacts } from './security.ts'

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
