// The fediverse channel: every agent is an actor that people on other servers mention, write to and follow.
import {
  type Adapter,
  type ChannelDefinition,
  type ChannelDeps,
  type ConnectionConfig,
  type ConnectionOptions,
  checkedSettings,
  connectionConfig,
  createPace,
  defineAdapter,
  GatewayError,
  type GuardedFetch,
  neededPort,
} from '../../src/contract/index.ts'
import { readNamedPost, readParents } from './around.ts'
import {
  type ActivityPubSettings,
  type ActivityPubSettingsInput,
  activitypubFromEnvironment,
  activitypubSettingsSchema,
  capabilitiesOf,
} from './config.ts'
import { deliverActivityPub, hostOf } from './deliver/call.ts'
import { createExpand } from './deliver/expand.ts'
import { deliverTo, expandTo } from './deliver/send-on.ts'
import { agentOwner, instanceOwner } from './documents/actor-document.ts'
import { createDiscovery } from './documents/discovery.ts'
import { noticeOf } from './documents/notice.ts'
import { createOwnKeys } from './documents/own-keys.ts'
import { createOwnNotes } from './documents/own-notes.ts'
import { createPlaces, reservedSlugs, servedPaths } from './documents/places.ts'
import { createServe } from './documents/serve.ts'
import type { DocumentSettings } from './documents/settings.ts'
import { createSignGet } from './documents/sign-get.ts'
import { createSignerOf } from './documents/signer-of.ts'
import { createGate } from './gate/open-gate.ts'
import { createActivityPubProbe } from './install/probe.ts'
import { createBlocks } from './manners/blocks.ts'
import type { Manners } from './manners/manners.ts'
import { createMayWrite } from './manners/may-write.ts'
import { normalizeActivity } from './normalize/activity.ts'
import type { Home } from './normalize/scene.ts'
import { createOperations } from './operate/index.ts'
import { createNearFetch } from './remote/near-fetch.ts'
import { createRemote } from './remote/remote.ts'
import { renderActivityPub } from './render/reply.ts'
import { keptPayload, screenWith, verifyActivity } from './verify.ts'
import type { ActivityPubCall } from './wire/call.ts'
import type { ActivityPayload } from './wire/payload.ts'

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
    createActivityPub(checkedSettings('activitypub', activitypubSettingsSchema, settings), deps),
}

/** What an operator writes into parley.config.ts. */
export type ActivityPubOptions = ActivityPubSettingsInput & ConnectionOptions

export function activitypub(options: ActivityPubOptions = {}): ConnectionConfig {
  return connectionConfig('activitypub', options)
}

function createActivityPub(settings: ActivityPubSettings, deps: ChannelDeps): Adapter {
  const { now } = deps
  const { acceptProofs: acceptsProofs, insecureLoopback: origins = [] } = settings
  const origin = publicOrigin(settings, deps.publicUrl)
  const guardedFetch = fetchFor(deps, origins)
  const notes = neededPort('activitypub', deps.notes, 'notes; pass deps.notes')
  const records = neededPort('activitypub', deps.records, 'records; pass deps.records')
  const agents = neededPort('activitypub', deps.agents, 'the agents; pass deps.agents')
  const newId = neededPort('activitypub', deps.newId, 'a source of ids; pass deps.newId')
  const places = createPlaces(origin, settings.handleHost)
  const slugs = (): readonly string[] => agents().flatMap(({ slug }) => (reservedSlugs.includes(slug) ? [] : [slug]))
  const callTimeoutMs = Math.min(settings.callTimeoutMs, deps.maxCallMs ?? settings.callTimeoutMs)
  const userAgent = `Parley/${version} (+${origin})`

  const ownKeys = neededPort('activitypub', deps.ownKeys, 'its keys; pass deps.ownKeys')
  const keys = createOwnKeys({ ownKeys, records, now })
  const signGet = createSignGet({ keys, instance: instanceOwner(places), now })
  const remote = createRemote({ guardedFetch, notes, now, origins, signGet, userAgent })
  const manners = mannersOf(settings)
  const home = (): Home => ({ places, agents: slugs(), manners })
  const blocks = createBlocks({ records, now, listed: settings.block })
  const mayWrite = createMayWrite(manners, blocks)
  const knowing = { remote, records, home, mayWrite, now }
  const isKnown = deps.people?.isAdmitted ?? (async () => false)
  const pace = { strangers: createPace(now, settings.hostLimit), known: createPace(now, settings.hostLimit), isKnown }
  const gate = createGate({
    ...{ keys: remote.keys, now, origin, acceptsProofs, knows: deps.people?.knows },
    ...{ maxBytes: settings.maxBodyBytes, screen: screenWith(mayWrite, pace, deps.people?.knows) },
  })
  const documents = {
    settings: shownOf(settings),
    ...{
      places,
      agents,
      keys,
      records,
      files: deps.files,
      version,
      maxBodyBytes: settings.maxBodyBytes,
      acceptsProofs,
    },
    ...{ notes: createOwnNotes(records, places), signerOf: createSignerOf({ keys: remote.keys, now, origin }) },
  }
  const servesFiles = deps.files?.answer !== undefined
  const rendering = { ...settings, origin, handleHost: places.handleHost, agents: slugs, servesFiles }
  const ownKeysOf = (agent: string) => keys.of(agentOwner(places, agent))
  const sending = { guardedFetch, notes, records, now, ownKeysOf, origin, userAgent, timeoutMs: callTimeoutMs, origins }
  return defineAdapter<ActivityPayload, ActivityPubCall>({
    channel: 'activitypub',
    capabilities: capabilitiesOf(callTimeoutMs, settings),
    endpoints: servedPaths.map((path) => ({ path, answer: 'serve' })),
    notice: noticeOf(places, agents()),
    verify: (arrival) => verifyActivity({ ...knowing, gate, pace }, arrival),
    payloadOf: (arrival, kept) => keptPayload({ ...knowing, acceptsProofs }, arrival, kept),
    normalize: (payload, arrival, connection) => normalizeActivity(home(), payload, arrival, connection),
    render: (reply, to, mayNotify) => renderActivityPub(rendering, reply, to, mayNotify),
    deliver: deliverTo({ places: deps.places, blocks }, deliverActivityPub(sending)),
    limitedBy: hostOf,
    expand: expandTo(remote, createExpand({ origin, records, newId, now })),
    discovery: createDiscovery(documents),
    serve: createServe(documents),
    operations: createOperations({ ...documents, now, limit: settings.limit, listed: settings.block }),
    readNamed: (asked) => readNamedPost(knowing, asked),
    probe: createActivityPubProbe({ fetch: deps.fetch, places, agents: slugs }),
    ...(settings.readParents ? { around: (asked, signal) => readParents(knowing, asked, signal) } : {}),
  })
}

function fetchFor({ guardedFetch, fetch }: ChannelDeps, origins: readonly string[]): GuardedFetch {
  const pinned = neededPort('activitypub', guardedFetch, 'a fetch for addresses of others; pass deps.guardedFetch')
  return createNearFetch({ guardedFetch: pinned, fetch }, origins)
}

function mannersOf({ allow, allowBots, follow }: ActivityPubSettings): Manners {
  return { allow, bots: allowBots === true ? 'all' : allowBots === false ? [] : allowBots, follow }
}

function shownOf(settings: ActivityPubSettings): DocumentSettings {
  const { follow, retired, discoverable: isDiscoverable, indexable: isIndexable, shown } = settings
  return { follow, retired, isDiscoverable, isIndexable, ...shown }
}

/** Public ids last for years and are believed only by https: the channel does not start without it. */
function publicOrigin({ insecureLoopback }: ActivityPubSettings, publicUrl: string | undefined): string {
  if (publicUrl?.startsWith('https://') || (publicUrl !== undefined && insecureLoopback !== undefined)) return publicUrl
  throw new GatewayError(
    'config_invalid',
    '[activitypub] needs an https address that the outside reaches this gateway at; set PARLEY_PUBLIC_URL',
  )
}
