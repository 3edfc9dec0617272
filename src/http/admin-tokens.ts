// The operator's tokens: listed, made, revoked. The answer to a creation is the only place a token is ever shown.
import type { Context, Hono } from 'hono'
import * as z from 'zod'
import { cleanText, createIdSource, GatewayError } from '../contract/index.ts'
import type { TokenHolder } from '../identity/token-store.ts'
import { createToken, tokenHolder } from '../identity/tokens.ts'
import { hexOf } from '../verification/index.ts'
import type { AppDeps } from './deps.ts'
import { readBody } from './read-body.ts'

const maxLifeMs = 10 * 365 * 24 * 60 * 60_000

const wishSchema = z.strictObject({
  label: z
    .string()
    .transform((text) => cleanText(text).replace(/\s+/g, ' ').trim())
    .pipe(z.string().min(1).max(100)),
  scopes: z.array(z.literal('admin')).min(1).optional(),
  /** With one it is no operator's token: it shows what belongs to this subject. */
  principal: z.string().trim().min(1).max(500).nullable().default(null),
  expiresInMs: z.number().int().positive().max(maxLifeMs).nullable().default(null),
})

export function addTokenRoutes(app: Hono, deps: AppDeps): void {
  const fillRandom = (bytes: Uint8Array<ArrayBuffer>): void => void crypto.getRandomValues(bytes)
  const made = { tokens: deps.tokens, newId: createIdSource(deps.now, fillRandom), fillRandom, hash: sha256 }
  app.get('/admin/tokens', async (context) => context.json({ tokens: await deps.tokens.list() }))
  app.post('/admin/tokens', async (context) => {
    const { principal, ...wish } = await readWish(context)
    const scopes = [principal === null ? ('admin' as const) : ('own' as const)]
    const { token, line } = await createToken(made, { ...wish, principal, scopes })
    return context.json({ token: token.reveal(), ...line })
  })
  app.post('/admin/tokens/:id/revoke', async (context) => {
    const { kind } = await deps.tokens.revoke(meantBy(context))
    if (kind === 'revoked') return context.json({ ok: true })
    throw kind === 'ambiguous'
      ? new GatewayError('conflict', 'two tokens begin like this; give the whole id, as GET /admin/tokens shows it')
      : new GatewayError('not_found', 'no such token that is not revoked already; list them with GET /admin/tokens')
  })
}

/** Who a token that was made speaks for, as long as it is valid. */
export async function holderOf(deps: Pick<AppDeps, 'tokens'>, given: string): Promise<TokenHolder | undefined> {
  return tokenHolder({ tokens: deps.tokens, hash: sha256 }, given)
}

async function readWish(context: Context): Promise<z.infer<typeof wishSchema>> {
  const parsed = wishSchema.safeParse(await bodyOf(context))
  if (parsed.success) return parsed.data
  const path = parsed.error.issues[0]?.path.join('.') || 'body'
  throw new GatewayError(
    'bad_request',
    `${path} is not as it must be; send {"label": "…", "expiresInMs": 86400000, "principal": "…"} as JSON, the last two are optional`,
  )
}

async function bodyOf(context: Context): Promise<unknown> {
  const bytes = await readBody(context.req.raw, 4096)
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}

/** An id, a prefix as the list shows it, or its digits. */
function meantBy(context: Context): string {
  const given = context.req.param('id') ?? ''
  const meant = /^(?:parley_)?([0-9a-f]{8})$|^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(given)
  const id = meant?.[1] ?? meant?.[2]
  if (id === undefined)
    throw new GatewayError('bad_request', 'give the id or the prefix of a token, not the token itself')
  return id
}

async function sha256(text: string): Promise<string> {
  return hexOf(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))))
}
