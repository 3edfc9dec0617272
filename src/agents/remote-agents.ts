// Remote agents: run under this gateway's place in the chain of agents, and remembered by the conversation in lines of its transcript.

import { type Envelope, envelopeSchemaId, envelopeVersion } from '../contract/gateway-events.ts'
import { type AgentReply, type NormalizedMessage, type RemoteAgent, textPart } from '../contract/index.ts'
import type { RemoteMemory } from '../contract/remote-agent.ts'
import { isPlainObject } from '../lib/index.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { say } from '../locales/say.ts'
import type { AgentContext } from './context.ts'

export function isRemoteAgent(model: unknown): model is RemoteAgent {
  return isPlainObject(model) && model['isAgent'] === true
}

/** Asks it, unless the chain of agents is at its end or goes in circles. */
export async function runRemoteAgent(
  remote: RemoteAgent,
  message: NormalizedMessage,
  context: AgentContext,
): Promise<AgentReply> {
  const { agent, budgets, transcript, record } = context
  const hop = await context.remoteCaller.next(remote.address)
  if (!hop.ok) {
    context.emit('remote_refused', { code: hop.code })
    return createChainRefusalReply(hop.code)
  }
  return remote.run(message, {
    ...context,
    hop,
    remembered: findLastRemoteMemory(transcript, agent),
    remember: (memory) => record([remoteTaskEnvelope(agent, memory)]),
    ...(budgets === undefined ? {} : { isSpent: () => budgets.spent() !== undefined }),
  })
}

/** Why no agent was asked. A plain answer, so that no caller tries again. */
export function createChainRefusalReply(code: string): AgentReply {
  const message = say(code === 'gw:agent_loop' ? 'chain.loops' : 'chain.ended')
  return { parts: [textPart(message)], status: 'refused', error: { code, message, retryable: false } }
}

// What a conversation remembers of a remote agent is a line of its transcript that no model and no person is shown.

const lineType = 'remote_task'

export function isRemoteTaskLine({ metadata }: Envelope): boolean {
  return metadata['type'] === lineType
}

function remoteTaskEnvelope(agent: string, memory: RemoteMemory): Envelope {
  return {
    schema: envelopeSchemaId,
    version: envelopeVersion,
    type: 'text',
    role: 'system',
    content: '',
    payload: { agent, memory },
    metadata: { type: lineType },
  }
}

function findLastRemoteMemory(lines: readonly Envelope[], agent: string): JsonObject | undefined {
  const memory = lines.findLast((line) => isRemoteTaskLine(line) && line.payload['agent'] === agent)?.payload['memory']
  // Written above.
  return isPlainObject(memory) ? (memory as JsonObject) : undefined
}

/** The newest line of each agent that still waits for a person: what a call by another agent goes on with. */
export function listWaitingTaskEnvelopes(lines: readonly Envelope[]): readonly Envelope[] {
  const newest = new Map(lines.filter(isRemoteTaskLine).map((line) => [String(line.payload['agent']), line]))
  return [...newest].flatMap(([agent, line]) =>
    findLastRemoteMemory([line], agent)?.['isWaiting'] === true ? [line] : [],
  )
}
