// Audit findings about token issuers: whose tokens give access to agents, and how much.
import type { ConfigFacts, TokenIssuerFacts } from './facts.ts'
import type { Finding } from './finding.ts'

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
