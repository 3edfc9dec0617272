// Access rules: one decision from evidence and the rules of a configuration, compiled once; and a policy made of rules alone.
import * as z from 'zod'
import { accessEntriesSchema } from '../contract/access.ts'
import type { IdentityEvidence } from '../contract/evidence.ts'
import type { PolicySender } from '../contract/sender.ts'
import { GatewayError } from '../lib/errors.ts'
import { delegatedSubjects, filterAcceptedEvidence, rankAssurance } from './evidence.ts'

const accessPolicySchema = z.strictObject({
  /** Always explicit: an empty list of rules never means public. */
  visibility: z.enum(['public', 'restricted']),
  rules: accessEntriesSchema.default([]),
})

export type EvidenceRules = z.infer<typeof accessPolicySchema>
export type EvidenceRule = EvidenceRules['rules'][number]

/** Throws `config_invalid` with every problem. */
export function readEvidenceRules(input: unknown): EvidenceRules {
  const parsed = accessPolicySchema.safeParse(input)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map((issue) => `access.${issue.path.join('.')} ${issue.message}`)
  throw new GatewayError('config_invalid', `[identity] ${problems.join('; ')}`)
}

// A denial wins, silence is a no, and the rule that decided is named.

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
      let found: EvidenceDecision | undefined
      for (const evidence of accepted) {
        const { denied, allowed } = matchCallerAndDelegator(compiled, evidence, isPublic)
        // Any of them: a sender denied under one subject is not admitted under another.
        if (denied !== undefined) return { allowed: false, code: 'denied_by_rule', rule: denied }
        if (allowed !== undefined) found ??= { allowed: true, rule: allowed, evidence }
      }
      return found ?? { allowed: false, code: 'no_rule' }
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

// Rules compiled once into tables, so that a decision costs the same with ten rules and with ten thousand.

/** What the rules say about one piece of evidence. */
export type RuleMatch = { readonly denied?: string; readonly allowed?: string }
type CompiledRules = { match(evidence: IdentityEvidence): RuleMatch }

/** The widest rules of one condition: of many allowances the one that asks for least decides. */
type RuleEffects = { denied?: string; allowed?: { readonly id: string; readonly strength: number } }
/** By issuer and method; a rule that leaves one out stands under its own key. */
type RuleBucket = Map<string, RuleEffects>

function compileRules(rules: readonly EvidenceRule[]): CompiledRules {
  const bySubject = new Map<string, RuleBucket>()
  const byPrefix = new Map<string, RuleBucket>()
  const anywhere: RuleBucket = new Map()
  for (const [index, rule] of rules.entries()) {
    const bucket =
      rule.subject !== undefined
        ? getOrAddBucket(bySubject, rule.subject)
        : rule.subject_prefix !== undefined
          ? getOrAddBucket(byPrefix, rule.subject_prefix)
          : anywhere
    addRuleToBucket(bucket, rule, rule.id ?? `rule ${index + 1}`)
  }
  // Only lengths that occur are looked up: a subject of five hundred delimiters costs no more than a short one.
  const lengths = [...new Set([...byPrefix.keys()].map((prefix) => prefix.length))]
  return {
    match(evidence) {
      const found: RuleEffects = {}
      const { subject } = evidence
      collectRuleEffects(found, bySubject.get(subject), evidence)
      for (const length of lengths) {
        if (length <= subject.length) collectRuleEffects(found, byPrefix.get(subject.slice(0, length)), evidence)
      }
      collectRuleEffects(found, anywhere, evidence)
      return {
        ...(found.denied === undefined ? {} : { denied: found.denied }),
        ...(found.allowed === undefined ? {} : { allowed: found.allowed.id }),
      }
    },
  }
}

function getOrAddBucket(table: Map<string, RuleBucket>, key: string): RuleBucket {
  const known = table.get(key) ?? new Map<string, RuleEffects>()
  table.set(key, known)
  return known
}

function addRuleToBucket(bucket: RuleBucket, rule: EvidenceRule, id: string): void {
  const key = issuerMethodKey(rule.issuer, rule.method)
  const outcomes = bucket.get(key) ?? {}
  bucket.set(key, outcomes)
  if (rule.effect === 'deny') {
    outcomes.denied ??= id
    return
  }
  const strength = rule.min_assurance === undefined ? 0 : rankAssurance(rule.min_assurance)
  if (outcomes.allowed === undefined || strength < outcomes.allowed.strength) outcomes.allowed = { id, strength }
}

function collectRuleEffects(
  found: RuleEffects,
  bucket: RuleBucket | undefined,
  { issuer, method, assurance }: IdentityEvidence,
): void {
  if (bucket === undefined || bucket.size === 0) return
  const strength = rankAssurance(assurance)
  const keys = [
    issuerMethodKey(undefined, undefined),
    issuerMethodKey(issuer, undefined),
    issuerMethodKey(undefined, method),
    issuerMethodKey(issuer, method),
  ]
  for (const key of keys) {
    const outcomes = bucket.get(key)
    if (outcomes?.denied !== undefined) found.denied ??= outcomes.denied
    if (outcomes?.allowed !== undefined && strength >= outcomes.allowed.strength) found.allowed ??= outcomes.allowed
  }
}

/** Texts of evidence and rules hold no line break, so no pair can imitate another. */
function issuerMethodKey(issuer: string | undefined, method: string | undefined): string {
  return `${issuer ?? ''}\n${method ?? ''}`
}
