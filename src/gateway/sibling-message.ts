// What an agent reads that another one asks: the asker's words, under the name and the evidence of the person it works for.
import { formatAddress, type NormalizedMessage, type Part, unverifiedSender } from '../contract/index.ts'
import type { AgentChain } from '../identity/chain/agent-chain.ts'
import { readdressMessage } from '../identity/evidence/addressed-to.ts'
import type { ReadyTurn } from './prepare-turn.ts'

export type AgentCallQuestion = {
  readonly agent: string
  readonly parts: readonly Part[]
  readonly chain: AgentChain
  /** Tells it from the other questions of this turn, the same in every try. */
  readonly key: string
  readonly now: number
}

export function createAgentCallMessage(ready: ReadyTurn, question: AgentCallQuestion): NormalizedMessage {
  const { agent, parts, chain, key } = question
  const { connection, adapter } = ready.at
  const recipient = formatAddress({ local: agent, domain: connection.domain })
  const own = {
    id: `${ready.turn.id}:${key}`,
    parts: [...parts],
    history: [],
    // Its answer goes to an agent: there is no person whom naming would notify.
    recipient_capabilities: { mention_relay: { kind: 'none' as const }, agent_chain: chain },
    raw: null,
  }
  const lead = ready.members.at(-1)?.message
  if (lead === undefined) {
    return {
      ...own,
      thread_id: ready.lane.conversationId,
      sender: unverifiedSender(connection.domain),
      recipient,
      received_via: adapter.capabilities.receivedVia,
      received_at: new Date(question.now).toISOString(),
    }
  }
  const { channel, policy_resolution: _resolution, ...said } = readdressMessage(lead, recipient)
  return { ...said, ...own, in_reply_to: lead.id, ...(channel === undefined ? {} : { channel: quiet(channel) }) }
}

/** Where it came from; without what the person's own client asked of the agent that was written to. */
function quiet(channel: NonNullable<NormalizedMessage['channel']>): NonNullable<NormalizedMessage['channel']> {
  const {
    command: _command,
    client_tools: _tools,
    client_data: _data,
    tool_result: _result,
    target_id: _target,
    ...place
  } = channel
  return { ...place, mentions: [] }
}
