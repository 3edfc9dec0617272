// What may be wrong between the agents of one configuration, in words.
import type { Agent } from '../agents/define-agent.ts'

export function agentCallProblems(agents: readonly Agent[]): readonly string[] {
  const slugs = new Set(agents.map(({ slug }) => slug))
  return agents.flatMap(({ slug, siblings = [] }) =>
    siblings
      .filter((sibling) => sibling === slug || !slugs.has(sibling))
      .map(
        (sibling) =>
          `agent "${slug}": siblings names "${sibling}", which is ${sibling === slug ? 'itself' : 'no agent'}`,
      ),
  )
}
