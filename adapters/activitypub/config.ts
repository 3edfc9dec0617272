// Settings of a fediverse connection, from parley.config.ts or from the environment, and what the channel can do.
import * as z from 'zod'
import type { Capabilities, EnvironmentReading } from '../../src/contract/index.ts'
import { splitCommaList } from '../../src/lib/index.ts'

const host = /^[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d{1,5})?$/
/** A host, as people write one, or the address of an actor. */
export const peerSchema = z
  .string()
  .transform(normalizePeer)
  .refine(
    (text) => host.test(text) || (URL.canParse(text) && /^https?:\/\//.test(text)),
    'must be a host such as example.social, or the https address of an actor',
  )

/** The address of a server is its host. Any other is written as it is compared. */
function normalizePeer(text: string): string {
  if (!text.includes('/') || !URL.canParse(text)) return text.toLowerCase().replace(/^@/, '')
  const { host: named, pathname, search, href } = new URL(text)
  return pathname === '/' && search === '' ? named : href
}

const [minutes, hours] = [60_000, 3_600_000]
const rateLimitSchema = (count: number, perMs: number) =>
  z
    .strictObject({
      count: z.int().min(1).max(10_000),
      perMs: z
        .int()
        .min(1000)
        .max(7 * 24 * hours),
    })
    .default({ count, perMs })

const httpsUrl = z.url({ protocol: /^https$/, error: 'must be an https URL' })

export const activitypubSettingsSchema = z.strictObject({
  /** Hosts and actors that may write at all; empty: all of them. */
  allow: z.array(peerSchema).max(10_000).default([]),
  /** Hosts and actors that are blocked. */
  block: z.array(peerSchema).max(100_000).default([]),
  /** Machines that may talk to our agents, by host or actor; true: every one. */
  allowBots: z.union([z.boolean(), z.array(peerSchema).max(10_000)]).default([]),
  /** Whether an account that asks may follow an agent. */
  follow: z
    .enum(['accept', 'manual', 'reject'], 'must be accept, manual or reject; correct ACTIVITYPUB_FOLLOW')
    .default('accept'),
  /** How widely an answer to a public post is shown. */
  visibility: z
    .enum(['unlisted', 'public'], 'must be unlisted or public; correct ACTIVITYPUB_VISIBILITY')
    .default('unlisted'),
  /** Longest post, in characters as servers count them. */
  limit: z.int().min(200).max(100_000).default(500),
  /** The host part of the handles, where it is not the host of PARLEY_PUBLIC_URL. */
  handleHost: z
    .string()
    .transform((text) => text.toLowerCase())
    .refine((text) => host.test(text), 'must be a host such as example.org; correct ACTIVITYPUB_HANDLE_HOST')
    .optional(),
  /** Whether an agent is shown the post that it is mentioned under. */
  readParents: z.boolean('must be on or off; correct ACTIVITYPUB_READ_PARENTS').default(true),
  /** Whether a post that another server passes on counts by the proof it carries (FEP-8b32). */
  acceptProofs: z.boolean().default(false),
  /** Agents that were here and never come back: other servers are told to forget them. */
  retired: z.array(z.string().regex(/^[a-z0-9][a-z0-9-]*$/, 'must be the slug of an agent')).default([]),
  /** Whether directories may list the agents, and search engines their posts. */
  discoverable: z.boolean().default(false),
  indexable: z.boolean().default(false),
  /** What pages and documents about the agents show beside their names. */
  shown: z
    .strictObject({
      iconUrl: httpsUrl.exactOptional(),
      operator: z.string().min(1).max(200).exactOptional(),
      sourceUrl: httpsUrl.exactOptional(),
      privacyUrl: httpsUrl.exactOptional(),
      /** The contact for people: a mail address or a web page. */
      contact: z.string().min(3).max(320).exactOptional(),
    })
    .default({}),
  maxBodyBytes: z
    .int()
    .min(16 * 1024)
    .max(1024 * 1024)
    .default(256 * 1024),
  /** How much one server may send. */
  hostLimit: z.strictObject({ count: z.int().min(1), perMs: z.int().min(1000) }).default({ count: 60, perMs: 600_000 }),
  /** How many answers there are at most. A person in private has `direct` and `directDay`; the others are for public threads and machines. */
  answerLimits: z
    .strictObject({
      direct: rateLimitSchema(60, 10 * minutes),
      directDay: rateLimitSchema(500, 24 * hours),
      sender: rateLimitSchema(6, 10 * minutes),
      thread: rateLimitSchema(10, hours),
      threadDay: rateLimitSchema(20, 24 * hours),
      server: rateLimitSchema(60, 10 * minutes),
      words: rateLimitSchema(5, hours),
    })
    .prefault({}),
  /** How long one call to another server may take. */
  callTimeoutMs: z.int().min(500).max(30_000).default(9000),
  /** Origins of this machine that are asked and told by plain http, for tests: by address, or by a name that the runtime's fetch takes. */
  insecureLoopback: z
    .array(z.url({ protocol: /^http$/, hostname: /^(?:127\.0\.0\.1|(?:[a-z0-9-]+\.)*localhost|\[::1\])$/ }))
    .max(20)
    .optional(),
})

/** Checked settings of one connection. */
export type ActivityPubSettings = z.output<typeof activitypubSettingsSchema>

export function activitypubFromEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): EnvironmentReading | undefined {
  if (!env['ACTIVITYPUB'] || env['ACTIVITYPUB'] === 'off') return undefined
  if (!env['PARLEY_PUBLIC_URL']) return { missing: ['PARLEY_PUBLIC_URL'] }
  const readVariable = (name: string): string | undefined => env[name]?.trim() || undefined
  const bots = readVariable('ACTIVITYPUB_ALLOW_BOTS')
  const limit = readVariable('ACTIVITYPUB_LIMIT')
  const parents = readVariable('ACTIVITYPUB_READ_PARENTS')
  return {
    settings: {
      allow: splitCommaList(readVariable('ACTIVITYPUB_ALLOW')),
      block: splitCommaList(readVariable('ACTIVITYPUB_BLOCK')),
      ...(bots === undefined ? {} : { allowBots: bots === '*' ? true : splitCommaList(bots) }),
      ...(readVariable('ACTIVITYPUB_FOLLOW') === undefined ? {} : { follow: readVariable('ACTIVITYPUB_FOLLOW') }),
      ...(readVariable('ACTIVITYPUB_VISIBILITY') === undefined
        ? {}
        : { visibility: readVariable('ACTIVITYPUB_VISIBILITY') }),
      ...(limit === undefined ? {} : { limit: Number(limit) }),
      ...(parents === undefined ? {} : { readParents: onOrOff[parents] ?? parents }),
      ...(readVariable('ACTIVITYPUB_HANDLE_HOST') === undefined
        ? {}
        : { handleHost: readVariable('ACTIVITYPUB_HANDLE_HOST') }),
      ...(readVariable('ACTIVITYPUB_CONTACT') === undefined
        ? {}
        : { shown: { contact: readVariable('ACTIVITYPUB_CONTACT') } }),
    },
  }
}

const onOrOff: Readonly<Record<string, boolean>> = { on: true, off: false }

/** Servers count characters as people see them (`limit`), which may be any number of units; what bounds a post in these is its bytes. */
const maxTextLength = 48 * 1024

export function activityPubCapabilities(
  callTimeoutMs: number,
  { answerLimits }: Pick<ActivityPubSettings, 'answerLimits'>,
): Capabilities {
  return {
    maxTextLength,
    // A note keeps its id on every try, and a server that knows the id takes it once.
    idempotentSend: 'client-id',
    callTimeoutMs,
    // Servers try for days.
    horizonMs: 7 * 24 * hours,
    // For each server that we write to.
    limits: { conversation: { count: 5, perMs: 1000 } },
    maxParts: 15,
    wholeReply: 'link',
    redelivers: true,
    // No sender is answered without end, least of all a machine.
    replyLimits: [
      { per: 'thread', in: 'open', ...answerLimits.thread },
      { per: 'thread', in: 'open', ...answerLimits.threadDay },
      { per: 'sender', in: 'open', ...answerLimits.sender },
      { per: 'words', in: 'open', ...answerLimits.words },
      { per: 'domain', in: 'open', ...answerLimits.server },
      { per: 'sender', in: 'direct', ...answerLimits.direct },
      { per: 'sender', in: 'direct', ...answerLimits.directDay },
      // Strangers of one server together: people who were answered once have a share of their own.
      { per: 'domain', in: 'direct', count: answerLimits.server.count * 5, perMs: answerLimits.server.perMs },
    ],
    receivedVia: 'activitypub',
    authMethods: ['ap-http-signature', 'ap-object-integrity-proof', 'ap-origin-fetch'],
    mentionRelay: { kind: 'addressing', envelope_fields: ['to', 'cc'], also_inline: true },
    coversNames: true,
    isInteractive: true,
    isOpenToAnyone: true,
  }
}
