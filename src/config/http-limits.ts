// What callers may make the HTTP listener hold before it is known who they are: a section of the configuration file.
import * as z from 'zod'

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
