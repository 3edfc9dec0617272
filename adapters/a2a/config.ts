// Settings of an A2A connection, from parley.config.ts or from the environment.
import * as z from 'zod'
import { type EnvironmentReading, secretSchema } from '../../src/contract/index.ts'
import { secret, splitCommaList } from '../../src/lib/index.ts'

const mediaType = z
  .string()
  .regex(/^[\w.+*-]+\/[\w.+*-]+$/, 'must be a media type such as text/plain')
  .transform((type) => type.toLowerCase())
const httpsUrl = z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' })
const uri = z.string().regex(/^[a-z][a-z0-9+.-]*:[^\s]+$/i, 'must be a URI')

const skillSchema = z.strictObject({
  id: z.string().min(1),
  name: z.string().min(1),
  description: z.string().min(1),
  tags: z.array(z.string().min(1)).min(1),
  examples: z.array(z.string().min(1)).exactOptional(),
})

/** What the extended card adds to the public one, for callers that show a credential. */
const extendedCardSchema = z.strictObject({
  description: z.string().min(1).optional(),
  documentationUrl: httpsUrl.optional(),
  skills: z.array(skillSchema).min(1).optional(),
})

const pushSchema = z.strictObject({
  /** Origins and hosts that may receive notifications although they are private, or not served by https. */
  allow: z.array(z.string().min(1)).default([]),
})

export const a2aSettingsSchema = z.strictObject({
  /** Where the agents are served; the documents below /.well-known belong to the connection at /a2a. */
  path: z
    .string()
    .regex(/^\/[a-z0-9][a-z0-9/-]*[a-z0-9]$/, 'must be a path such as /a2a')
    .default('/a2a'),
  protocolVersions: z
    .array(z.enum(['1.0', '0.3'], 'must be 1.0 or 0.3'))
    .min(1)
    .default(['1.0', '0.3'])
    .refine((versions) => versions.includes('1.0'), 'must include 1.0'),
  /** Which release of 1.0 the numbers of errors follow. */
  errorTable: z.enum(['1.0.0', '1.0.1'], 'must be 1.0.0 or 1.0.1').default('1.0.1'),
  /** Whether callers on the port need no credential. The socket in the data folder never needs one. */
  anonymous: z.boolean().default(false),
  /** A header in which a token of this gateway may come instead of `Authorization`, for callers that only know API keys. */
  apiKeyHeader: z
    .string()
    .regex(/^(?:x-[a-z0-9-]{1,60}|api-?key)$/i, 'must be a header such as x-api-key')
    .transform((name) => name.toLowerCase())
    .optional(),
  /** Who may read what the agents are and can do: every reader, or only those who may call. */
  cards: z.enum(['public', 'callers'], 'must be public or callers').default('public'),
  streaming: z.boolean().default(true),
  push: z.union([z.literal(false), pushSchema]).default({ allow: [] }),
  extendedCard: z.union([z.boolean(), extendedCardSchema]).default(false),
  inputModes: z.array(mediaType).min(1).default(['text/plain', 'text/markdown', 'application/json', '*/*']),
  outputModes: z.array(mediaType).min(1).default(['text/plain', 'text/markdown', 'application/json']),
  /** Extensions that a request must name to be served. */
  requiredExtensions: z
    .array(z.strictObject({ uri, description: z.string().min(1).optional() }))
    .max(16)
    .default([]),
  /** Whether a messageId says which message it is, so that a repeated send finds its task; `loose`: it says nothing. */
  messageIds: z.enum(['unique', 'loose'], 'must be unique or loose').default('unique'),
  /** Whether a reply may be a plain message instead of a task; a stream then begins when that is known. */
  directMessages: z.boolean().default(false),
  /** Longest time a send waits for its task to end or to ask for input. */
  blockMs: z.int().min(0).max(600_000).default(60_000),
  /** Whether a 0.3 send without `blocking` waits. */
  legacyBlocking: z.boolean().default(true),
  heartbeatMs: z.int().min(10).max(60_000).default(15_000),
  /** After so long a stream is closed without an error, and its reader subscribes again. */
  streamMs: z.int().min(100).max(86_400_000).default(3_600_000),
  maxBodyBytes: z
    .int()
    .min(1024)
    .max(64 * 1024 * 1024)
    .default(10 * 1024 * 1024),
  card: z
    .strictObject({
      /** Of the hub; an agent's own card carries its own. */
      name: z.string().min(1).optional(),
      description: z.string().min(1).optional(),
      version: z.string().min(1).default('1.0.0'),
      provider: z.strictObject({ organization: z.string().min(1), url: httpsUrl }).optional(),
      documentationUrl: httpsUrl.optional(),
      iconUrl: httpsUrl.optional(),
      maxAgeSeconds: z.int().min(0).max(86_400).default(300),
    })
    .default({ version: '1.0.0', maxAgeSeconds: 300 }),
  /** The key that cards are signed with, as a private JWK (P-256). Without it one is made and kept; false: no signatures. */
  signing: z
    .union([z.literal(false), z.strictObject({ key: secretSchema(/^\{.*\}$/s, 'must be a private JWK as JSON') })])
    .optional(),
})

/** Checked settings of one connection. */
export type A2aSettings = z.output<typeof a2aSettingsSchema>

/**
 * On unless told otherwise: over the socket in the data folder it answers without any set-up, on the port by token. Nothing is
 * published before the operator says so.
 */
export function a2aFromEnvironment(env: Readonly<Record<string, string | undefined>>): EnvironmentReading | undefined {
  if (env['A2A_CHANNEL'] === 'off') return undefined
  const key = env['A2A_SIGNING_KEY'] || undefined
  const versions = splitCommaList(env['A2A_PROTOCOL_VERSIONS'])
  const allow = splitCommaList(env['A2A_PUSH_ALLOW'])
  return {
    settings: {
      cards: env['A2A_CARDS'] ?? 'callers',
      ...(env['A2A_ANONYMOUS'] === 'on' ? { anonymous: true } : {}),
      ...(versions.length === 0 ? {} : { protocolVersions: versions }),
      ...(allow.length === 0 ? {} : { push: { allow } }),
      ...(key === undefined ? {} : { signing: { key: secret(key) } }),
    },
  }
}
