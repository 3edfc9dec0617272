// Environment variables that every gateway has, whatever its channels are.
import * as z from 'zod'
import { sealKeyAdvice, sealKeyPattern } from '../gateway/seal.ts'

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

// Settings of the embedded PostgreSQL: those an operator may give (PARLEY_POSTGRES_OPTIONS), and those the gateway keeps.

/** What the gateway's promises rest on; neither the operator's settings nor postgresql.conf take it back. */
export const fixedPostgresSettings = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  port: '5432',
  listen_addresses: '',
  // Relative to its folder, so of any length.
  unix_socket_directories: '.',
  unix_socket_permissions: '0700',
  logging_collector: 'off',
  log_destination: 'stderr',
  log_timezone: 'UTC',
  // Above statements' errors, which may quote values: no message text reaches the log.
  log_min_messages: 'log',
  log_error_verbosity: 'terse',
} as const

const kept = new Set([
  ...Object.keys(fixedPostgresSettings),
  'cluster_name',
  'data_directory',
  'config_file',
  'hba_file',
])

/** `shared_buffers=256MB work_mem=16MB`, as `name=value` separated by spaces. */
export function readPostgresSettings(text: string | undefined, problems: string[]): Readonly<Record<string, string>> {
  const settings: Record<string, string> = {}
  for (const word of (text ?? '').split(/\s+/).filter(Boolean)) {
    const [, name, value] = /^([a-z][a-z0-9_.]*)=(.+)$/.exec(word) ?? []
    if (name === undefined || value === undefined)
      problems.push(`PARLEY_POSTGRES_OPTIONS: "${word}" is not name=value; write shared_buffers=256MB work_mem=16MB`)
    else if (kept.has(name)) problems.push(`PARLEY_POSTGRES_OPTIONS: ${name} is set by the gateway; leave it out`)
    else settings[name] = value
  }
  return settings
}
