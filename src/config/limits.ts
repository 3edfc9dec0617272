// Limits of the configuration: rate of API callers, allowed origins, what the HTTP listener holds, free disk space.
import * as z from 'zod'
import { splitCommaList } from '../lib/index.ts'

export type Limit = {
  readonly count: number
  /** The window in which so many are let through; windows begin at multiples of it. */
  readonly perMs: number
}

/** All of them count; the tightest one decides. */
export type ApiLimits = {
  /** Requests of one person or program, over all of its tokens. */
  readonly perPrincipal?: Limit
  /** Requests with one token. */
  readonly perToken?: Limit
  /** Runs and tasks that one person or program may start per day, UTC. */
  readonly runsPerDay?: number
}

const dayMs = 24 * 60 * 60_000
const count = z.number().int().min(1).max(10_000_000)
const limitSchema = z
  .strictObject({ count, perMs: z.number().int().min(1000).max(dayMs) })
  // Kept as an instant that moves on by a piece of the window with every request; a piece must be long enough to be told.
  .refine(({ count: many, perMs }) => many <= perMs, 'count must be at most perMs')
const limitsSchema = z.strictObject({
  perPrincipal: limitSchema.optional(),
  perToken: limitSchema.optional(),
  runsPerDay: count.optional(),
})

/** Who may ask from where, and how often. */
export function readApiSettings(
  origins: string | undefined,
  limits: ApiLimits | undefined,
  problems: string[],
): { readonly corsOrigins: readonly string[]; readonly limits: ApiLimits } {
  return { corsOrigins: readCorsOrigins(origins, problems), limits: readApiLimits(limits, problems) }
}

function readApiLimits(given: ApiLimits | undefined, problems: string[]): ApiLimits {
  const read = limitsSchema.safeParse(given ?? {})
  for (const issue of read.error?.issues ?? []) problems.push(`limits.${issue.path.join('.')}: ${issue.message}`)
  return given ?? {}
}

export function toLimitPerDay(runs: number): Limit {
  return { count: runs, perMs: dayMs }
}

// Allowed origins (CORS): a list with commas, or a star for all.

/** What is no origin is a problem, and told. */
function readCorsOrigins(given: string | undefined, problems: string[]): readonly string[] {
  const origins = splitCommaList(given)
  for (const origin of origins)
    if (origin !== '*' && !isOrigin(origin))
      problems.push(
        'PARLEY_CORS_ORIGINS: every entry must be an origin such as https://app.example.org, without a path, or *',
      )
  if (origins.includes('*') && origins.length > 1)
    problems.push('PARLEY_CORS_ORIGINS: give * or a list of origins, not both')
  return origins
}

function isOrigin(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).origin === text
}

// What callers may make the HTTP listener hold before it is known who they are.

export type HttpLimits = {
  /** Of all bodies that are being read or judged, together. Without it: 64 MiB, or four bodies of `maxBodyBytes`. */
  readonly bodyBytes: number
  /** Connections that are open at once, streams included. */
  readonly maxConnections: number
  /** Connections that have not said a whole request head yet. What is more and older than a second is closed. */
  readonly maxHalfOpen: number
  /** How much of the bytes and connections one public address (IPv6: one /64) may have; 1: everything. */
  readonly addressShare: number
  readonly headersTimeoutMs: number
  /** For the body of a webhook; other bodies have a second more for every `minBodyBytesPerSecond` that came. */
  readonly bodyTimeoutMs: number
  readonly minBodyBytesPerSecond: number
  /** For any request until its last byte, however fast it comes. */
  readonly requestTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  readonly maxHeaderBytes: number
  readonly maxHeaders: number
}

const mebibyte = 1024 * 1024
const defaultBodyBytes = 64 * mebibyte
/** A budget for fewer bodies than this would be used up by one or two senders. */
const bodiesAtOnce = 4

const hourMs = 60 * 60_000
const timeoutMs = z.number().int().min(100).max(hourMs)
const httpSchema = z.strictObject({
  bodyBytes: z
    .number()
    .int()
    .min(mebibyte)
    .max(64 * 1024 * mebibyte)
    .optional(),
  maxConnections: z.number().int().min(16).max(1_000_000).default(2048),
  maxHalfOpen: z.number().int().min(8).max(1_000_000).default(256),
  addressShare: z.number().gt(0).max(1).default(0.5),
  headersTimeoutMs: timeoutMs.default(10_000),
  bodyTimeoutMs: timeoutMs.default(15_000),
  minBodyBytesPerSecond: z
    .number()
    .int()
    .min(1)
    .max(64 * mebibyte)
    .default(32 * 1024),
  requestTimeoutMs: timeoutMs.default(300_000),
  // Longer than the pools of usual proxies keep theirs (nginx 60 s), so that it is the proxy that lets go.
  keepAliveTimeoutMs: timeoutMs.default(65_000),
  maxHeaderBytes: z
    .number()
    .int()
    .min(4096)
    .max(mebibyte)
    .default(16 * 1024),
  maxHeaders: z.number().int().min(16).max(2000).default(100),
})

export function readHttpLimits(
  given: Partial<HttpLimits> | undefined,
  maxBodyBytes: number,
  problems: string[],
): HttpLimits {
  const read = httpSchema.safeParse(given ?? {})
  for (const issue of read.error?.issues ?? []) problems.push(`http.${issue.path.join('.')}: ${issue.message}`)
  const { bodyBytes, ...limits } = read.data ?? httpSchema.parse({})
  if (bodyBytes !== undefined && bodyBytes < maxBodyBytes)
    problems.push(`http.bodyBytes: must hold at least one body (maxBodyBytes is ${maxBodyBytes})`)
  return { ...limits, bodyBytes: bodyBytes ?? Math.max(defaultBodyBytes, bodiesAtOnce * maxBodyBytes) }
}

// How much space the disk of the data folder must have left.

export type DiskSettings = {
  /** Below this nothing of people who are not admitted is stored. Without it: 512 MB, or 5 % of a smaller disk. */
  readonly lowBytes?: number
  /** Below this no mail and no file is taken from any sender. Without it: a quarter of `lowBytes`. */
  readonly fullBytes?: number
}

const byteCountSchema = z.number().int().min(0)
const diskSchema = z
  .strictObject({ lowBytes: byteCountSchema.optional(), fullBytes: byteCountSchema.optional() })
  .refine(({ lowBytes, fullBytes }) => lowBytes === undefined || (fullBytes ?? 0) <= lowBytes, {
    message: 'fullBytes must be at most lowBytes',
  })

export function readDiskSettings(given: DiskSettings = {}, problems: string[]): DiskSettings {
  const read = diskSchema.safeParse(given)
  for (const issue of read.error?.issues ?? []) problems.push(`disk.${issue.path.join('.')}: ${issue.message}`)
  return given
}
