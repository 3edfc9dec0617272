// The access policy: evidence to access decision. A host may replace it; this default reads evidence, the rules of configuration
// and stored grants, and nothing else. What it needs was read together with the message, so a revoked grant is gone at the very
// next decision.

import type { StoredAccess, StoredGrant } from '../contract/access.ts'
import type { IdentityEvidence } from '../contract/evidence.ts'
import type { AccessRule } from '../contract/index.ts'
import type { PolicySender } from '../contract/sender.ts'
import { createEvidenceAccess, type EvidenceAccess, type EvidenceDecision } from './access-rules.ts'
import { checkEvidence, delegatedSubjects, type EvidenceCode, filterAcceptedEvidence } from './evidence.ts'

/** Where and about what a decision is made; nothing of it is the sender's to choose. */
export type AccessContext = {
  /** As rows call it. */
  readonly connection: string
  readonly agent: string
  readonly rule: AccessRule
  /** The agent's own rule; it can only narrow. */
  readonly own: AccessRule | undefined
  /** The address the message is for, and when it came: evidence is judged for that agent and that moment. */
  readonly recipient: string
  readonly receivedAt: string
  readonly stored: StoredAccess
}

/** `rule`: what decided, for the audit log and for operators. */
export type AccessDecision =
  | { readonly kind: 'admitted'; readonly rule: string; readonly evidence: IdentityEvidence }
  /** Unknown sender: `with` says whom a pairing would be with. */
  | {
      readonly kind: 'unpaired'
      readonly with: 'connection' | 'agent'
      readonly rule: string
      readonly evidence: IdentityEvidence
    }
  | {
      readonly kind: 'refused'
      readonly reason: RefusalReason
      readonly rule: string
      readonly evidence?: IdentityEvidence | undefined
    }

export type RefusalReason =
  | 'no_evidence'
  | EvidenceCode
  | 'not_on_allow_list'
  | 'denied_by_rule'
  | 'blocked'
  | 'connection_closed'
  | 'agent_closed'

export interface AccessPolicy {
  decide(sender: PolicySender, context: AccessContext): Promise<AccessDecision> | AccessDecision
}

export function createAccessPolicy(): AccessPolicy {
  const compiled = new WeakMap<AccessRule, EvidenceAccess>()
  const getCompiledAccess = (rule: AccessRule): EvidenceAccess => {
    const known = compiled.get(rule) ?? compileAccess(rule)
    compiled.set(rule, known)
    return known
  }
  return {
    decide(sender, context) {
      const { rule, own } = context
      const { valid, code } = collectValidEvidence(sender, context)
      const [first] = valid
      if (rule.mode === 'closed')
        return { kind: 'refused', reason: 'connection_closed', rule: 'closed', evidence: first }
      if (first === undefined) return { kind: 'refused', reason: code ?? 'no_evidence', rule: rule.mode }
      const grants = listApplicableGrants(context)
      const block = grants.find((grant) => grant.effect === 'deny')
      if (block !== undefined)
        return { kind: 'refused', reason: 'blocked', rule: formatGrantRule(block), evidence: first }
      const proven = { verified: sender.verified, identities: valid }
      const byConnection = decideByRuleAndGrant(getCompiledAccess(rule).decide(proven), {
        valid,
        grants,
        rule,
        with: 'connection',
      })
      if (byConnection.kind !== 'admitted' || own === undefined) return byConnection
      if (own.mode === 'closed') return { kind: 'refused', reason: 'agent_closed', rule: 'closed', evidence: first }
      const byAgent = decideByRuleAndGrant(getCompiledAccess(own).decide(proven), {
        valid,
        grants,
        rule: own,
        with: 'agent',
      })
      return byAgent.kind === 'admitted' ? byConnection : byAgent
    },
  }
}

type RuleDecisionContext = {
  readonly valid: readonly IdentityEvidence[]
  readonly grants: readonly StoredGrant[]
  readonly rule: AccessRule
  readonly with: 'connection' | 'agent'
}

/** What the rules leave open, a stored grant may settle; what they deny stays denied. */
function decideByRuleAndGrant(decision: EvidenceDecision, settling: RuleDecisionContext): AccessDecision {
  const [first] = settling.valid
  if (decision.allowed) return { kind: 'admitted', rule: decision.rule, evidence: decision.evidence }
  if (first === undefined || decision.code === 'no_evidence')
    return { kind: 'refused', reason: 'no_evidence', rule: settling.rule.mode }
  if (decision.code === 'denied_by_rule')
    return { kind: 'refused', reason: 'denied_by_rule', rule: decision.rule, evidence: first }
  const granted = admitByGrant(settling)
  if (granted !== undefined) return granted
  const { mode } = settling.rule
  return mode === 'pairing'
    ? { kind: 'unpaired', with: settling.with, rule: mode, evidence: first }
    : { kind: 'refused', reason: 'not_on_allow_list', rule: mode, evidence: first }
}

/** A viewer may look at an agent; speaking takes more, or a grant without any role. */
function admitByGrant({ valid, grants }: RuleDecisionContext): AccessDecision | undefined {
  const speaking = grants.filter((grant) => grant.effect === 'allow' && grant.role !== 'viewer')
  const isSubjectGranted = (subject: string): boolean => speaking.some((grant) => grant.subject === subject)
  for (const evidence of valid) {
    // A grant covers one subject: a caller that acts for another person needs a rule that covers both.
    const grant = speaking.find(({ subject }) => subject === evidence.subject)
    if (grant !== undefined && delegatedSubjects(evidence).every(isSubjectGranted))
      return { kind: 'admitted', rule: formatGrantRule(grant), evidence }
  }
  return undefined
}

type GrantContext = Pick<AccessContext, 'stored' | 'connection' | 'agent'>

/** Grants for a person's main subject count under every subject that was linked to it. */
function listApplicableGrants({ stored, connection, agent }: GrantContext): readonly StoredGrant[] {
  const here = stored.grants.filter(
    (grant) =>
      (grant.connection === null || grant.connection === connection) && (grant.agent === null || grant.agent === agent),
  )
  const linked = stored.links.flatMap(({ subject, principal }) =>
    here.filter((grant) => grant.subject === principal).map((grant) => ({ ...grant, subject })),
  )
  return [...here, ...linked]
}

/**
 * Grants that give a sender a role here. Only by evidence that is valid: what is carried and not trusted identifies
 * no sender. A caller that acts for another person brings no role of its own along.
 */
export function listRoleGrants(sender: PolicySender, context: AccessContext): readonly StoredGrant[] {
  const { valid } = collectValidEvidence(sender, context)
  const own = new Set(valid.filter((each) => delegatedSubjects(each).length === 0).map(({ subject }) => subject))
  return listApplicableGrants(context).filter(
    ({ effect, role, subject }) => effect === 'allow' && role !== null && own.has(subject),
  )
}

/** The strongest thing a stored grant makes of this person here; null: nothing. */
export function strongestRole(sender: PolicySender, context: AccessContext): StoredGrant['role'] {
  if (context.stored.grants.length === 0) return null
  const roles = listRoleGrants(sender, context).map((grant) => grant.role)
  return (['admin', 'operator', 'viewer'] as const).find((role) => roles.includes(role)) ?? null
}

/** Evidence that holds for this agent and the moment the message came; the code of the first that does not. */
function collectValidEvidence(
  sender: PolicySender,
  { recipient, receivedAt }: AccessContext,
): { readonly valid: readonly IdentityEvidence[]; readonly code: EvidenceCode | undefined } {
  const context = { audience: recipient, now: Date.parse(receivedAt), origin: 'in-process' } as const
  const valid: IdentityEvidence[] = []
  let code: EvidenceCode | undefined
  for (const evidence of filterAcceptedEvidence(sender)) {
    const checked = checkEvidence(evidence, context)
    if (checked.ok) valid.push(checked.evidence)
    else code ??= checked.code
  }
  return { valid, code }
}

function compileAccess({ mode, allow = [], rules = [] }: AccessRule): EvidenceAccess {
  const listed = allow.map((subject) => ({ effect: 'allow', subject, id: 'allow_list' }) as const)
  return createEvidenceAccess({ visibility: mode === 'public' ? 'public' : 'restricted', rules: [...rules, ...listed] })
}

function formatGrantRule({ id }: StoredGrant): string {
  return `grant ${id}`
}
