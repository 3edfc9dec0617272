// What agents say of themselves to other agents: their own words, else what their tools are for.
import type { Agent } from '../agents/define-agent.ts'
import type { AgentProfile, AgentSkill } from '../contract/index.ts'

export function agentProfile(agent: Agent): AgentProfile {
  const { slug, label = slug, description = `The agent ${label}.` } = agent
  const skills = agent.skills ?? toolSkills(agent)
  const anything = { id: slug, name: label, description, tags: ['chat'] }
  return { slug, label, description, skills: skills.length === 0 ? [anything] : skills }
}

function toolSkills({ toolFacts = [] }: Agent): readonly AgentSkill[] {
  return toolFacts.map(({ name, description }) => ({
    id: name,
    name,
    description: description === '' ? name : description,
    tags: ['tool'],
  }))
}
