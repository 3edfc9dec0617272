// The fediverse channel: every agent is an actor that people on other servers mention, write to and follow.

import {
  type Adapter,
  type ChannelDefinition,
  type ChannelDeps,
  type ConnectionConfig,
  type ConnectionOptions,
  connectionConfig,
  defineAdapter,
  parseSettings,
  requirePort,
} from '../../src/contract/index.ts'
import { createRateLimiter, GatewayError, type SafeFetch } from '../../src/lib/index.ts'
import { createLoopbackFetch } from './actors/fetch-document.ts'
import { createRemoteLookup } from './actors/remote-lookup.ts'
import { createOperations } from './admin/operations.ts'
import {
  type ActivityPubSettings,
  activityPubCapabilities,
  activitypubFromEnvironment,
  activitypubSettingsSchema,
} from './config.ts'
import { deliverActivityPub, recipientHost } from './deliver/deliver-activity.ts'
import {
  createRecipientExpander,
  deliverUnlessBlocked,
  expandAfterResolvingInboxes,
} from './deliver/expand-recipients.ts'
import { createActivityPubProbe } from './doctor/probe.ts'
import { agentKeyOwner, instanceKeyOwner } from './documents/actor-document.ts'
import type { DocumentSettings } from './documents/document-deps.ts'
import { createActivityPubWebFinger, startupNotice } from './documents/instance-info.ts'
import { createOwnNoteReader } from './documents/own-notes.ts'
import { createDocumentServer } from './documents/serve.ts'
import { createDocumentUrls, reservedSlugs, servedPaths } from './documents/urls.ts'
import { createBlockListCache, createWritePermission, type ModerationRules } from './moderation.ts'
import { normalizeActivity } from './normalize/activity.ts'
import type { LocalAgents } from './normalize/activity-context.ts'
import { renderActivityPub } from './render/reply.ts'
import { createRequestSignerLookup } from './signatures/authenticate.ts'
import { createActorKeys } from './signatures/own-keys.ts'
import { createGetSigner } from './signatures/sign-request.ts'
import { createSignatureVerifier } from './signatures/verify-activity.ts'
import { fetchPostAncestors, fetchPostGivenByIri } from './thread-ancestors.ts'
import { createSenderScreen, readStoredPayload, verifyActivity } from './verify.ts'
import type { ActivityPayload } from './wire/activity.ts'
import type { ActivityPubCall } from './wire/delivery.ts'

/** The software version that other servers are told. */
const version = '0.1.0'

export const activitypubChannel: ChannelDefinition = {
  channel: 'activitypub',
  defaultConnectionId: 'default',
  // A mention is made in public, by a person who is proven.
  defaultAccess: { mode: 'public', allow: [] },
  settingsSchema: activitypubSettingsSchema,
  variables: [
    'ACTIVITYPUB',
    'ACTIVITYPUB_ALLOW_BOTS',
    'ACTIVITYPUB_LIMIT',
    'ACTIVITYPUB_READ_PARENTS',
    'ACTIVITYPUB_ALLOW',
    'ACTIVITYPUB_BLOCK',
    'ACTIVITYPUB_FOLLOW',
    'ACTIVITYPUB_VISIBILITY',
    'ACTIVITYPUB_HANDLE_HOST',
    'ACTIVITYPUB_CONTACT',
  ],
  fromEnvironment: activitypubFromEnvironment,
  create: (settings, deps) =>
    createActivityPub(parseSettings('activitypub', activitypubSettingsSchema, settings), deps),
}

/** What an operator writes into parley.config.ts. */
export type ActivityPubOptions = ConnectionOptions<typeof activitypubSettingsSchema>

export function activitypub(options: ActivityPubOptions = {}): ConnectionConfig {
  return connectionConfig('activitypub', options)
}

function createActivityPub(settings: ActivityPubSettings, deps: ChannelDeps): Adapter {
  const { now } = deps
  const { acceptProofs: acceptsProofs, insecureLoopback: origins = [] } = settings
  const origin = requirePublicOrigin(settings, deps.publicUrl)
  const guardedFetch = createRemoteFetch(deps, origins)
  const ttlStore = requirePort('activitypub', deps.ttlStore, 'a TTL store; pass deps.ttlStore')
  const records = requirePort('activitypub', deps.records, 'records; pass deps.records')
  const agents = requirePort('activitypub', deps.agents, 'the agents; pass deps.agents')
  const newId = requirePort('activitypub', deps.newId, 'a source of ids; pass deps.newId')
  const places = createDocumentUrls(origin, settings.handleHost)
  const listServedSlugs = (): readonly string[] =>
    agents().flatMap(({ slug }) => (reservedSlugs.includes(slug) ? [] : [slug]))
  const callTimeoutMs = Math.min(settings.callTimeoutMs, deps.maxCallMs ?? settings.callTimeoutMs)
  const userAgent = `Parley/${version} (+${origin})`

  const ownKeys = requirePort('activitypub', deps.ownKeys, 'its keys; pass deps.ownKeys')
  const keys = createActorKeys({ ownKeys, records, now })
  const signGet = createGetSigner({ keys, instance: instanceKeyOwner(places), now })
  const remote = createRemoteLookup({ guardedFetch, ttlStore, now, origins, signGet, userAgent })
  const moderation = moderationRules(settings)
  const getLocalAgents = (): LocalAgents => ({ places, agents: listServedSlugs(), moderation })
  const blocks = createBlockListCache({ records, now, listed: settings.block })
  const mayWrite = createWritePermission(moderation, blocks)
  const knowing = { remote, records, home: getLocalAgents, mayWrite, now }
  const isKnown = deps.knownPeople?.isAdmitted ?? (async () => false)
  const pace = {
    strangers: createRateLimiter(now, settings.hostLimit),
    known: createRateLimiter(now, settings.hostLimit),
    isKnown,
  }
  const gate = createSignatureVerifier({
    keys: remote.keys,
    now,
    origin,
    acceptsProofs,
    knows: deps.knownPeople?.knows,
    maxBytes: settings.maxBodyBytes,
    screen: createSenderScreen(mayWrite, pace, deps.knownPeople?.knows),
  })
  const documents = {
    settings: documentSettings(settings),
    places,
    agents,
    keys,
    records,
    files: deps.files,
    version,
    maxBodyBytes: settings.maxBodyBytes,
    acceptsProofs,
    notes: createOwnNoteReader(records, places),
    signerOf: createRequestSignerLookup({ keys: remote.keys, now, origin }),
  }
  const servesFiles = deps.files?.answer !== undefined
  const rendering = { ...settings, origin, handleHost: places.handleHost, agents: listServedSlugs, servesFiles }
  const readAgentKeys = (agent: string) => keys.of(agentKeyOwner(places, agent))
  const sending = {
    guardedFetch,
    ttlStore,
    records,
    now,
    ownKeysOf: readAgentKeys,
    origin,
    userAgent,
    timeoutMs: callTimeoutMs,
    origins,
  }
  return defineAdapter<ActivityPayload, ActivityPubCall>({
    channel: 'activitypub',
    capabilities: activityPubCapabilities(callTimeoutMs, settings),
    endpoints: servedPaths.map((path) => ({ path, answer: 'serve' })),
    notice: startupNotice(places, agents()),
    verify: (rawRequest) => verifyActivity({ ...knowing, gate, pace }, rawRequest),
    payloadOf: (rawRequest, kept) => readStoredPayload({ ...knowing, acceptsProofs }, rawRequest, kept),
    normalize: (payload, rawRequest, connection) =>
      normalizeActivity(getLocalAgents(), payload, rawRequest, connection),
    render: (reply, to, mayNotify) => renderActivityPub(rendering, reply, to, mayNotify),
    deliver: deliverUnlessBlocked({ closedRooms: deps.closedRooms, blocks }, deliverActivityPub(sending)),
    limitedBy: recipientHost,
    expand: expandAfterResolvingInboxes(remote, createRecipientExpander({ origin, records, newId, now })),
    webfinger: createActivityPubWebFinger(documents),
    serve: createDocumentServer(documents),
    admin: createOperations({ ...documents, now, limit: settings.limit, listed: settings.block }),
    fetchReferenced: (asked) => fetchPostGivenByIri(knowing, asked),
    probe: createActivityPubProbe({ fetch: deps.fetch, places, agents: listServedSlugs }),
    fetchAncestors: settings.readParents ? (asked, signal) => fetchPostAncestors(knowing, asked, signal) : undefined,
  })
}

function createRemoteFetch({ guardedFetch, fetch }: ChannelDeps, origins: readonly string[]): SafeFetch {
  const pinned = requirePort('activitypub', guardedFetch, 'a fetch for addresses of others; pass deps.guardedFetch')
  return createLoopbackFetch({ guardedFetch: pinned, fetch }, origins)
}

function moderationRules({ allow, allowBots, follow }: ActivityPubSettings): ModerationRules {
  return { allow, bots: allowBots === true ? 'all' : allowBots === false ? [] : allowBots, follow }
}

function documentSettings(settings: ActivityPubSettings): DocumentSettings {
  const { follow, retired, discoverable: isDiscoverable, indexable: isIndexable, shown } = settings
  return { follow, retired, isDiscoverable, isIndexable, ...shown }
}

/** Public ids last for years and are believed only by https: the channel does not start without it. */
function requirePublicOrigin({ insecureLoopback }: ActivityPubSettings, publicUrl: string | undefined): string {
  if (publicUrl?.startsWith('https://') || (publicUrl !== undefined && insecureLoopback !== undefined)) return publicUrl
  throw new GatewayError(
    'config_invalid',
    '[activitypub] needs an https address that the outside reaches this gateway at; set PARLEY_PUBLIC_URL',
  )
}
