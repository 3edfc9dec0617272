// What strangers could make agents do, and whom this gateway believes.
import { type ConfigFacts, type ConnectionFacts, isOpenToStrangers } from './facts.ts'
import type { Finding } from './finding.ts'

export function agentFindings(facts: ConfigFacts): readonly Finding[] {
  return [...strangerReachFindings(facts), ...trustedIssuerFindings(facts)]
}

function strangerReachFindings({ agents, connections }: ConfigFacts): readonly Finding[] {
  const found: Finding[] = []
  for (const { slug, access, writingTools, unaskedTools, mcpServers } of agents) {
    const open = connections.filter((each) => isReached(slug, each) && each.access.mode === 'public')
    const isOpen = open.length > 0 && (access === undefined || access.mode === 'public')
    const where = `agent ${slug}`
    const through = open.map(({ key }) => key).join(', ')
    if (isOpen && writingTools.length > 0)
      found.push({
        id: 'AC-008',
        severity: open.some(isOpenToStrangers) ? 'critical' : 'info',
        where,
        weak: `every sender reaches it through ${through}, and it writes without asking: ${writingTools.join(', ')}`,
        remedy: "give the agent an access rule of its own, or its tools action_policy: 'preview'",
      })
    if (unaskedTools.length > 0)
      found.push({
        id: 'AC-016',
        severity: 'warning',
        where,
        weak: `no person is asked before these run, although they have approval terms: ${unaskedTools.join(', ')}`,
        remedy:
          "remove 'direct' from the tool's action_policy or the agent's actionPolicy, or the approval from the tool",
      })
    if (isOpen && mcpServers.length > 0)
      found.push({
        id: 'AC-009',
        severity: open.some(isOpenToStrangers) ? 'warning' : 'info',
        where,
        weak: `every sender reaches it through ${through}, with whatever ${mcpServers.join(', ')} offers`,
        remedy: 'give the agent an access rule of its own, or allow the tools one by one',
      })
  }
  return found
}

/** Where several agents share a connection, a sender who begins a message with a name reaches that one. */
function isReached(slug: string, { agent, isShared }: ConnectionFacts): boolean {
  return isShared || agent === slug
}

function trustedIssuerFindings({ trustedIssuers }: ConfigFacts): readonly Finding[] {
  return trustedIssuers.flatMap((each) => {
    const found: Finding[] = []
    if (each.max_ttl_seconds === undefined)
      found.push({
        id: 'AC-010',
        severity: 'info',
        where: `issuer ${each.issuer}`,
        weak: 'its evidence counts for as long as any may, ten minutes',
        remedy: 'set max_ttl_seconds to what it needs, such as 120',
      })
    if (each.allow_on_behalf_of === true)
      found.push({
        id: 'AC-011',
        severity: 'warning',
        where: `issuer ${each.issuer}`,
        weak: 'its word is enough that a caller acts for a person of its namespace',
        remedy: 'leave allow_on_behalf_of out unless that gateway is run by you',
      })
    return found
  })
}
