// The variables that every gateway has, whatever its channels are.
import * as z from 'zod'
import { sealKeyAdvice, sealKeyPattern } from './seal-keys.ts'

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

const databaseAdvice =
  'must be an address of PostgreSQL, postgres://user:password@host:5432/name; unset it for the embedded one'

export const environmentSchema = z.object({
  PARLEY_PORT: z.coerce.number('must be a port number').int().min(0).max(65_535).default(8787),
  PARLEY_HOST: z.string().min(1).default('127.0.0.1'),
  PARLEY_PUBLIC_URL: z.url({ protocol: /^https?$/ }).optional(),
  PARLEY_DATA_DIR: z.string().min(1).default('.parley'),
  PARLEY_ADMIN_TOKEN: z.string().min(16, 'must have at least 16 characters').optional(),
  /** Read by the command line alone: the token for one call, of a gateway that may be another. */
  PARLEY_TOKEN: z.string().optional(),
  PARLEY_SEAL_KEY: z.string().regex(sealKeyPattern, sealKeyAdvice).optional(),
  PARLEY_TENANT: z.string().optional(),
  PARLEY_POSTGRES_OPTIONS: z.string().optional(),
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/, error: databaseAdvice }).optional(),
  PARLEY_MODEL_URL: z.url({ protocol: /^https?$/ }).optional(),
  PARLEY_MODEL: z.string().min(1).optional(),
  PARLEY_MODEL_KEY: z.string().min(1).optional(),
  PARLEY_MODEL_FALLBACK: z.string().min(1).optional(),
  PARLEY_MODEL_FALLBACK_URL: z.url({ protocol: /^https?$/ }).optional(),
  PARLEY_MODEL_FALLBACK_KEY: z.string().min(1).optional(),
  PARLEY_LOG_LEVEL: z.enum(logLevels, `must be one of ${logLevels.join(', ')}`).default('info'),
  PARLEY_LOG_ERRORS: z.enum(['place', 'full'], 'must be place or full').optional(),
  PARLEY_CORS_ORIGINS: z.string().optional(),
  PARLEY_PROBE_SECONDS: z.coerce
    .number('must be a number of seconds; 0 switches the checks off')
    .refine((seconds) => seconds === 0 || (seconds >= 30 && seconds <= 86_400), 'must be 0, or from 30 to 86400')
    .default(300),
  PARLEY_METRICS: z.enum(['local', 'public', 'off'], 'must be local, public or off').default('local'),
})
