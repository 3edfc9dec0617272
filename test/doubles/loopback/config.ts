// Settings of the loopback channel.
import * as z from 'zod'
import type { EnvironmentReading } from '../../../src/contract/index.ts'
import { type Secret, secret } from '../../../src/lib/secret.ts'

const rateSchema = z.object({ count: z.number().int().positive(), perMs: z.number().int().positive() })

export const loopbackSettingsSchema = z.strictObject({
  secret: z
    .union([z.string(), z.custom<Secret>((value) => typeof value === 'object' && value !== null && 'reveal' in value)])
    .transform((given) => (typeof given === 'string' ? secret(given) : given))
    .refine((wrapped) => wrapped.reveal().length >= 16, 'must be 16 characters or more; set LOOPBACK_SECRET'),
  vendorUrl: z.url().refine((url) => !url.endsWith('/'), 'must not end with a slash; correct LOOPBACK_VENDOR_URL'),
  callTimeoutMs: z.number().int().positive().default(2000),
  horizonMs: z
    .number()
    .int()
    .positive()
    .default(24 * 60 * 60 * 1000),
  maxTextLength: z.number().int().positive().default(1000),
  /** The platform lets messages be edited: replies are shown while they grow, at most so often. */
  liveEveryMs: z.number().int().positive().exactOptional(),
  /** The platform shows words that are no message yet, and forgets them so long after the last. */
  previewMs: z.number().int().positive().exactOptional(),
  /** The platform shows that somebody is typing. */
  typing: z.boolean().default(false),
  limits: z.object({ connection: rateSchema.exactOptional(), conversation: rateSchema.exactOptional() }).default({}),
})

export type LoopbackSettings = z.output<typeof loopbackSettingsSchema>

export function loopbackFromEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): EnvironmentReading | undefined {
  const given = { secret: env['LOOPBACK_SECRET'], vendorUrl: env['LOOPBACK_VENDOR_URL'] }
  if (!given.secret && !given.vendorUrl) return undefined
  if (!given.secret) return { missing: ['LOOPBACK_SECRET'] }
  if (!given.vendorUrl) return { missing: ['LOOPBACK_VENDOR_URL'] }
  return { settings: { secret: secret(given.secret), vendorUrl: given.vendorUrl } }
}
