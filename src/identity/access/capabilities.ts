// May this principal use this capability? The ceiling decides first, then what the user behind it has.
import { autonomousSources } from '../../contract/index.ts'
import { type CapabilityCeiling, ceilingAllows } from '../principal/capability-ceiling.ts'
import type { ExecutionPrincipal } from '../principal/principal.ts'

/** Verbs an autonomous principal is not given unless its ceiling lists them. Each also covers `verb_…` and `verb:…`. */
const autonomousDenials: readonly string[] = [
  'write',
  'create',
  'edit',
  'update',
  'publish',
  'delete',
  'remove',
  'send',
  'pay',
  'approve',
  'grant',
  'install',
  'activate',
  'manage',
  'admin',
]

/** Port: whether a user of the host has a capability at all. */
export type UserHas = (user: number, capability: string) => boolean | Promise<boolean>

/** The ceiling that counts for a principal: without a list of its own an autonomous one gets the safe default. */
export function effectiveCeiling(principal: ExecutionPrincipal): CapabilityCeiling | null {
  const { capability_ceiling: ceiling, auth_source, acting_user_id } = principal
  const hasList = ceiling !== null && (ceiling.allowed_capabilities !== null || ceiling.denied_capabilities !== null)
  if (hasList || !autonomousSources.includes(auth_source)) return ceiling
  return {
    user_id: ceiling?.user_id ?? acting_user_id,
    allowed_capabilities: null,
    denied_capabilities: autonomousDenials,
    metadata: { ...ceiling?.metadata, autonomous_safe_default: true },
  }
}

/** The ceiling allows it, and the user behind it has it. Without a user behind it the answer is no. */
export async function can(principal: ExecutionPrincipal, capability: string, userHas: UserHas): Promise<boolean> {
  const ceiling = effectiveCeiling(principal)
  if (!ceilingAllows(ceiling, capability)) return false
  const user = ceiling !== null && ceiling.user_id > 0 ? ceiling.user_id : principal.acting_user_id
  return user > 0 && (await userHas(user, capability.trim()))
}
