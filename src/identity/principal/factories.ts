// One factory per kind of principal. Each says whose authority it is and whose sessions it may open.
import { createPrincipal, type ExecutionPrincipal, type PrincipalFacts } from './principal.ts'

/** What every kind may carry besides. */
export type PrincipalExtras = Pick<
  PrincipalFacts,
  | 'request_context'
  | 'workspace_id'
  | 'client_id'
  | 'request_metadata'
  | 'binding'
  | 'capability_ceiling'
  | 'caller_context'
>

/** A person with an account of this installation, in a session. */
export function userPrincipal(user: number, agent: string, extras: PrincipalExtras = {}): ExecutionPrincipal {
  const owner = { owner_type: 'user', owner_key: String(user) }
  return createPrincipal({
    ...extras,
    ...(user > 0 ? owner : {}),
    acting_user_id: user,
    effective_agent_id: agent,
    auth_source: 'user',
  })
}

/** The same person by a password made for one application. */
export function applicationPrincipal(user: number, agent: string, extras: PrincipalExtras = {}): ExecutionPrincipal {
  return createPrincipal({ ...userPrincipal(user, agent, extras), auth_source: 'application_password' })
}

/** A token acts for its owner, and its sessions are its own. */
export function tokenPrincipal(
  token: { readonly id: number | string; readonly ownerUser: number },
  agent: string,
  extras: PrincipalExtras = {},
): ExecutionPrincipal {
  return createPrincipal({
    ...extras,
    acting_user_id: token.ownerUser,
    effective_agent_id: agent,
    auth_source: 'agent_token',
    token_id: token.id,
    owner_type: 'token',
    owner_key: String(token.id),
  })
}

/** People from outside. Without an owner key they share nothing and own nothing. */
export function audiencePrincipal(
  audience: { readonly id: string; readonly ownerKey?: string; readonly claims?: Readonly<Record<string, unknown>> },
  agent: string,
  extras: PrincipalExtras = {},
): ExecutionPrincipal {
  return createPrincipal({
    ...extras,
    effective_agent_id: agent,
    auth_source: 'audience',
    audience_id: audience.id,
    ...(audience.ownerKey === undefined ? {} : { owner_type: 'audience', owner_key: audience.ownerKey }),
    ...(audience.claims === undefined ? {} : { audience_claims: { ...audience.claims } }),
  })
}

/** Another runtime that acts through us, with no person in front of it. */
export function runtimePrincipal(
  runtime: { readonly id: string; readonly ownerKey?: string },
  agent: string,
  extras: PrincipalExtras = {},
): ExecutionPrincipal {
  return createPrincipal({
    ...extras,
    effective_agent_id: agent,
    auth_source: 'runtime',
    request_context: 'runtime',
    audience_id: runtime.id,
    owner_type: 'runtime',
    owner_key: runtime.ownerKey ?? runtime.id,
  })
}

/** The gateway itself: timers, sweeps, reminders. */
export function systemPrincipal(agent: string, extras: PrincipalExtras = {}): ExecutionPrincipal {
  return createPrincipal({
    request_context: 'cron',
    ...extras,
    effective_agent_id: agent,
    auth_source: 'system',
    owner_type: 'system',
    owner_key: agent,
  })
}
