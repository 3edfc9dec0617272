// What the adapter kit needs to know about a channel, and the clauses it has.

import type { RunLog } from '../contract/channel.ts'
import type {
  Adapter,
  CallerVerifier,
  ChannelDefinition,
  ChannelDeps,
  Connection,
  FileSource,
  RawRequest,
} from '../contract/index.ts'
import { createUnpinnedFetch, createWebHmac } from '../lib/index.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { createMemoryRecords } from './memory-records.ts'
import { noTasks } from './no-tasks.ts'

export const clauses = [
  'verify: accepts a genuine request',
  'verify: rejects one changed byte',
  'verify: rejects a wrong key',
  'verify: rejects a missing credential header',
  'verify: rejects an old timestamp',
  'verify: rejects a future timestamp',
  'verify: answers the handshake',
  'verify: never normalizes a rejected request',
  'config: leaving out any secret fails at start',
  'config: an incomplete environment names what is missing',
  'config: a secret never shows in text, JSON or error',
  'normalize: captured payloads equal their twins',
  'normalize: every message passes validation',
  'normalize: the agent’s own messages vanish',
  'normalize: arbitrary JSON never crashes',
  'normalize: a redelivery yields the same key, two messages yield two',
  'normalize: a proof that counts once is named after the channel and the same in every delivery',
  'evidence: is valid for its recipient, made here, and in the channel’s own namespace',
  'evidence: no name a sender chose is part of it',
  'address: decode(encode(x)) equals x',
  'render: no part exceeds the limit and no words are lost',
  'render: every status has its own text',
  'render: hostile markup is inert',
  'deliver: success is delivered',
  'deliver: a rate limit is a retry with its delay',
  'deliver: a server fault is never called delivered or refused',
  'deliver: a refusal is final',
  'deliver: a time-out is settled by what repeating would do',
  'deliver: nothing but the vendor is contacted',
  'deliver: the idempotency key is the same on every try',
  'verb: reconcile finds what arrived and misses what did not',
  'verb: acknowledge answers every acceptance',
  'verb: live finishes in place what it opened',
  'verb: presence is one call at most, and no turn waits for it',
  'verb: serve answers whatever is asked of its paths in its own form',
  'verb: follow shows a stream only to clients that ask for one',
  'verb: openFile gives the bytes, or says why not, and never how it asked',
  'verb: fetchAncestors says nothing where nothing is answered, or the turn is over',
  'verb: fetchReferenced asks at no address that is not safe',
  'verb: ingress answers what the runtime hands over for its own addresses alone, after the commit',
  'verb: expand keeps the answer to its requester, and says the same again',
  'verb: webfinger names URLs of its own agents and of no others',
  'verb: admin takes or refuses whatever is asked, with what to do',
  'verb: probe says what is wrong and what to do, and never a secret',
  'verb: senderName tells a name or nothing, whatever the platform answers',
  'deliver: a file is one upload, and none where there is nothing to upload',
  'truth: every declared capability has a clause that runs',
] as const

export type Clause = (typeof clauses)[number]

export type VendorAnswer = {
  readonly status: number
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

export type AdapterFixtures = {
  readonly definition: ChannelDefinition
  /** Which way in to the channel, where it has several. */
  readonly variant?: string
  readonly connection: Connection
  /** The clock while the kit runs. */
  readonly now: number
  /** The settings as an operator writes them, with the platform's address set to this origin: the stand-in that answers as told. */
  readonly settings: (vendorOrigin: string) => Readonly<Record<string, unknown>>
  /** The settings that are secret, each by its name with its value in `settings`. None: skip the clause about leaving one out. */
  readonly secrets: Readonly<Record<string, string>>
  /** A complete environment of required variables alone: without any of them the channel says that it is missing. */
  readonly environment: Readonly<Record<string, string>>
  /** Variables that say which way in is meant, where the channel has several. */
  readonly surroundings?: Readonly<Record<string, string>>
  /** The request as the platform sends it: signed at `at` milliseconds (`now` where it is left out), or with a wrong key. */
  readonly sign: (
    bytes: Uint8Array,
    how?: { readonly key?: 'wrong'; readonly at?: number },
  ) => RawRequest | Promise<RawRequest>
  /** Headers without which a request is rejected, in small letters. */
  readonly credentialHeaders: readonly string[]
  /**
   * Payloads of the platform. `arrived` is the list of events that `normalize` returns for it, `raw` and `once` left out. Three at
   * least; the first two are one message each, and not the same one.
   */
  readonly captured: readonly { readonly name: string; readonly payload: unknown; readonly arrived: unknown }[]
  /** Payloads of what the bot itself said. */
  readonly own: readonly unknown[]
  /** How the subjects of this channel begin; `<channel>:` where nothing is said. */
  readonly subjectPrefixes?: readonly string[]
  /**
   * How the platform tests its endpoint, and the whole answer: `{ status, headers, body }`. `isUnsigned`: the platform signs no such
   * request. Every other one must be rejected when it is signed with a wrong key.
   */
  readonly handshake?: { readonly payload: unknown; readonly answer: unknown; readonly isUnsigned?: boolean }
  /** Who stands behind the tokens that `sign` shows; without it nobody shows any. */
  readonly callers?: CallerVerifier
  /** Ports that the kit has none of, and those that must lead to the vendor's stand-in. */
  readonly ports?: (vendorOrigin: string, fetcher: typeof fetch) => Partial<ChannelDeps>
  /** Where the outside reaches the gateway; without it nothing is said about that. */
  readonly publicUrl?: string
  /** Where replies of the kit go, as `normalize` writes it. */
  readonly replyTo: JsonObject
  /** The words of a rendered call as their reader sees them: escapes taken away. The text is compared with what was to be said. */
  readonly textOf: (call: JsonObject) => string
  /** What a request to the vendor is known by, where that is made from the client id and is not the id itself. */
  readonly keyOf?: (body: unknown) => string
  /** Words that would be markup or notify people if they went out as they are, and whether the rendered calls hold them harmless. */
  readonly hostile: readonly {
    readonly said: string
    readonly isInert: (calls: readonly JsonObject[]) => boolean
  }[]
  /** How the platform answers a send. */
  readonly vendor?: {
    readonly success: VendorAnswer
    readonly rateLimit: VendorAnswer
    readonly serverFault: VendorAnswer
    readonly refusal: VendorAnswer
    /** What a look for something that did not arrive shows; 404 where nothing is said. */
    readonly absent?: VendorAnswer
    /** What this channel makes of an answer that may or may not mean "done". */
    readonly ambiguous: 'unknown' | 'retry'
  }
  readonly files?: {
    /** Of a file that `before` and the download lead to. */
    readonly ref: JsonObject
    /** Whether a request is for the bytes; others are on the way to them and answered with `before`. */
    readonly isDownload: (path: string) => boolean
    readonly before: VendorAnswer
    /** The bytes of an upload, as text. */
    readonly uploaded: (body: unknown) => string
  }
  /** Addresses for what a runtime hands in: one that is ours, and one that belongs to another. */
  readonly handed?: { readonly ours: string; readonly foreign: string }
  /** Files that the channel takes out of what it kept itself: one that is there, and one that is gone. */
  readonly ownFiles?: { readonly ref: JsonObject; readonly gone: JsonObject }
  /** Clauses that cannot apply, each with its reason. Those of verbs that the adapter does not implement are skipped by themselves. */
  readonly skips: Readonly<Partial<Record<Clause, string>>>
}

const anybody: CallerVerifier = {
  identify: async () => ({ kind: 'identified', bearer: undefined, caller: undefined, agentChain: undefined }),
  challenge: () => 'Bearer',
}

export type DeclareClause = (name: Clause, run: () => void | Promise<void>) => void

export function createAdapterFromFixtures(
  fixtures: AdapterFixtures,
  vendorOrigin = 'http://127.0.0.1:9',
  fetcher: typeof fetch = fetch,
  runLog: RunLog = { append: async () => {} },
  files?: FileSource,
): Adapter {
  return fixtures.definition.create(fixtures.settings(vendorOrigin), {
    connection: fixtures.connection,
    fetch: fetcher,
    now: () => fixtures.now,
    hmac: createWebHmac(),
    guardedFetch: createUnpinnedFetch(fetch),
    runLog,
    callers: fixtures.callers ?? anybody,
    tasks: noTasks,
    agents: () => [{ slug: 'demo', label: 'Demo', description: 'Says something.', skills: [] }],
    newId: () => crypto.randomUUID(),
    records: createMemoryRecords(() => fixtures.now),
    ...(fixtures.publicUrl === undefined ? {} : { publicUrl: fixtures.publicUrl }),
    ...(files === undefined ? {} : { files }),
    ...fixtures.ports?.(vendorOrigin, fetcher),
  })
}
