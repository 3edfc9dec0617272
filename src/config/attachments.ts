// Attachment settings, where files are stored and how large they may be: a section of the configuration file, or variables of the
// environment.
import * as z from 'zod'
import type { BlobStore } from '../files/blob-store.ts'
import { GatewayError } from '../lib/errors.ts'
import { type Secret, secret } from '../lib/secret.ts'

export type S3Options = {
  /** Scheme and host, such as https://s3.eu-central-1.amazonaws.com or http://127.0.0.1:9000. */
  readonly endpoint: string
  readonly region?: string
  readonly bucket: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

export type SupabaseOptions = {
  /** https://{project}.supabase.co */
  readonly url: string
  readonly serviceKey: string
  readonly bucket: string
}

export type S3Place = Omit<S3Options, 'region' | 'secretAccessKey'> & {
  readonly kind: 's3'
  readonly region: string
  readonly secretAccessKey: Secret
}

export type SupabasePlace = Omit<SupabaseOptions, 'serviceKey'> & {
  readonly kind: 'supabase'
  readonly serviceKey: Secret
}

/** A store as the operator named it; what opens it is made when the gateway starts. */
export type AttachmentPlace = S3Place | SupabasePlace

/** The section `attachments` of parley.config.ts. */
export type AttachmentSettings = {
  /** `s3({…})`, `supabase({…})`, or a store of the host application's own. Without it: a folder, or what is bound. */
  readonly store?: AttachmentPlace | BlobStore
  /** The largest file that is taken in. */
  readonly maxBytes?: number
  /** How many are taken in at the same time; a few more wait. */
  readonly uploadsInFlight?: number
  /** How long a handle is good for. */
  readonly handleSeconds?: number
  /** `store`: URLs that the store signs itself, so that bytes do not pass the gateway. Without it: the gateway's own. */
  readonly handles?: 'own' | 'store'
  /** After how long an upload goes that no message refers to. */
  readonly orphanHours?: number
}

export type AttachmentConfig = Required<Omit<AttachmentSettings, 'store'>> & {
  readonly store: AttachmentPlace | BlobStore | undefined
}

const defaultMaxBytes = 25 * 1024 * 1024

const positiveIntegerSchema = (max: number) => z.number().int().min(1).max(max)

const settingsSchema = z.strictObject({
  store: z
    .custom<AttachmentPlace | BlobStore>(
      isAttachmentStoreSetting,
      'must be s3({…}), supabase({…}) or a store of your own',
    )
    .optional(),
  maxBytes: positiveIntegerSchema(1024 * 1024 * 1024).default(defaultMaxBytes),
  uploadsInFlight: positiveIntegerSchema(100).default(8),
  // A URL that can be passed on should be worth little by then.
  handleSeconds: positiveIntegerSchema(300).default(300),
  handles: z.enum(['own', 'store'], 'must be own or store').default('own'),
  orphanHours: positiveIntegerSchema(24 * 365).default(24),
})

const httpUrl = z.url({ protocol: /^https?$/ })
const bucketName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$/, 'must be the name of a bucket')

const s3Schema = z.strictObject({
  endpoint: httpUrl,
  region: z.string().min(1).default('us-east-1'),
  bucket: bucketName,
  accessKeyId: z.string().min(1),
  secretAccessKey: z.string().min(1),
})
const supabaseSchema = z.strictObject({ url: httpUrl, serviceKey: z.string().min(1), bucket: bucketName })

/** A bucket of S3, or of anything that speaks like it: MinIO, R2, Garage. */
export function s3(options: S3Options): AttachmentPlace {
  return readS3StoreSettings(options)
}

/** A private bucket of Supabase Storage, with the key of the service role. */
export function supabase(options: SupabaseOptions): AttachmentPlace {
  return readSupabaseStoreSettings(options)
}

function readS3StoreSettings(options: unknown): AttachmentPlace {
  const { secretAccessKey, ...place } = parseStoreOptions('s3', s3Schema, options)
  return { kind: 's3', ...place, secretAccessKey: secret(secretAccessKey) }
}

function readSupabaseStoreSettings(options: unknown): AttachmentPlace {
  const { serviceKey, ...place } = parseStoreOptions('supabase', supabaseSchema, options)
  return { kind: 'supabase', ...place, serviceKey: secret(serviceKey) }
}

function parseStoreOptions<Schema extends z.ZodType>(name: string, schema: Schema, options: unknown): z.output<Schema> {
  const parsed = schema.safeParse(options)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`)
  throw new GatewayError('config_invalid', `[attachments] ${name}({…}): ${problems.join('; ')}`)
}

type Variables = Readonly<Record<string, string | undefined>>

const s3Variables = {
  endpoint: 'PARLEY_S3_ENDPOINT',
  region: 'PARLEY_S3_REGION',
  bucket: 'PARLEY_S3_BUCKET',
  accessKeyId: 'PARLEY_S3_ACCESS_KEY_ID',
  secretAccessKey: 'PARLEY_S3_SECRET_ACCESS_KEY',
} as const
const supabaseVariables = {
  url: 'SUPABASE_URL',
  serviceKey: 'SUPABASE_SERVICE_KEY',
  bucket: 'SUPABASE_BUCKET',
} as const
const optionalStoreVariables: readonly string[] = ['PARLEY_S3_REGION']
export const attachmentVariables = [...Object.values(s3Variables), ...Object.values(supabaseVariables)]

/** The file wins over the environment. Every problem is told, and a store that is half configured is none. */
export function readAttachments(env: Variables, file: AttachmentSettings = {}, problems: string[]): AttachmentConfig {
  const parsed = settingsSchema.safeParse(file)
  if (!parsed.success)
    problems.push(...parsed.error.issues.map((issue) => `attachments.${issue.path.join('.')}: ${issue.message}`))
  const { store, ...limits } = parsed.data ?? settingsSchema.parse({})
  return { ...limits, store: store ?? readStoreFromEnvironment(env, problems) }
}

function readStoreFromEnvironment(env: Variables, problems: string[]): AttachmentPlace | undefined {
  const places = [
    readStoreVariables(env, { variables: s3Variables, schema: s3Schema, make: readS3StoreSettings }, problems),
    readStoreVariables(
      env,
      { variables: supabaseVariables, schema: supabaseSchema, make: readSupabaseStoreSettings },
      problems,
    ),
  ].filter((place) => place !== undefined)
  if (places.length > 1)
    problems.push('PARLEY_S3_ENDPOINT and SUPABASE_URL name two stores for files; unset the variables of one of them')
  return places[0]
}

type Source = {
  readonly variables: Readonly<Record<string, string>>
  readonly schema: z.ZodType
  readonly make: (options: unknown) => AttachmentPlace
}

function readStoreVariables(
  env: Variables,
  { variables, schema, make }: Source,
  problems: string[],
): AttachmentPlace | undefined {
  const given = Object.entries(variables).filter(([, name]) => env[name] !== undefined)
  if (given.length === 0) return undefined
  const missing = Object.values(variables).filter(
    (name) => env[name] === undefined && !optionalStoreVariables.includes(name),
  )
  problems.push(...missing.map((name) => `${name} is missing; set it, or unset the other variables of that store`))
  const options = Object.fromEntries(given.map(([key, name]) => [key, env[name]]))
  const parsed = schema.safeParse(options)
  const wrong = (parsed.error?.issues ?? []).map(({ path, message }) => [variables[String(path[0])] ?? '', message])
  problems.push(
    ...wrong.filter(([name]) => !missing.includes(name ?? '')).map(([name, message]) => `${name}: ${message}`),
  )
  return parsed.success ? make(options) : undefined
}

function isAttachmentStoreSetting(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if ('kind' in value) return value.kind === 's3' || value.kind === 'supabase'
  return ['write', 'read', 'remove'].every((verb) => verb in value) && 'name' in value && 'bucket' in value
}
