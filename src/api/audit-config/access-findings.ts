// Audit findings about access: open connections, rules that are wider than they look, denials that never match, tokens and token
// issuers.

import type { AccessEntry } from '../../contract/access.ts'
import type { AccessRule } from '../../contract/index.ts'
import { assuranceClasses } from '../../contract/mint-evidence.ts'
import type { TokenLine } from '../../db/tokens.ts'
import { type ConfigFacts, type ConnectionFacts, isOpenToStrangers, type TokenIssuerFacts } from './facts.ts'
import type { Finding } from './finding.ts'

export function accessFindings(facts: ConfigFacts): readonly Finding[] {
  return [...facts.connections.flatMap((each) => connectionFindings(each, facts)), ...rulesFindings(facts)]
}

function connectionFindings(connection: ConnectionFacts, facts: ConfigFacts): readonly Finding[] {
  const { key, access, mentionHumans } = connection
  const found: Finding[] = []
  if (access.mode === 'public')
    found.push({
      id: 'AC-001',
      severity: isOpenToStrangers(connection) ? 'warning' : 'info',
      where: key,
      weak: isOpenToStrangers(connection)
        ? connection.isAnonymous
          ? 'every sender may write to it, without any credential'
          : 'every user of its platform may write to it'
        : 'every user of this machine, and every caller with a token, may write to it',
      remedy: 'set access to pairing or allow_list, or keep it so on purpose',
    })
  if (access.mode === 'allow_list' && (access.allow ?? []).length === 0 && !hasAllowRule(access))
    found.push({
      id: 'AC-002',
      severity: 'warning',
      where: key,
      weak: 'its allow list is empty: only a stored grant lets a sender in',
      remedy: 'add subjects to access.allow, or say access: closed',
    })
  if (access.mode === 'pairing' && !hasActiveOperatorToken(facts))
    found.push({
      id: 'AC-003',
      severity: 'warning',
      where: key,
      weak: 'strangers are held for a pairing that no operator can approve',
      remedy: 'set PARLEY_ADMIN_TOKEN, or make a token with parley tokens create',
    })
  if (mentionHumans === 'anyone')
    found.push({
      id: 'AC-007',
      severity: 'warning',
      where: key,
      weak: 'a sender who makes the agent write a name can have that person notified',
      remedy: "set mentionHumans to 'participants'",
    })
  return found
}

function hasActiveOperatorToken({ hasFirstToken, tokens }: ConfigFacts): boolean {
  // Where the tokens could not be read, nothing is claimed.
  const made = tokens?.some(({ state, scopes }) => state === 'active' && scopes.includes('admin')) ?? true
  return hasFirstToken || made
}

function hasAllowRule({ rules = [] }: AccessRule): boolean {
  return rules.some((rule) => rule.effect === 'allow')
}

function rulesFindings({ connections, agents }: ConfigFacts): readonly Finding[] {
  const all = [
    ...connections.map(({ key, access }) => ({ where: key, access })),
    ...agents.flatMap(({ slug, access }) => (access === undefined ? [] : [{ where: `agent ${slug}`, access }])),
  ]
  return all.flatMap(({ where, access }) =>
    (access.rules ?? []).flatMap((rule, index) =>
      ruleFindings(rule, `${where}, ${rule.id ?? `rule ${index + 1}`}`, access),
    ),
  )
}

function ruleFindings(rule: AccessEntry, where: string, access: AccessRule): readonly Finding[] {
  if (rule.effect === 'deny') return unmatchableRuleFindings(rule, where, access)
  const found: Finding[] = []
  if (rule.subject_prefix !== undefined && /^[^:/#]+[:/#]$/.test(rule.subject_prefix))
    found.push({
      id: 'AC-004',
      severity: 'critical',
      where,
      weak: `"${rule.subject_prefix}" is every user of that namespace, in every workspace`,
      remedy: 'name the workspace as well, such as space:T123/',
    })
  if (isWeakRule(rule))
    found.push({
      id: 'AC-005',
      severity: 'warning',
      where,
      weak: `it lets people in on ${rule.min_assurance === undefined ? 'any' : rule.min_assurance} evidence`,
      remedy: "set min_assurance to 'address' or stronger, or name the subject",
    })
  return found
}

/** A named subject is as strong as its evidence; a rule on many needs a minimum. */
function isWeakRule({ subject, min_assurance }: Extract<AccessEntry, { effect: 'allow' }>): boolean {
  if (min_assurance === undefined) return subject === undefined
  return assuranceClasses.indexOf(min_assurance) < assuranceClasses.indexOf('address')
}

function unmatchableRuleFindings(rule: AccessEntry, where: string, access: AccessRule): readonly Finding[] {
  const named = rule.subject ?? rule.subject_prefix
  const why =
    access.mode === 'closed'
      ? 'every sender is refused here, so it is never asked'
      : named !== undefined && !named.includes(':')
        ? `"${named}" has no namespace, and every subject has one`
        : undefined
  if (why === undefined) return []
  return [{ id: 'AC-006', severity: 'warning', where, weak: why, remedy: 'correct the rule, or remove it' }]
}

// Tokens that never expire, that are unused, or whose label says nothing.

const unusedMs = 90 * 24 * 60 * 60_000
const emptyLabel = /^\W*$|^(token|test|admin|tmp|temp|new|foo|default)\W*\d*$/i

export function tokenFindings({ tokens = [], now }: ConfigFacts): readonly Finding[] {
  return tokens.filter(({ state }) => state === 'active').flatMap((token) => findingsForToken(token, now))
}

function findingsForToken(
  { prefix, label, scopes, createdAt, lastUsedAt, expiresAt }: TokenLine,
  now: number,
): readonly Finding[] {
  const where = `token ${prefix} (${label.trim() || 'no label'})`
  const revoke = `parley tokens revoke ${prefix}`
  const found: Finding[] = []
  if (expiresAt === null)
    found.push({
      id: 'AC-201',
      severity: scopes.includes('admin') ? 'warning' : 'info',
      where,
      weak: 'it is valid until an operator revokes it',
      remedy: `make one that ends (parley tokens create --expires 90d), then ${revoke}`,
    })
  if (now - Date.parse(lastUsedAt ?? createdAt) > unusedMs)
    found.push({
      id: 'AC-202',
      severity: 'warning',
      where,
      weak: 'it was not used for 90 days',
      remedy: revoke,
    })
  if (scopes.includes('admin') && emptyLabel.test(label.trim()))
    found.push({
      id: 'AC-203',
      severity: 'warning',
      where,
      weak: 'it may do everything, and its label does not say for whom',
      remedy: `make one with a label that names its user, then ${revoke}`,
    })
  return found
}

// Token issuers: whose tokens give access to agents, and how much.

const usualSeconds = 3600

export function issuerFindings({ tokenIssuers, agents, publicUrl }: ConfigFacts): readonly Finding[] {
  return tokenIssuers.flatMap((each) =>
    findingsForIssuer(each, { agents: agents.length, isPublic: publicUrl !== undefined }),
  )
}

function findingsForIssuer(
  { issuer, anyScopes, maxLifetimeSeconds, sharedAudiences, urls }: TokenIssuerFacts,
  { agents, isPublic }: { readonly agents: number; readonly isPublic: boolean },
): readonly Finding[] {
  const where = `token issuer ${issuer}`
  const found: Finding[] = []
  if (anyScopes.length > 0)
    found.push({
      id: 'AC-012',
      severity: 'warning',
      where,
      weak: `every token it makes for this audience may ${anyScopes.join(', ')}`,
      remedy: 'name a scope of the issuer instead of any, and let in by access rules whom you mean',
    })
  if (maxLifetimeSeconds !== undefined && maxLifetimeSeconds > usualSeconds)
    found.push({
      id: 'AC-013',
      severity: 'warning',
      where,
      weak: `a stolen one is good for up to ${Math.round(maxLifetimeSeconds / 3600)} hours, and cannot be revoked here`,
      remedy: 'set maxLifetimeSeconds to 3600 or less, or have the issuer asked (introspectionUrl)',
    })
  if (agents > 1 && sharedAudiences.length > 0)
    found.push({
      id: 'AC-014',
      severity: 'info',
      where,
      weak: `a token made out to ${sharedAudiences.join(', ')} opens every agent of this gateway`,
      remedy: 'write the audience with {agent} in it, so that each agent has tokens of its own',
    })
  if (isPublic && urls.some((url) => url.startsWith('http:')))
    found.push({
      id: 'AC-015',
      severity: 'warning',
      where,
      weak: 'a stand-in for development on this machine says which tokens are good, at a public address',
      remedy: 'use the https URL of the issuer that is meant',
    })
  return found
}
