// What a token says once it is known to be genuine, read the same way from its own payload and from an issuer's answer.
import * as z from 'zod'

/** Until the year 9999; what is later is no time. */
const instant = z.number().min(0).max(253_402_300_799)
const text = z.string().min(1).max(255)
const words = z.union([
  z
    .string()
    .max(4096)
    .transform((all) => all.split(' ')),
  z.array(z.string()),
])

type Actor = { readonly sub: string; readonly act?: Actor | undefined }
const actorSchema: z.ZodType<Actor> = z.lazy(() => z.looseObject({ sub: text, act: actorSchema.optional() }))

const claimsSchema = z.looseObject({
  iss: z.string().optional(),
  sub: text.optional(),
  aud: z.union([z.string().transform((one) => [one]), z.array(z.string()).max(64)]).optional(),
  exp: instant.optional(),
  nbf: instant.optional(),
  iat: instant.optional(),
  jti: z.string().min(1).max(512).optional(),
  client_id: text.optional(),
  azp: text.optional(),
  scope: words.optional(),
  scp: words.optional(),
  act: actorSchema.optional(),
})

/** The claims that count here, and no others. Times are seconds. */
export type TokenClaims = {
  readonly issuer: string | undefined
  /** Whom the token is about. */
  readonly subject: string
  readonly audience: readonly string[]
  readonly expiresAt: number | undefined
  readonly notBefore: number | undefined
  readonly issuedAt: number | undefined
  readonly id: string | undefined
  readonly client: string | undefined
  readonly scopes: readonly string[]
  /** Who calls for the subject, the caller itself first (RFC 8693). */
  readonly actors: readonly string[]
}

const maxActors = 4
const maxScopes = 64
const scopeWord = /^[\u0021\u0023-\u005b\u005d-\u007e]{1,128}$/

/** Undefined: no token of ours to read. */
export function readTokenClaims(payload: unknown): TokenClaims | undefined {
  const { data } = claimsSchema.safeParse(payload)
  const actors = listActors(data?.act)
  // A client that acts for itself may leave out the subject.
  const subject = data?.sub ?? data?.client_id
  if (data === undefined || subject === undefined || actors.length > maxActors) return undefined
  return {
    issuer: data.iss,
    subject,
    audience: data.aud ?? [],
    expiresAt: data.exp,
    notBefore: data.nbf,
    issuedAt: data.iat,
    id: data.jti,
    client: data.client_id ?? data.azp,
    scopes: [...(data.scope ?? []), ...(data.scp ?? [])].filter((each) => scopeWord.test(each)).slice(0, maxScopes),
    actors,
  }
}

function listActors(act: Actor | undefined): readonly string[] {
  const actors: string[] = []
  for (let each = act; each !== undefined; each = each.act) actors.push(each.sub)
  return actors
}

/** Marks of an OpenID id_token: made for the application that a user signed in to, never for us. */
export function isIdToken(payload: Readonly<Record<string, unknown>>): boolean {
  const marks = ['nonce', 'at_hash', 'c_hash', 's_hash']
  return marks.some((mark) => mark in payload) || payload['typ'] === 'ID' || payload['token_use'] === 'id'
}
