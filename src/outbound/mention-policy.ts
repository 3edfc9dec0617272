// Whom a reply may notify by mentioning them: decided once, before rendering, for every channel alike.
import { isKnownPart, type NormalizedResponse, type Part, parseAddress } from '../contract/index.ts'
import { defuseMentions, type MentionTreatment, mayMentionHuman, type WrittenName } from '../identity/mentions.ts'
import type { Participant } from '../sessions/transcript.ts'
import type { GatewayConnection, GatewayDeps } from '../turns/deps.ts'

export type MentionContext = {
  readonly agents: GatewayDeps['agents']
  readonly at: GatewayConnection
  /** Who wrote in the conversation. */
  readonly participants: readonly Participant[]
}

export type Mentionable = {
  readonly reply: NormalizedResponse
  /** Names as they are written in it, in small letters, that may reach whom they name. */
  readonly mayNotify: ReadonlySet<string>
}

export function mentionable(context: MentionContext, reply: NormalizedResponse): Mentionable {
  // Where a name notifies no person the words are left alone.
  if (context.at.adapter.capabilities.notifiesByName === false) return { reply, mayNotify: new Set() }
  const isCovered = context.at.adapter.capabilities.coversNames === true
  const fateOf = createMentionTreatment(context)
  const mayNotify = new Set<string>()
  const parts = reply.parts.map((part): Part => {
    if (!isKnownPart(part) || part.kind !== 'text') return part
    const { text, live } = defuseMentions(part.content, fateOf)
    for (const name of live) mayNotify.add(name)
    return isCovered || text === part.content ? part : { ...part, content: text }
  })
  return { reply: { ...reply, parts }, mayNotify }
}

function createMentionTreatment({ agents, at, participants }: MentionContext): (name: WrittenName) => MentionTreatment {
  const { domain: ours } = at.connection
  const names = participants.flatMap((participant) => listParticipantNames(participant, ours))
  const wakesAgents = at.adapter.capabilities.mentionRelay.kind !== 'none'
  return ({ local, domain }) => {
    const isOurs = domain === undefined || parseAddress(`${local}@${domain}`)?.domain === ours
    // Where the platform relays nothing, an agent's name does not reach that agent; people still write it to address that agent.
    if (isOurs && agents.has(local.toLowerCase())) return wakesAgents ? 'live' : 'leave'
    const address = `@${local}@${domain ?? ours}`.toLowerCase()
    return mayMentionHuman(at.mentionHumans, names, address) ? 'live' : 'defuse'
  }
}

/** A name that is merely claimed would let a reply notify its real owner. */
function listParticipantNames({ address, verified, handle }: Participant, ours: string): readonly string[] {
  if (!verified) return []
  return [address, ...(handle === undefined ? [] : [`@${handle}@${ours}`])].map((name) => name.toLowerCase())
}
