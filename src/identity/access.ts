// Hop 6: evidence -> principal -> access decision. A port; this default trusts evidence and reads nothing else.
import type { AccessRule, IdentityEvidence, PolicySender } from '../contract/index.ts'
import { acceptedEvidence } from './evidence/accepted-evidence.ts'

/** Who policy says the sender is: the subject of the evidence it rests on. */
export type Principal = { readonly id: string; readonly evidence: readonly IdentityEvidence[] }

export type AccessDecision =
  | { readonly kind: 'admitted'; readonly principal: Principal }
  | { readonly kind: 'refused'; readonly reason: RefusalReason }

export type RefusalReason = 'no_evidence' | 'not_on_allow_list' | 'not_paired' | 'connection_closed' | 'agent_closed'

/** The port: one decision per message, made from its evidence and the connection's rule. */
export interface AccessPolicy {
  decide(sender: PolicySender, rule: AccessRule): Promise<AccessDecision>
}

export function createEvidencePolicy(): AccessPolicy {
  return {
    async decide(sender, rule) {
      const principal = resolvePrincipal(sender)
      if (rule.mode === 'closed') return { kind: 'refused', reason: 'connection_closed' }
      if (principal === undefined) return { kind: 'refused', reason: 'no_evidence' }
      if (rule.mode === 'public' || isAllowed(principal, rule.allow)) return { kind: 'admitted', principal }
      return { kind: 'refused', reason: rule.mode === 'pairing' ? 'not_paired' : 'not_on_allow_list' }
    },
  }
}

/** The first accepted evidence names the principal; profile and display name are not even in sight. */
function resolvePrincipal(sender: PolicySender): Principal | undefined {
  const evidence = acceptedEvidence(sender)
  const first = evidence[0]
  return first === undefined ? undefined : { id: first.subject, evidence }
}

function isAllowed(principal: Principal, allow: readonly string[]): boolean {
  return principal.evidence.some((evidence) => allow.includes(evidence.subject))
}

/** Both rules must admit: an agent's own can only narrow its connection's. */
export async function decideBoth(
  policy: AccessPolicy,
  sender: PolicySender,
  rule: AccessRule,
  own: AccessRule | undefined,
): Promise<AccessDecision> {
  const decision = await policy.decide(sender, rule)
  if (decision.kind === 'refused' || own === undefined) return decision
  const narrowed = await policy.decide(sender, own)
  const isShut = narrowed.kind === 'refused' && narrowed.reason === 'connection_closed'
  return isShut ? { kind: 'refused', reason: 'agent_closed' } : narrowed
}
