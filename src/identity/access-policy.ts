// The access policy: evidence to access decision. A host may replace it; this default reads evidence, the rules of configuration
// and stored grants, and nothing else. What it needs was read together with the message, so a revoked grant is gone at the very
// next decision.

import * as z from 'zod'
import { accessEntriesSchema, type StoredAccess, type StoredGrant } from '../contract/access.ts'
import type { IdentityEvidence } from '../contract/evidence.ts'
import type { AccessRule } from '../contract/index.ts'
import type { PolicySender } from '../contract/sender.ts'
import { GatewayError } from '../lib/errors.ts'
import {
  checkEvidence,
  type EvidenceCode,
  filterAcceptedEvidence,
  listOnBehalfOfSubjects,
  rankAssurance,
} from './evidence.ts'

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
    if (grant !== undefined && listOnBehalfOfSubjects(evidence).every(isSubjectGranted))
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
  const own = new Set(valid.filter((each) => listOnBehalfOfSubjects(each).length === 0).map(({ subject }) => subject))
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

// Access rules: one decision from evidence and the rules of a configuration, compiled once; and a policy made of rules alone.

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
  const [principal] = listOnBehalfOfSubjects(evidence)
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
