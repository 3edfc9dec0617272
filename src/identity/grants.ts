// Grants: who may look at, use or run an agent. viewer < operator < admin.

import { type GrantRole, grantRoles } from '../db/grants.ts'
import type { ExecutionPrincipal } from './principals.ts'

export type AccessGrant = {
  readonly grant_id: string
  readonly agent_id: string
  readonly role: GrantRole
  /** Null: in every workspace. */
  readonly workspace_id: string | null
  readonly to:
    | { readonly user_id: number }
    /** Every member of an audience; `audience:public` is every caller. */
    | { readonly audience_id: string }
    /** One person from outside, by the owner key of their principal. */
    | { readonly owner_key: string }
}

const publicAudience = 'audience:public'

export type AccessQuestion = {
  readonly principal: ExecutionPrincipal
  readonly agent: string
  readonly role: GrantRole
}
export type GrantDecision =
  | { readonly allowed: true; readonly by: string }
  | { readonly allowed: false; readonly code: 'no_grant' | 'narrowed' }

/** A host's own say. It is asked after a yes and can only take it back. */
export type Narrowing = (question: AccessQuestion) => boolean

export function checkGrants(
  grants: readonly AccessGrant[],
  question: AccessQuestion,
  narrowing: Narrowing = () => true,
): GrantDecision {
  const by = findGrantReason(grants, question)
  if (by === undefined) return { allowed: false, code: 'no_grant' }
  return narrowing(question) ? { allowed: true, by } : { allowed: false, code: 'narrowed' }
}

/** The agents a principal may see: the same check, so that a list never promises what a request is refused. */
export function accessibleAgents(
  grants: readonly AccessGrant[],
  { principal, role, agents }: Pick<AccessQuestion, 'principal' | 'role'> & { readonly agents: readonly string[] },
  narrowing?: Narrowing,
): readonly string[] {
  return agents.filter((agent) => checkGrants(grants, { principal, agent, role }, narrowing).allowed)
}

function findGrantReason(
  grants: readonly AccessGrant[],
  { principal, agent, role }: AccessQuestion,
): string | undefined {
  const grant = grants.find(
    (each) => each.agent_id === agent && isRoleSufficient(each.role, role) && isGrantForPrincipal(each, principal),
  )
  if (grant !== undefined) return grant.grant_id
  // To act as an agent is to see it, and no more: operating and administering need a grant.
  return principal.effective_agent_id === agent && role === 'viewer' ? 'effective_agent' : undefined
}

function isRoleSufficient(granted: GrantRole, asked: GrantRole): boolean {
  return grantRoles.indexOf(granted) >= grantRoles.indexOf(asked)
}

function isGrantForPrincipal({ to, workspace_id }: AccessGrant, principal: ExecutionPrincipal): boolean {
  if (workspace_id !== null && workspace_id !== principal.workspace_id) return false
  if ('user_id' in to) return to.user_id > 0 && to.user_id === principal.acting_user_id
  if ('owner_key' in to) return to.owner_key === principal.owner_key
  return to.audience_id === publicAudience || to.audience_id === principal.audience_id
}
