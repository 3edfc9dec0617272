// Tokens of installations: exchanged for a code, and refreshed in time. Slack's refresh tokens are good once, so one refresh runs
// at a time and looks again before it spends anything.
import * as z from 'zod'
import type { ChannelDeps } from '../../../src/contract/index.ts'
import { type JsonObject, type Secret, secret } from '../../../src/lib/index.ts'

export type TokenAnswer =
  | { readonly kind: 'token'; readonly token: Secret; readonly facts: Installation['facts'] }
  /** Nothing may be said there any more. */
  | { readonly kind: 'gone'; readonly reason: 'not_installed' | 'installation_removed' | 'installation_broken' }
  | { readonly kind: 'retry'; readonly reason: string }

export type InstallationTokens = {
  readonly tokenOf: (account: string) => Promise<TokenAnswer>
  /** Slack did not take a token: one that is newer, or was just refreshed, in its place; else the installation is over. */
  readonly tokenFailed: (account: string, token: Secret, error: string) => Promise<Secret | undefined>
}

export type Installations = NonNullable<ChannelDeps['installations']>
type Installation = Parameters<Installations['save']>[0]

type TokenDeps = Pick<ChannelDeps, 'fetch' | 'now'> & { readonly installations: Installations }

/** Slack's tokens live twelve hours; the last two of them are time enough to try again. */
const refreshBeforeMs = 2 * 60 * 60_000
/** So long after its end no other process is still refreshing it. */
const patienceMs = 10 * 60_000

const credentialsSchema = z.object({
  bot_token: z.string().min(1),
  refresh_token: z.string().optional(),
  expires_at: z.string().optional(),
})
type Credentials = z.output<typeof credentialsSchema>

export function createInstallationTokens(settings: OauthSettings, deps: TokenDeps): InstallationTokens {
  const underWay = new Map<string, Promise<TokenAnswer>>()
  const shareRunningRefresh = (account: string, isExpired: boolean): Promise<TokenAnswer> => {
    const running = underWay.get(account)
    if (running !== undefined) return running
    const refreshing = refreshInstallationToken(settings, deps, account, isExpired).finally(() =>
      underWay.delete(account),
    )
    underWay.set(account, refreshing)
    return refreshing
  }
  return {
    async tokenOf(account) {
      const read = await readInstallationToken(deps, account)
      return read.kind === 'due' ? shareRunningRefresh(account, false) : read
    },
    async tokenFailed(account, token, error) {
      const isExpired = error === 'token_expired'
      const read = isExpired ? await shareRunningRefresh(account, true) : await readInstallationToken(deps, account)
      const now = read.kind === 'due' ? read.kept : read
      if (now.kind === 'token' && now.token.reveal() !== token.reveal()) return now.token
      // Only the workspace can mend it. What Slack does not answer to may still be good.
      if (now.kind === 'token' && !isExpired) await deps.installations.end(account, 'broken', error)
      return undefined
    },
  }
}

type Due = {
  readonly kind: 'due'
  readonly found: Installation
  readonly refreshToken: string
  readonly kept: TokenAnswer
  readonly leftMs: number
}

async function readInstallationToken(
  { installations, now }: TokenDeps,
  account: string,
  isExpired = false,
): Promise<Exclude<TokenAnswer, { kind: 'retry' }> | Due> {
  const found = await installations.find(account)
  if (found === undefined) return { kind: 'gone', reason: 'not_installed' }
  if (found.status !== 'active') return { kind: 'gone', reason: `installation_${found.status}` }
  const credentials = credentialsSchema.safeParse(found.credentials)
  if (!credentials.success) return { kind: 'gone', reason: 'installation_broken' }
  const { bot_token, refresh_token, expires_at } = credentials.data
  const token: TokenAnswer = { kind: 'token', token: secret(bot_token), facts: found.facts }
  const leftMs = isExpired
    ? Math.min(0, tokenTimeLeftMs(credentials.data, now()))
    : tokenTimeLeftMs(credentials.data, now())
  if (expires_at === undefined || refresh_token === undefined || leftMs > refreshBeforeMs) return token
  // What is still good serves when the refresh fails.
  const kept: TokenAnswer = leftMs > 0 ? token : { kind: 'retry', reason: 'token_not_refreshed' }
  return { kind: 'due', found, refreshToken: refresh_token, kept, leftMs }
}

function tokenTimeLeftMs({ expires_at }: Credentials, now: number): number {
  return expires_at === undefined ? Number.POSITIVE_INFINITY : Date.parse(expires_at) - now
}

async function refreshInstallationToken(
  settings: OauthSettings,
  deps: TokenDeps,
  account: string,
  isExpired: boolean,
): Promise<TokenAnswer> {
  // The refresh before this one may have done it while we waited.
  const read = await readInstallationToken(deps, account, isExpired)
  if (read.kind !== 'due') return read
  const { found, refreshToken, kept } = read
  const { apiUrl, clientId, clientSecret } = settings
  const fields = {
    client_id: clientId,
    client_secret: clientSecret.reveal(),
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
  }
  const answer = await callOauthMethod(deps, { apiUrl, method: 'oauth.v2.access', fields })
  if (answer.kind === 'failed') return kept
  if (answer.kind === 'refused') return handleRefusedRefresh(deps, account, read)
  const grant = grantSchema.safeParse(answer.body)
  if (!grant.success) return kept
  const credentials = credentialsFromGrant(grant.data, deps.now())
  // Removed while we asked: saving would bring it back. Broken is only what another process made of our success.
  const now = await deps.installations.find(account)
  if (now === undefined || now.status === 'removed') return { kind: 'gone', reason: 'installation_removed' }
  await deps.installations.save({ ...found, credentials })
  return { kind: 'token', token: secret(grant.data.access_token), facts: found.facts }
}

/** Another process may have spent it first; then its result is there, or will be. Otherwise only a new install helps. */
async function handleRefusedRefresh(deps: TokenDeps, account: string, before: Due): Promise<TokenAnswer> {
  const read = await readInstallationToken(deps, account)
  if (read.kind !== 'due') return read
  if (read.refreshToken !== before.refreshToken || before.leftMs > -patienceMs) return read.kept
  await deps.installations.end(account, 'broken', 'refresh_refused')
  return { kind: 'gone', reason: 'installation_broken' }
}

// The code that Slack gave the browser becomes an installation: its token, and who we are in that workspace.

export type OauthSettings = {
  readonly clientId: string
  readonly clientSecret: Secret
  /** As registered with the app: sent when asking and again when exchanging. */
  readonly redirectUrl: string
  readonly apiUrl: string
}

export type Exchanged =
  | { readonly kind: 'installed'; readonly installation: Installation; readonly name: string }
  /** Slack says no: a code that was used before, another client secret. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'failed' }

const ownerSchema = z.object({ id: z.string().min(1), name: z.string().catch('') }).nullish()

const grantSchema = z.object({
  access_token: z.string().min(1),
  refresh_token: z.string().min(1).optional(),
  expires_in: z.number().positive().optional(),
})

const accessSchema = grantSchema.extend({
  app_id: z.string(),
  scope: z.string().catch(''),
  bot_user_id: z.string().min(1),
  team: ownerSchema,
  enterprise: ownerSchema,
  is_enterprise_install: z.boolean().catch(false),
  authed_user: z.object({ id: z.string() }).nullish().catch(undefined),
})
const identitySchema = z.object({ bot_id: z.string().min(1), user_id: z.string().min(1) })

type Access = z.output<typeof accessSchema>

export async function exchangeCode(
  settings: OauthSettings,
  deps: Pick<ChannelDeps, 'fetch' | 'now'>,
  code: string,
): Promise<Exchanged> {
  const { apiUrl, clientId, clientSecret, redirectUrl } = settings
  const fields = { client_id: clientId, client_secret: clientSecret.reveal(), code, redirect_uri: redirectUrl }
  const answer = await callOauthMethod(deps, { apiUrl, method: 'oauth.v2.access', fields })
  if (answer.kind !== 'ok') return { kind: answer.kind }
  const access = accessSchema.safeParse(answer.body)
  if (!access.success) return { kind: 'failed' }
  const who = await callOauthMethod(deps, { apiUrl, method: 'auth.test', fields: {}, token: access.data.access_token })
  if (who.kind !== 'ok') return { kind: who.kind }
  const identity = identitySchema.safeParse(who.body)
  const account = installedTeamOrEnterprise(access.data)
  if (!identity.success || account === undefined) return { kind: 'failed' }
  const facts = { ...installationDetails(access.data), bot_id: identity.data.bot_id }
  const credentials = credentialsFromGrant(access.data, deps.now())
  return {
    kind: 'installed',
    installation: { account: account.id, credentials, facts, status: 'active' },
    name: account.name,
  }
}

/** An install for a whole organization belongs to no single workspace of it. */
function installedTeamOrEnterprise({
  is_enterprise_install,
  enterprise,
  team,
}: Access): { id: string; name: string } | undefined {
  return (is_enterprise_install ? enterprise : team) ?? undefined
}

function installationDetails(access: Access): JsonObject {
  return {
    app_id: access.app_id,
    bot_user_id: access.bot_user_id,
    scopes: access.scope,
    team_id: access.team?.id ?? null,
    team_name: access.team?.name ?? null,
    enterprise_id: access.enterprise?.id ?? null,
    enterprise_name: access.enterprise?.name ?? null,
    is_enterprise_install: access.is_enterprise_install,
    installed_by: access.authed_user?.id ?? null,
  }
}

/** What a grant is worth, and until when; also of a refreshed one. */
function credentialsFromGrant(grant: z.output<typeof grantSchema>, now: number): JsonObject {
  const { access_token, refresh_token, expires_in } = grant
  return {
    bot_token: access_token,
    ...(refresh_token === undefined ? {} : { refresh_token }),
    ...(expires_in === undefined ? {} : { expires_at: new Date(now + expires_in * 1000).toISOString() }),
  }
}

// Calls about an installation itself are made by hand, because here tokens of different workspaces are near each other: nothing
// is shared between two calls.

export type OauthAnswer =
  | { readonly kind: 'ok'; readonly body: unknown }
  | { readonly kind: 'refused'; readonly error: string }
  /** No answer, or none that can be read: it may be asked again. */
  | { readonly kind: 'failed' }

const timeoutMs = 10_000

export type OauthCall = {
  readonly apiUrl: string
  readonly method: string
  readonly fields: Readonly<Record<string, string>>
  readonly token?: string
}

async function callOauthMethod(
  { fetch: send }: Pick<ChannelDeps, 'fetch'>,
  { apiUrl, method, fields, token }: OauthCall,
): Promise<OauthAnswer> {
  try {
    const response = await send(`${apiUrl}${method}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: new URLSearchParams(fields).toString(),
      // A credential is never carried to where a redirect points.
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    })
    if (!response.ok) return { kind: 'failed' }
    return toOauthAnswer(await response.json())
  } catch {
    return { kind: 'failed' }
  }
}

function toOauthAnswer(body: unknown): OauthAnswer {
  if (typeof body !== 'object' || body === null || !('ok' in body)) return { kind: 'failed' }
  if (body.ok === true) return { kind: 'ok', body }
  const error = 'error' in body && typeof body.error === 'string' ? body.error : 'unknown_error'
  return error === 'ratelimited' ? { kind: 'failed' } : { kind: 'refused', error }
}
