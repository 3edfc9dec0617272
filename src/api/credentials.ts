// Tokens and keys over HTTP: listed, created, revoked, rotated. The answer to a creation is the only place a token is ever shown.
import type { Context, Hono } from 'hono'
import * as z from 'zod'
import {
  cleanText,
  createIdSource,
  GatewayError,
  isPlainSubject,
  readWorkspaceScope,
  type WorkspaceScope,
  workspaceKey,
} from '../contract/index.ts'
import { createToken, type TokenRequest, type TokenScope, tokenScopes } from '../identity/tokens.ts'
import { sha256Hex } from '../lib/index.ts'
import { actorName, recordAct } from './admin-access.ts'
import type { AppDeps } from './deps.ts'
import { readJsonRequest } from './request-input.ts'

const maxLifeMs = 10 * 365 * 24 * 60 * 60_000

const labelSchema = z
  .string()
  .transform((text) => cleanText(text).replace(/\s+/g, ' ').trim())
  .pipe(z.string().min(1).max(100))

const tokenRequestSchema = z.strictObject({
  label: labelSchema,
  scopes: z.array(z.enum(tokenScopes)).min(1).optional(),
  /** Whom it speaks for: a subject as evidence names it. */
  principal: z.string().trim().max(500).refine(isPlainSubject).nullable().default(null),
  agent: z.string().trim().min(1).nullable().default(null),
  workspace: z
    .strictObject({ workspace_type: z.string().max(100), workspace_id: z.string().max(200) })
    .nullable()
    .default(null),
  allowedCapabilities: z
    .array(z.string().regex(/^[\w:.-]{1,100}$/))
    .max(64)
    .nullable()
    .default(null),
  clientId: labelSchema.nullable().default(null),
  expiresInMs: z.number().int().positive().max(maxLifeMs).nullable().default(null),
})

export const tokenBody = {
  schema: tokenRequestSchema,
  maxBytes: 8192,
  remedy: `send {"label": "…"} as JSON; optional are "scopes" (of ${tokenScopes.join(', ')}), "principal" (such as "space:T1/U2"), "agent", "workspace" ({"workspace_type", "workspace_id"}), "allowedCapabilities", "clientId" and "expiresInMs"`,
}

export function addTokenRoutes(app: Hono, deps: AppDeps): void {
  const fillRandom = (bytes: Uint8Array<ArrayBuffer>): void => void crypto.getRandomValues(bytes)
  const made = { tokens: deps.tokens, newId: createIdSource(deps.now, fillRandom), fillRandom, hash: sha256Hex }
  app.get('/admin/tokens', async (context) => context.json({ tokens: await deps.tokens.list() }))
  app.post('/admin/tokens', async (context) => {
    const { token, line: shown } = await createToken(made, await readTokenRequest(deps, context))
    const about = { objectId: shown.id, detail: { scopes: [...shown.scopes] } }
    await recordAct(deps, context, { action: 'token.create', outcome: 'done', ...about })
    return context.json({ token: token.reveal(), ...shown })
  })
  app.post('/admin/tokens/:id/revoke', async (context) => {
    const { kind } = await deps.tokens.revoke(tokenIdParam(context))
    const outcome = kind === 'revoked' ? { outcome: 'done' } : { outcome: 'refused', code: kind }
    await recordAct(deps, context, { action: 'token.revoke', ...outcome, objectId: tokenIdParam(context) })
    if (kind === 'revoked') return context.json({ ok: true })
    throw kind === 'ambiguous'
      ? new GatewayError('conflict', 'two tokens begin like this; give the whole id, as GET /admin/tokens shows it')
      : new GatewayError('not_found', 'no such token that is not revoked already; list them with GET /admin/tokens')
  })
}

async function readTokenRequest(deps: Pick<AppDeps, 'agents' | 'gateway'>, context: Context): Promise<TokenRequest> {
  const { scopes: asked, workspace, ...wish } = await readJsonRequest(context, tokenBody)
  const scopes = [...new Set<TokenScope>(asked ?? [wish.principal === null ? 'admin' : 'own'])]
  const own = { workspace_type: 'tenant', workspace_id: deps.gateway.waits.tenant }
  const problem =
    scopeProblem(scopes, wish.principal) ?? agentProblem(deps, wish.agent) ?? workspaceProblem(own, workspace)
  if (problem !== undefined) throw new GatewayError('bad_request', problem)
  return { ...wish, scopes, workspace: own, createdBy: actorName(context) }
}

function scopeProblem(scopes: readonly TokenScope[], principal: string | null): string | undefined {
  if (principal === null)
    return scopes.includes('own') ? 'the scope own needs the principal whose things it shows' : undefined
  return scopes.includes('read')
    ? 'the scope read is for operators; with a principal use own, which shows what is theirs'
    : undefined
}

function agentProblem({ agents }: Pick<AppDeps, 'agents'>, agent: string | null): string | undefined {
  if (agent === null || agents.some(({ slug }) => slug === agent)) return undefined
  return `agent must be one that is configured: ${agents.map(({ slug }) => slug).join(', ')}`
}

/** Everything here belongs to the tenant's own workspace: a token of another one would show its holder nothing. */
function workspaceProblem(own: WorkspaceScope, asked: WorkspaceScope | null): string | undefined {
  if (asked === null || workspaceKey(readWorkspaceScope(asked)) === workspaceKey(own)) return undefined
  return `nothing here belongs to that workspace; leave workspace out, or give the only one there is: ${workspaceKey(own)}`
}

/** An id, a prefix as the list shows it, or its digits. */
function tokenIdParam(context: Context): string {
  const given = context.req.param('id') ?? ''
  const meant = /^(?:parley_)?([0-9a-f]{8})$|^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(given)
  const id = meant?.[1] ?? meant?.[2]
  if (id === undefined)
    throw new GatewayError('bad_request', 'give the id or the prefix of a token, not the token itself')
  return id
}

// The gateway's own keys: listed, rotated, and everything sealed anew.

export function addSecretRoutes(app: Hono, deps: Pick<AppDeps, 'secrets' | 'audit'>): void {
  const { secrets } = deps
  // Where there is no folder to keep them in, the one key is a secret of the platform.
  if (secrets === undefined) return
  app.get('/admin/secrets', async (context) => context.json({ secrets: await secrets.list() }))
  app.post('/admin/secrets/rotate', async (context) => {
    const body: unknown = await context.req.json().catch(() => undefined)
    const name = typeof body === 'object' && body !== null && 'name' in body ? body.name : undefined
    if (typeof name !== 'string' || name.length > 300)
      throw new GatewayError('bad_request', 'send {"name": "…"}, as GET /admin/secrets lists it')
    const rotated = await secrets.rotate(name, actorName(context))
    await recordAct(deps, context, { action: 'secret.rotate', outcome: 'done', objectId: name })
    return context.json(rotated)
  })
  app.post('/admin/secrets/reseal', async (context) => context.json(await secrets.reseal()))
}
