// A channel definition: how its settings are read, how an adapter is made from them, and the services of the runtime it may use.
import * as z from 'zod'
import { GatewayError } from '../lib/errors.ts'
import type { JsonObject } from '../lib/json-value.ts'
import type { SafeFetch } from '../lib/safe-fetch-port.ts'
import { type Secret, secret } from '../lib/secret.ts'
import { en } from '../locales/en.ts'
import { createSay, type Say, type Sentences } from '../locales/say.ts'
import type { AccessRule, StrangerSettings } from './access.ts'
import type { Adapter } from './adapter.ts'
import type { CallerVerifier } from './caller.ts'
import type { ChannelCommands } from './channel-command.ts'
import type { Connection } from './inbound-event.ts'
import type { Records } from './records.ts'
import type { TaskService } from './tasks.ts'

const modes = ['always', 'mention', 'thread', 'ambient'] as const
const modeSchema = z.enum(modes, `must be one of ${modes.join(', ')}`)

const integerUpToSchema = (most: number) =>
  z.number().int().min(1).max(most, `must be ${most} or less; false keeps nothing`)

/** So many are kept of one room at most, its threads included. */
export const maxAmbientMessages = 200

/** How much of a room's talk is remembered; the oldest is dropped first. */
const ambientLimitsSchema = z.strictObject({
  /** How many messages a turn is given. */
  messages: integerUpToSchema(maxAmbientMessages).default(20),
  /** For how long they are kept. */
  minutes: integerUpToSchema(7 * 24 * 60).default(60),
  /** How much text a turn is given. */
  bytes: integerUpToSchema(256 * 1024).default(16 * 1024),
})

export const replyPolicySchema = z.strictObject({
  /** Without it: `mention`, on Slack `thread`. */
  mode: modeSchema.optional(),
  /** Rooms with a mode of their own, by the platform's id of the room. */
  rooms: z.record(z.string().min(1), modeSchema).default({}),
  /** Ambient context: what is said in the room and not to it, kept for a while for the next time it is asked. False: nothing. */
  ambientContext: z
    .union([z.literal(false), ambientLimitsSchema], 'must be false, or how much: messages, minutes, bytes')
    .default(() => ambientLimitsSchema.parse({})),
})

/** When an agent answers in a room (docs/reply-policy.md). */
export type ReplyMode = (typeof modes)[number]

/** How an agent listens in rooms; what is said to it alone it always answers. */
export type ReplyPolicySettings = Readonly<z.input<typeof replyPolicySchema>>

export const mentionPolicies = ['nobody', 'participants', 'anyone'] as const

/** What the operator grants for a connection. Without it a transcript lives as long as its session (docs/privacy.md). */
export const consentSchema = z.strictObject({
  /** On which ground transcripts are kept, in words that people are shown. */
  storeTranscript: z.string().trim().min(1).max(500),
})

/** One account on one channel as the operator wrote it down; `settings` is read by that channel's schema only. */
export type ConnectionConfig = {
  readonly channel: string
  readonly id: string
  /** The account is this agent's own. Without it, all agents share the account and each message says whom it is for. */
  readonly agent?: string
  readonly access?: AccessRule
  /** Without it: people who are in the conversation already. */
  readonly mentionHumans?: (typeof mentionPolicies)[number]
  readonly replyPolicy?: ReplyMode | ReplyPolicySettings
  readonly consent?: Readonly<z.infer<typeof consentSchema>>
  /** Limits for strangers. */
  readonly strangers?: StrangerSettings
  /** Into how many messages a reply is split at most; the rest is in a file or behind a link. Without it: as its channel has it. */
  readonly replyParts?: number
  readonly settings: unknown
}

/** Store port: the log of a run that open requests watch. Appending the same key twice leaves one event. */
export interface RunLog {
  append(runId: string, key: string, event: JsonObject): Promise<void>
}

/** Port: HMAC-SHA256. Node answers at once, WebCrypto answers later. */
export interface Hmac {
  sha256(secret: string, bytes: Uint8Array): Uint8Array | Promise<Uint8Array>
}

/** Port: the bytes of a stored file, for channels that send files. Undefined: it is gone. */
export interface FileSource {
  open(attachmentId: string): Promise<SourcedFile | undefined>
  /** An address for its owner that ends by itself, for channels that cannot carry a file of this size. Without a life: a short one. */
  link?(attachmentId: string, lifeMs?: number): Promise<FileLink | undefined>
  /** Answers a request for it, whole or in a range, so that a browser can only show or save it. Who may ask is the channel's to judge. */
  answer?(attachmentId: string, request: Request): Promise<Response | undefined>
}

export type FileLink = { readonly url: string; readonly expiresAt: string }

export type SourcedFile = {
  readonly body: ReadableStream<Uint8Array>
  readonly size: number
  readonly mimeType: string
  readonly name: string
}

/** One account an app was installed into, as its platform names it. `credentials` are sealed at rest. */
export type Installation = {
  readonly account: string
  readonly credentials: JsonObject
  readonly facts: JsonObject
  readonly status: 'active' | 'broken' | 'removed'
}

/** Store port: the accounts a connection was installed into, for channels where one app serves many. */
export interface Installations {
  find(account: string): Promise<Installation | undefined>
  save(installation: Installation): Promise<void>
  /** Credentials are erased at once; the row stays for explaining. */
  end(account: string, status: 'broken' | 'removed', reason: string): Promise<void>
  list(): Promise<readonly Installation[]>
}

/** Store port: places of a connection that its platform has closed to us, as `IgnoredEvent.reach` told. */
export interface ClosedRooms {
  /** Why nothing can be sent there. Undefined: it can, or the person whom the run answers wrote after it was closed. */
  closed(place: string, runId: string | undefined): Promise<string | undefined>
}

/** Store port: whom a connection has ever dealt with. */
export interface KnownPeople {
  /** False: nothing is stored that they said here, or that is known of them. One look-up. */
  knows(subject: string): Promise<boolean>
  /** An operator admitted them, or they were answered here before: what strangers use up is not theirs. */
  isAdmitted(subject: string): Promise<boolean>
}

/** Store port: texts that a channel makes for itself once: a key, a secret. */
export interface ChannelKeys {
  /**
   * The same for every replica, made by the first replica that asks; sealed at rest unless it is said to need no seal. Undefined: there is
   * nothing to seal it with.
   */
  keep(name: string, make: () => Promise<string>, how?: 'sealed' | 'plain'): Promise<string | undefined>
  /**
   * The same for one that an operator may change: asked at every use, since it changes while a process runs. `formerMs`: how long
   * one that was replaced still counts, which is longer than anything lives that was made with it.
   */
  ring(name: string, make: () => Promise<string>, formerMs: number): Promise<KeyRing | undefined>
}

export type KeyRing = {
  /** What to sign with: a new one only once every replica shows it. */
  readonly signing: string
  /** What to check by, the newest first. */
  readonly all: readonly string[]
}

/** One thing an agent can be asked for, as directories of agents list it. */
export type AgentSkill = {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly tags: readonly string[]
  readonly examples?: readonly string[]
}

/** What an agent says of itself to other agents. */
export type AgentProfile = {
  readonly slug: string
  readonly label: string
  readonly description: string
  /** From its configuration, else from its tools. Never empty. */
  readonly skills: readonly AgentSkill[]
}

/** Something a channel must know for a while. */
export type TtlEntry = {
  readonly family: string
  readonly key: string
  readonly value?: JsonObject
  readonly lifeMs: number
  /** Sealed at rest. */
  readonly isSecret?: boolean
  /** Whose it is, so that it is erased with them. */
  readonly subject?: string
  /** Not kept where the family has so many already. */
  readonly atMost?: number
  /** Not kept where it is there already. */
  readonly isOnce?: boolean
}

/** Store port: notes that every replica finds, each of which ends by itself. */
export interface TtlStore {
  /** False: it was not kept, because it is there, or there are too many. */
  keep(note: TtlEntry): Promise<boolean>
  read(family: string, key: string): Promise<JsonObject | undefined>
  /** For one taker only. */
  take(family: string, key: string): Promise<JsonObject | undefined>
}

/**
 * Store port: inbound events as they came, where they are too large for a row. Kept before the row that refers to them commits; what no row
 * refers to in the end goes by itself.
 */
export interface RawBlobs {
  /** What `keep` will answer for this id: an inbound event can refer to what is kept only after its sender is known to be admitted. */
  nameOf(id: string): Promise<string>
  /** `id` is the same whenever the same bytes come: they are stored once. Answers what to refer to them by. */
  keep(
    bytes: Uint8Array | ReadableStream<Uint8Array>,
    facts: { readonly id: string; readonly mime: string },
  ): Promise<string>
  /** Undefined: it is gone. */
  open(ref: string): Promise<ReadableStream<Uint8Array> | undefined>
}

/** What an adapter is given; the named ports are there for the channels that declare their use. */
export type ChannelDeps = {
  readonly connection: Connection
  /** For hosts the operator named. */
  readonly fetch: typeof fetch
  /** For addresses from messages and peers. */
  readonly guardedFetch?: SafeFetch
  readonly now: () => number
  readonly hmac: Hmac
  readonly runLog?: RunLog
  readonly installations?: Installations
  readonly closedRooms?: ClosedRooms
  readonly knownPeople?: KnownPeople
  readonly ttlStore?: TtlStore
  /** For channels that know others for good. */
  readonly records?: Records
  /** Files that replies carry. */
  readonly files?: FileSource
  /** For channels whose inbound events may be large. */
  readonly rawBlobs?: RawBlobs
  /** For channels whose callers bring tokens. */
  readonly callers?: CallerVerifier
  /** For channels whose callers come back to what they asked for. */
  readonly tasks?: TaskService
  /** Who answers on this connection; the first is whom a request without a name is for. */
  readonly agents?: () => readonly AgentProfile[]
  /** Where the outside reaches this gateway: an origin without a path. */
  readonly publicUrl?: string
  /** No other machine gets to this gateway: it listens to its own machine, and has no public URL. Absent: others may. */
  readonly isLocalOnly?: boolean
  readonly newId?: () => string
  /** Longest time one call may take here. */
  readonly maxCallMs?: number
  /** For channels whose protocol the runtime itself speaks. */
  readonly mailer?: Mailer
  /** For channels that sign something of their own. */
  readonly ownKeys?: ChannelKeys
  /** For channels that compute much over what strangers send. */
  readonly offload?: Offload
}

/** What the environment says about a channel: settings to be checked by its schema, or the variables still missing. */
export type EnvironmentReading =
  | { readonly settings: unknown; readonly access?: AccessRule; readonly replyPolicy?: ReplyMode | ReplyPolicySettings }
  | { readonly missing: readonly string[] }

/** A channel that can be switched on. `create` checks the settings again, so nothing unchecked becomes an adapter. */
export interface ChannelDefinition {
  readonly channel: string
  /** Name of the connection the environment alone sets up. */
  readonly defaultConnectionId: string
  /** Used where the operator states no access rule. */
  readonly defaultAccess: AccessRule
  /** How agents listen in its rooms where the operator does not say it; where it is left out: `mention`. */
  readonly defaultReplyMode?: ReplyMode
  /** Callers on a port of this machine may speak there without a credential, where the gateway has no other address. */
  readonly takesGuests?: true
  readonly settingsSchema: z.ZodType
  /** Names of the variables of its own. */
  readonly variables: readonly string[]
  /** Undefined when the environment does not mention the channel. */
  fromEnvironment(env: Readonly<Record<string, string | undefined>>): EnvironmentReading | undefined
  create(settings: unknown, deps: ChannelDeps): Adapter
  /** What only this channel says to people; its keys begin with the channel's name and a dot. */
  readonly sentences?: Sentences
  /** For operators: what codes mean that only this channel gives, where an event is ignored or a delivery ends. */
  readonly reasons?: Readonly<Record<string, string>>
  /** What a channel from outside adds to the command line: `parley <channel> …`, where the configuration names it. */
  readonly commands?: ChannelCommands
}

/** What `create` is given by `defineChannel`: `say` knows the channel's own sentences beside the gateway's. */
export type SpeakingDeps<Own extends Sentences> = ChannelDeps & { readonly say: Say<typeof en & Own> }

export function createChannelSay<const Own extends Sentences>(own: Own): SpeakingDeps<Own>['say'] {
  return createSay({ en: { ...en, ...own } })
}

/**
 * A channel with sentences of its own.
 *
 * @example
 * defineChannel({
 *   channel: 'pigeon',
 *   sentences: { 'pigeon.landed': 'Your message landed in {city}.' },
 *   create: (settings, { say }) => createPigeon(settings, say('pigeon.landed', { city: 'Bern' })),
 *   …
 * })
 */
export function defineChannel<const Own extends Sentences = Record<never, never>>(
  definition: Omit<ChannelDefinition, 'create' | 'sentences'> & {
    readonly sentences?: Own
    readonly create: (settings: unknown, deps: SpeakingDeps<Own>) => Adapter
  },
): ChannelDefinition {
  const { channel, sentences = {} as Own } = definition
  const foreign = Object.keys(sentences).find((key) => !key.startsWith(`${channel}.`))
  if (foreign !== undefined)
    throw new GatewayError('config_invalid', `[${channel}] the sentence ${foreign} must be named ${channel}.…`)
  const say = createChannelSay(sentences)
  return { ...definition, create: (settings, deps) => definition.create(settings, { ...deps, say }) }
}

// The mailer: what the runtime itself sends, where it has a transport of its own beside fetch.

/**
 * Port: the counterpart of `onEmailEvent`. The runtime makes the bytes out of what it is given, in a form that its adapter knows, and names
 * them; its errors are thrown as they are.
 */
export interface Mailer {
  /** Of one parcel, as it travels. */
  readonly maxBytes: number
  send(parcel: object): Promise<{ readonly messageId: string }>
}

// Computing away from the event loop, on runtimes that have threads. Without it callers compute themselves.

export type OffloadCall = {
  /** A module whose exported functions may be called. */
  readonly module: URL
  readonly name: string
  /** Made when the work begins, so that nothing is copied for what waits. Buffers in `transfer` are given away. */
  readonly input: () => { readonly value: unknown; readonly transfer?: readonly ArrayBuffer[] }
  /** Of the input. Large work leaves a thread to small work. */
  readonly bytes: number
}

/** Answers what the function answers; rejects with what it threw, or with an `OffloadError`. */
export type Offload = (call: OffloadCall) => Promise<unknown>

/** busy: too much waits already; timeout: it was ended; crashed: its thread died, of memory or otherwise. */
export type OffloadFailure = 'busy' | 'timeout' | 'crashed'

export class OffloadError extends Error {
  readonly failure: OffloadFailure

  constructor(failure: OffloadFailure, cause?: unknown) {
    super(`offloaded work: ${failure}`, cause === undefined ? undefined : { cause })
    this.name = 'OffloadError'
    this.failure = failure
  }
}

// Settings that an operator may give to any connection, beside its channel's own.

/**
 * What an operator writes into parley.config.ts for one connection: the settings of its channel, as its schema takes them, and those of
 * any connection. `id`: `default` where it is left out.
 *
 * @example
 * export type PigeonOptions = ConnectionOptions<typeof pigeonSettingsSchema>
 */
export type ConnectionOptions<SettingsSchema extends z.ZodType = z.ZodType> = z.input<SettingsSchema> &
  Partial<Omit<ConnectionConfig, 'channel' | 'settings'>>

/** What is not said of the connection is said of its channel. */
export function connectionConfig(channel: string, options: ConnectionOptions): ConnectionConfig {
  const {
    id = 'default',
    agent,
    access,
    mentionHumans,
    replyPolicy,
    consent,
    strangers,
    replyParts,
    ...settings
  } = options
  return {
    channel,
    id,
    ...(agent === undefined ? {} : { agent }),
    ...(access === undefined ? {} : { access }),
    ...(mentionHumans === undefined ? {} : { mentionHumans }),
    ...(replyPolicy === undefined ? {} : { replyPolicy }),
    ...(consent === undefined ? {} : { consent }),
    ...(strangers === undefined ? {} : { strangers }),
    ...(replyParts === undefined ? {} : { replyParts }),
    settings,
  }
}

// Checks an adapter makes when it is created: its settings against its schema, and the ports it needs.

export function parseSettings<Settings>(channel: string, schema: z.ZodType<Settings>, settings: unknown): Settings {
  const parsed = schema.safeParse(settings)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`)
  throw new GatewayError('config_invalid', `[${channel}] ${problems.join('; ')}`)
}

/** `what`: the port in words, and how to pass it. */
export function requirePort<Port>(channel: string, port: Port | undefined, what: string): Port {
  if (port === undefined) throw new GatewayError('config_invalid', `[${channel}] needs ${what}`)
  return port
}

const rateSchema = z.object({ count: z.number().int().positive(), perMs: z.number().int().positive() }).readonly()

export const limitsSchema = z
  .object({ connection: rateSchema.exactOptional(), conversation: rateSchema.exactOptional() })
  .readonly()

/** Takes a string or an already wrapped secret, so that checking twice does no harm. */
export function secretSchema(pattern: RegExp, problem: string): z.ZodType<Secret, string | Secret> {
  return z
    .union([z.string(), z.custom<Secret>(isSecret)], { error: problem })
    .transform((given) => (typeof given === 'string' ? secret(given) : given))
    .refine((wrapped) => pattern.test(wrapped.reveal()), problem)
}

/** One, several during a rotation, or none. */
export function secretListSchema(each: z.ZodType<Secret, string | Secret>, most: number, problem: string) {
  return z
    .custom<string | Secret | readonly (string | Secret)[]>()
    .default([])
    .transform((given) => [given].flat())
    .pipe(z.array(each).max(most, problem))
}

function isSecret(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'reveal' in value && typeof value.reveal === 'function'
}
