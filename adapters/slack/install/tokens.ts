// The token of an installation, refreshed in time. Slack's refresh tokens are good once, so one refresh runs at a time and
// looks again before it spends anything.
import * as z from 'zod'
import {
  type ChannelDeps,
  type Installation,
  type Installations,
  type Secret,
  secret,
} from '../../../src/contract/index.ts'
import { grantCredentials, grantSchema, type OauthSettings } from './exchange.ts'
import { callOauthMethod } from './web-call.ts'

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
  const refreshOnce = (account: string, isExpired: boolean): Promise<TokenAnswer> => {
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
      return read.kind === 'due' ? refreshOnce(account, false) : read
    },
    async tokenFailed(account, token, error) {
      const isExpired = error === 'token_expired'
      const read = isExpired ? await refreshOnce(account, true) : await readInstallationToken(deps, account)
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
  const credentials = grantCredentials(grant.data, deps.now())
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
