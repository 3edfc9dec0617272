// Configured token issuers, and the metadata that tells callers about them. Read once; an entry that is wider than it looks, or
// half written, stops the start.
import * as z from 'zod'
import { delimitedPrefixSchema, wordSchema } from '../../contract/access.ts'
import { secretSchema } from '../../contract/index.ts'
import { isNamespacedSubject } from '../../contract/mint-evidence.ts'
import type { Secret } from '../../lib/secret.ts'

/** Signatures with a key that only the issuer has. Secrets that both sides know are not among them. */
const knownAlgorithms = ['EdDSA', 'ES256', 'RS256', 'PS256'] as const

const loopbackHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

function isHttpsOrLoopbackUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, origin, pathname, search, href } = new URL(text)
  // Nothing in front of the host, nothing behind the query.
  if (href !== `${origin}${pathname}${search}`) return false
  return protocol === 'https:' || (protocol === 'http:' && loopbackHost.test(hostname))
}

const fetchable = wordSchema.refine(
  isHttpsOrLoopbackUrl,
  'must be an https URL (http only for this machine), without a name or password',
)
const audience = wordSchema.refine((text) => !text.includes('*'), 'names one audience exactly; wildcards are not known')
const stringOrListSchema = (schema: z.ZodType<string, string>) =>
  z
    .union([z.string(), z.array(z.string())], 'must be a text or a list of texts')
    .transform((given) => [given].flat())
    .pipe(z.array(schema).min(1))

const sharedIssuerFields = {
  /** Exactly as the tokens name it. */
  issuer: fetchable,
  /** What tokens for this gateway are made out to; `{agent}` stands for an agent, whose tokens no other then takes. */
  audience: stringOrListSchema(audience).optional(),
  /** What our scopes are called there; `any`: every token of this issuer may. Without an entry: by the same name. */
  scopes: z.record(wordSchema, z.union([z.literal('any'), z.array(wordSchema).min(1)])).default({}),
  /** What subjects begin with here. Without it: `iss:` and the issuer's host and path. */
  subjectPrefix: delimitedPrefixSchema
    .refine(isNamespacedSubject, 'must begin with a namespace, such as people:')
    .refine((prefix) => !prefix.startsWith('gw:'), 'must not be of our own namespace gw:')
    .optional(),
}

const jwtSchema = z.strictObject({
  ...sharedIssuerFields,
  /** Without it: where the issuer's own metadata says. */
  jwksUrl: fetchable.optional(),
  algorithms: z
    .array(z.enum(knownAlgorithms, `must be among ${knownAlgorithms.join(', ')}`))
    .min(1)
    .default([...knownAlgorithms]),
  typ: stringOrListSchema(wordSchema).default(['at+jwt']),
  maxLifetimeSeconds: z.number().int().min(1).max(86_400).default(3600),
  /** A token counts once; `jti` tells one from another. */
  oneShot: z.boolean().default(false),
  /** `agent`: its tokens are signed with keys of agents. `oauth`: it is an authorization server. */
  proves: z.enum(['agent', 'oauth'], 'must be agent or oauth').default('agent'),
})

const introspectedSchema = z.strictObject({
  ...sharedIssuerFields,
  introspectionUrl: fetchable,
  clientId: wordSchema,
  clientSecret: secretSchema(/./, 'must be the secret of the client that may ask'),
  /** How long an answer is believed; 0: not at all. */
  cacheSeconds: z.number().int().min(0).max(300).default(30),
})

type Written<Schema extends z.ZodType> = Readonly<z.input<Schema>>

/** A token issuer as the operator writes it down: one whose signatures are checked here, or one that is asked. */
export type TokenIssuerSettings =
  | Written<typeof jwtSchema>
  | (Omit<Written<typeof introspectedSchema>, 'clientSecret'> & { readonly clientSecret: string | Secret })

type Named = { readonly audience: readonly string[]; readonly subjectPrefix: string }
export type JwtIssuer = Omit<z.output<typeof jwtSchema>, keyof Named> & Named
export type IntrospectedIssuer = Omit<z.output<typeof introspectedSchema>, keyof Named> & Named

export type TokenIssuers = {
  readonly jwt: readonly JwtIssuer[]
  /** One at most: a token is shown only to the server that may have issued it. */
  readonly introspected: IntrospectedIssuer | undefined
}

/** `where` of a problem is the place in the list, or the variable the value came from. */
export function readTokenIssuers(
  entries: readonly unknown[],
  { hasPublicUrl, problems }: { readonly hasPublicUrl: boolean; readonly problems: string[] },
): TokenIssuers {
  const jwt: JwtIssuer[] = []
  const introspected: IntrospectedIssuer[] = []
  for (const [index, entry] of entries.entries()) {
    const isAsked = typeof entry === 'object' && entry !== null && 'introspectionUrl' in entry
    const addIssueProblems = (issues: readonly z.core.$ZodIssue[]) =>
      problems.push(...issues.map(({ path, message }) => `tokenIssuers.${[index, ...path].join('.')} ${message}`))
    if (isAsked) {
      const { data, error } = introspectedSchema.safeParse(entry)
      if (data === undefined) addIssueProblems(error.issues)
      else introspected.push(withIssuerDefaults(data))
    } else {
      const { data, error } = jwtSchema.safeParse(entry)
      if (data === undefined) addIssueProblems(error.issues)
      else jwt.push(withIssuerDefaults(data))
    }
  }
  problems.push(...findIssuerContradictions(jwt, introspected))
  const nobodys = [...jwt, ...introspected].filter((each) => each.audience.length === 0 && !hasPublicUrl)
  problems.push(
    ...nobodys.map(({ issuer }) => `token issuer "${issuer}": audience is missing; set it, or PARLEY_PUBLIC_URL`),
  )
  return { jwt, introspected: introspected[0] }
}

function withIssuerDefaults<
  Entry extends { issuer: string; audience?: string[] | undefined; subjectPrefix?: string | undefined },
>(entry: Entry): Omit<Entry, keyof Named> & Named {
  const { host, pathname } = new URL(entry.issuer)
  const own = `iss:${host}${pathname.replace(/\/+$/, '')}/`
  return { ...entry, audience: entry.audience ?? [], subjectPrefix: entry.subjectPrefix ?? own }
}

function findIssuerContradictions(
  jwt: readonly JwtIssuer[],
  introspected: readonly IntrospectedIssuer[],
): readonly string[] {
  const problems: string[] = []
  const issuers = jwt.map(({ issuer }) => issuer)
  for (const issuer of new Set(issuers.filter((each, index) => issuers.indexOf(each) !== index)))
    problems.push(`token issuer "${issuer}" is there twice; keep one`)
  if (introspected.length > 1) problems.push('tokenIssuers: only one of them may have an introspectionUrl')
  const all = [...jwt, ...introspected]
  for (const [index, one] of all.entries())
    for (const other of all.slice(index + 1))
      if (one.issuer !== other.issuer && isPrefixOverlap(one.subjectPrefix, other.subjectPrefix))
        problems.push(
          `token issuers "${one.issuer}" and "${other.issuer}": people of one could pass for people of the other; give each a subjectPrefix that the other's does not begin with`,
        )
  return problems
}

function isPrefixOverlap(one: string, other: string): boolean {
  return one.startsWith(other) || other.startsWith(one)
}

// Protected resource metadata (RFC 9728): which servers issue tokens for this gateway, and which scopes they may have.

export const resourcePath = '/.well-known/oauth-protected-resource'

export type ProtectedResource = {
  readonly resource: string
  readonly authorization_servers: readonly string[]
  readonly scopes_supported?: readonly string[]
  readonly bearer_methods_supported: readonly string[]
}

export function hasTokenIssuers({ jwt, introspected }: TokenIssuers): boolean {
  return jwt.length > 0 || introspected !== undefined
}

/** `resource`: the URL a token is wanted for. */
export function toProtectedResource(issuers: TokenIssuers, resource: string): ProtectedResource {
  const all = [...issuers.jwt, ...(issuers.introspected === undefined ? [] : [issuers.introspected])]
  const scopes = all.flatMap((each) => Object.values(each.scopes).flatMap((theirs) => (theirs === 'any' ? [] : theirs)))
  return {
    resource,
    authorization_servers: [...new Set(all.map(({ issuer }) => issuer))],
    ...(scopes.length === 0 ? {} : { scopes_supported: [...new Set(scopes)] }),
    bearer_methods_supported: ['header'],
  }
}

/** Where that is written for a resource: its path stands after the well-known one (RFC 9728 section 3.1). */
export function protectedResourceMetadataUrl(publicUrl: string, resource = publicUrl): string {
  const { pathname } = new URL(resource)
  return `${new URL(publicUrl).origin}${resourcePath}${pathname === '/' ? '' : pathname}`
}
