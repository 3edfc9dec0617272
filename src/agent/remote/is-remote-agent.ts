// Tells a remote agent from a model for the loop; both are functions.
import type { NormalizedMessage } from '../../contract/index.ts'
import type { AgentContext, AgentReply } from '../context.ts'
import type { CancelRemoteTask } from './recall.ts'

export type RemoteAgent = ((message: NormalizedMessage, context: AgentContext) => Promise<AgentReply>) & {
  /** It is an agent by itself and no model for the loop. */
  readonly isAgent: true
  readonly recall: CancelRemoteTask
}

export function isRemoteAgent(model: unknown): model is RemoteAgent {
  return typeof model === 'function' && 'isAgent' in model && model.isAgent === true
}
