// From the code that Slack gave the browser to an installation: its token, and who we are in that workspace.
import * as z from 'zod'
import type { ChannelDeps, Installation, JsonObject, Secret } from '../../../src/contract/index.ts'
import { callOauthMethod } from './web-call.ts'

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

export const grantSchema = z.object({
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
  const account = installOwner(access.data)
  if (!identity.success || account === undefined) return { kind: 'failed' }
  const facts = { ...installationFacts(access.data), bot_id: identity.data.bot_id }
  const credentials = grantCredentials(access.data, deps.now())
  return {
    kind: 'installed',
    installation: { account: account.id, credentials, facts, status: 'active' },
    name: account.name,
  }
}

/** An install for a whole organization belongs to no single workspace of it. */
function installOwner({ is_enterprise_install, enterprise, team }: Access): { id: string; name: string } | undefined {
  return (is_enterprise_install ? enterprise : team) ?? undefined
}

function installationFacts(access: Access): JsonObject {
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
export function grantCredentials(grant: z.output<typeof grantSchema>, now: number): JsonObject {
  const { access_token, refresh_token, expires_in } = grant
  return {
    bot_token: access_token,
    ...(refresh_token === undefined ? {} : { refresh_token }),
    ...(expires_in === undefined ? {} : { expires_at: new Date(now + expires_in * 1000).toISOString() }),
  }
}
