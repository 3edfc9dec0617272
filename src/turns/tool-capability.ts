// Whether the sender may use a tool that needs a capability. The agent asks; identity answers.

import { can, ceilingAllows, createPrincipal, effectiveCeiling, type UserHas } from '../identity/principals.ts'
import type { Fields } from '../lib/json-value.ts'

export type CapabilityCheck = { readonly can: (principal: Fields, capability: string) => Promise<boolean> }

/** A principal that cannot be read may do nothing: reading it throws, and the asker takes that for a no. */
export function capabilityCheck(userHas: UserHas): CapabilityCheck {
  return {
    async can({ role, ...facts }, capability) {
      const principal = createPrincipal(facts)
      const isOperator = role === 'operator' || role === 'admin'
      // The token was made with a list of what it may do: the list is the grant.
      const isListed = principal.capability_ceiling?.allowed_capabilities?.includes(capability.trim()) === true
      if (isOperator || (principal.auth_source === 'agent_token' && isListed))
        return ceilingAllows(effectiveCeiling(principal), capability)
      return can(principal, capability, userHas)
    },
  }
}
