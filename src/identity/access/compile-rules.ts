// Rules compiled once into tables, so that a decision costs the same with ten rules and with ten thousand.
import type { IdentityEvidence } from '../../contract/index.ts'
import { rankAssurance } from '../evidence/assurance.ts'
import type { EvidenceRule } from './rules.ts'

/** What the rules say about one piece of evidence. */
export type RuleMatch = { readonly denied?: string; readonly allowed?: string }
export type CompiledRules = { match(evidence: IdentityEvidence): RuleMatch }

/** The widest rules of one condition: of many allowances the one that asks for least decides. */
type RuleEffects = { denied?: string; allowed?: { readonly id: string; readonly strength: number } }
/** By issuer and method; a rule that leaves one out stands under its own key. */
type RuleBucket = Map<string, RuleEffects>

export function compileRules(rules: readonly EvidenceRule[]): CompiledRules {
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
    addRule(bucket, rule, rule.id ?? `rule ${index + 1}`)
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

function addRule(bucket: RuleBucket, rule: EvidenceRule, id: string): void {
  const key = issuerMethodKey(rule.issuer, rule.method)
  const verdicts = bucket.get(key) ?? {}
  bucket.set(key, verdicts)
  if (rule.effect === 'deny') {
    verdicts.denied ??= id
    return
  }
  const strength = rule.min_assurance === undefined ? 0 : rankAssurance(rule.min_assurance)
  if (verdicts.allowed === undefined || strength < verdicts.allowed.strength) verdicts.allowed = { id, strength }
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
    const verdicts = bucket.get(key)
    if (verdicts?.denied !== undefined) found.denied ??= verdicts.denied
    if (verdicts?.allowed !== undefined && strength >= verdicts.allowed.strength) found.allowed ??= verdicts.allowed
  }
}

/** Texts of evidence and rules hold no line break, so no pair can imitate another. */
function issuerMethodKey(issuer: string | undefined, method: string | undefined): string {
  return `${issuer ?? ''}\n${method ?? ''}`
}
