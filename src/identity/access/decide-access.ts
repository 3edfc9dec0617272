// One decision from evidence and rules: a denial wins, silence is a no, and the rule that decided is named.
import type { IdentityEvidence, PolicySender } from '../../contract/index.ts'
import { filterAcceptedEvidence } from '../evidence/accepted-evidence.ts'
import { delegatedSubjects } from '../trust/on-behalf-of.ts'
import { type CompiledRules, compileRules } from './compile-rules.ts'
import type { EvidenceRules } from './rules.ts'

export type EvidenceDecision =
  | { readonly allowed: true; readonly rule: string; readonly evidence: IdentityEvidence }
  | { readonly allowed: false; readonly code: 'no_evidence' | 'no_rule' }
  | { readonly allowed: false; readonly code: 'denied_by_rule'; readonly rule: string }

export type EvidenceAccess = { decide(sender: PolicySender): EvidenceDecision }

export function createEvidenceAccess({ visibility, rules }: EvidenceRules): EvidenceAccess {
  const compiled = compileRules(rules)
  const isPublic = visibility === 'public'
  return {
    decide(sender) {
      const accepted = filterAcceptedEvidence(sender)
      if (accepted.length === 0) return { allowed: false, code: 'no_evidence' }
      const judged = accepted.map((evidence) => ({
        evidence,
        ...matchCallerAndDelegator(compiled, evidence, isPublic),
      }))
      // Any of them: a sender denied under one subject is not admitted under another.
      const denied = judged.find((each) => each.denied !== undefined)?.denied
      if (denied !== undefined) return { allowed: false, code: 'denied_by_rule', rule: denied }
      const found = judged.find((each) => each.allowed !== undefined)
      if (found?.allowed === undefined) return { allowed: false, code: 'no_rule' }
      return { allowed: true, rule: found.allowed, evidence: found.evidence }
    },
  }
}

/** A caller who acts for another person needs a yes for both: for itself, and for the one it acts for. */
function matchCallerAndDelegator(
  rules: CompiledRules,
  evidence: IdentityEvidence,
  isPublic: boolean,
): { readonly denied?: string | undefined; readonly allowed?: string | undefined } {
  const caller = rules.match(evidence)
  const [principal] = delegatedSubjects(evidence)
  const open = isPublic ? 'public' : undefined
  if (principal === undefined) return { denied: caller.denied, allowed: caller.allowed ?? open }
  const forWhom = rules.match({ ...evidence, subject: principal, assurance: 'delegated' })
  const allowed = (forWhom.allowed ?? open) === undefined ? undefined : (caller.allowed ?? open)
  return { denied: caller.denied ?? forWhom.denied, allowed }
}
