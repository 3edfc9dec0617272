// Weak settings, by id. Pure: what is looked at comes as facts, so that the same check runs before a start and beside one.
import { accessFindings } from './access-findings.ts'
import { agentFindings } from './agent-findings.ts'
import type { ConfigFacts } from './facts.ts'
import type { Finding, Severity } from './finding.ts'
import { issuerFindings } from './issuer-findings.ts'
import { listenerFindings } from './listener-findings.ts'
import { storageFindings } from './storage-findings.ts'
import { tokenFindings } from './token-findings.ts'

const severityOrder: readonly Severity[] = ['critical', 'warning', 'info']

/** The worst first, then by id. */
export function auditConfig(facts: ConfigFacts): readonly Finding[] {
  const groups = [accessFindings, agentFindings, issuerFindings, listenerFindings, tokenFindings, storageFindings]
  return groups
    .flatMap((group) => group(facts))
    .toSorted(
      (a, b) => severityOrder.indexOf(a.severity) - severityOrder.indexOf(b.severity) || a.id.localeCompare(b.id),
    )
}
