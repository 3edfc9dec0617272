// Tools that need a capability: no principal, no capability, no answer from the policy all mean no.
import type { Fields } from '../../lib/json-value.ts'
import { actingPrincipal, principalForDisplay } from '../policy/principal.ts'
import { redactParameters } from './redact.ts'
import type { PreparedCall, ToolDeclaration, ToolResult } from './tool.ts'
import { failedResult } from './tool-result.ts'

/** Whether a principal may use a capability. */
export interface CapabilityPolicy {
  can(principal: Fields, capability: string): Promise<boolean> | boolean
}

/** `agents_api_tool_capability_denied`, safe to log: parameters are redacted, the principal is reduced. */
export type CapabilityDenial = { readonly event: Fields; readonly result: ToolResult }

export async function findCapabilityDenial(
  policy: CapabilityPolicy | undefined,
  { call, declaration }: { readonly call: PreparedCall; readonly declaration: ToolDeclaration },
  context: Fields,
): Promise<CapabilityDenial | undefined> {
  const capability = declaration.required_capability
  if (capability === undefined) return undefined
  const principal = actingPrincipal(context)
  if (principal !== undefined && (await isPermitted(policy, principal, capability))) return undefined
  const reason = principal === undefined ? 'principal_unavailable' : 'capability_not_permitted'
  const safe = principal === undefined ? null : principalForDisplay(principal)
  const operation = 'tool_execution'
  const event = {
    schema_version: 1,
    operation,
    tool_name: declaration.name,
    required_capability: capability,
    reason,
    principal: safe,
    parameters: redactParameters(call.parameters, declaration),
    parameters_redacted: true,
  }
  const denial = { allowed: false, operation, reason, principal: safe }
  const error = `${declaration.name} is not permitted for this person. Do not call it again.`
  return { event, result: failedResult(declaration, 'capability_denied', error, { denial }) }
}

async function isPermitted(
  policy: CapabilityPolicy | undefined,
  principal: Fields,
  capability: string,
): Promise<boolean> {
  try {
    return (await policy?.can(principal, capability)) === true
  } catch {
    return false
  }
}
