// Audit findings about tokens: those that never expire, that are unused, or whose label says nothing.
import type { TokenLine } from '../../identity/tokens.ts'
import type { ConfigFacts } from './facts.ts'
import type { Finding } from './finding.ts'

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
