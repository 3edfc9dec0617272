// Settings that channels have in common, as schemas (before hop 1).
import * as z from 'zod'
import { type Secret, secret } from './secret.ts'

const rateSchema = z.object({ count: z.number().int().positive(), perMs: z.number().int().positive() }).readonly()

export const limitsSchema = z
  .object({ connection: rateSchema.exactOptional(), conversation: rateSchema.exactOptional() })
  .readonly()

/** Takes a string or an already wrapped secret, so that checking twice does no harm. */
export function secretSchema(pattern: RegExp, problem: string): z.ZodType<Secret, unknown> {
  return z
    .union([z.string(), z.custom<Secret>(isSecret)], { error: problem })
    .transform((given) => (typeof given === 'string' ? secret(given) : given))
    .refine((wrapped) => pattern.test(wrapped.reveal()), problem)
}

function isSecret(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'reveal' in value && typeof value.reveal === 'function'
}
