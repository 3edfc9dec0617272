// What the operator reads of this channel when the gateway starts: the handles of the agents, and which agent has none.
import type { AgentProfile } from '../../../src/contract/index.ts'
import { type DocumentUrls, reservedSlugs } from './places.ts'

const shownHandles = 3

export function startupNotice({ handle }: DocumentUrls, agents: readonly AgentProfile[]): string {
  const slugs = agents.map(({ slug }) => slug)
  const handles = slugs.filter((slug) => !reservedSlugs.includes(slug)).map(handle)
  const nameless = slugs.filter((slug) => reservedSlugs.includes(slug))
  const remedy = 'the channel has something else at that address, give the agent another name'
  return [
    ...(handles.length === 0 ? [] : [`mention ${handles.slice(0, shownHandles).join(', ')}`]),
    ...nameless.map((slug) => `${slug} gets no account: ${remedy}`),
  ].join('; ')
}
