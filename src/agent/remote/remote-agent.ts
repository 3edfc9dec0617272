// An agent outside this gateway, spoken to over A2A: found by its card, asked once, followed until its task rests. What a crash
// must not lose is a step of the journal: whom we ask under which ids, the task that came of it, and its answer.
import type { NormalizedMessage } from '../../contract/index.ts'
import type { AgentContext, AgentReply } from '../context.ts'
import { openCall, type RemoteCall } from './call.ts'
import type { CardCache } from './discover.ts'
import type { RemoteAgent } from './is-remote-agent.ts'
import { type A2aAgentOptions, type RemotePeer, readPeer } from './options.ts'
import { type CancelRemoteTask, cancelRemoteTask } from './recall.ts'
import { remoteTaskLine } from './remember.ts'
import { chainReply, type Outcome, replyFromOutcome } from './reply.ts'
import { answerStep, askStep, type Opened, openStep } from './steps.ts'
import { waitFingerprint } from './task.ts'

/**
 * `model` for defineAgent. `target`: the URL of a card, the base URL of an agent, or an address such as `@agent@host`. It is an
 * agent like any other: people write to it, and other agents here may call it.
 */
export function a2aAgent(target: string, options: A2aAgentOptions = {}): RemoteAgent {
  const peer = readPeer(target, options)
  const shelf: CardCache = {}
  const runRemote = (message: NormalizedMessage, context: AgentContext) =>
    callRemoteAgent(peer, shelf, message, context)
  const cancelRemote: CancelRemoteTask = (left, means) => cancelRemoteTask(peer, left, means)
  return Object.assign(runRemote, { isAgent: true as const, recall: cancelRemote })
}

async function callRemoteAgent(
  peer: RemotePeer,
  shelf: CardCache,
  message: NormalizedMessage,
  context: AgentContext,
): Promise<AgentReply> {
  const next = await context.elsewhere.next(peer.target.kind === 'address' ? peer.target.address : undefined)
  if (!next.ok) {
    context.emit('remote_refused', { code: next.code })
    return chainReply(next.code)
  }
  if (context.budgets?.spent() !== undefined)
    return replyFromOutcome({ kind: 'failed', code: 'budget_exceeded' }, plainTextAuthor(context))
  const call = openCall(peer, context, next)
  try {
    const opened = await openStep(call, shelf, message)
    if (opened.kind === 'failed') return rememberAndReply(call, opened, opened)
    const outcome = await askAndReply(call, opened, message)
    return rememberAndReply(call, opened, outcome)
  } catch (error) {
    await call.stopRemote()
    throw error
  } finally {
    call.close()
  }
}

async function askAndReply(
  call: RemoteCall,
  opened: Extract<Opened, { kind: 'plan' }>,
  message: NormalizedMessage,
): Promise<Outcome> {
  const asked = await askStep(call, opened, message)
  if (asked.kind === 'failed') return asked
  const { plan } = opened
  if (asked.said.kind === 'message') {
    const contextId = asked.said.message.contextId ?? plan.contextId
    call.context.record([remoteTaskLine(call.context.agent, { at: asked.at, contextId, state: 'completed' })])
    return asked.said
  }
  const { task } = asked.said
  const outcome = await answerStep(call, opened, { ...asked, task })
  const contextId = task.contextId ?? plan.contextId
  const reached =
    outcome.kind === 'task'
      ? { state: outcome.task.state, wait: waitFingerprint(outcome.task) }
      : { state: 'failed' as const }
  call.context.record([remoteTaskLine(call.context.agent, { at: asked.at, contextId, taskId: task.id, ...reached })])
  return outcome
}

function rememberAndReply({ context }: RemoteCall, opened: Opened, outcome: Outcome): AgentReply {
  const state = outcome.kind === 'task' ? { task: outcome.task.id, state: outcome.task.state } : {}
  const code = outcome.kind === 'failed' ? { code: outcome.code } : {}
  context.emit('remote_answered', { kind: outcome.kind, ...state, ...code })
  const writesMarkdown = opened.kind === 'plan' && opened.plan.writesMarkdown
  return replyFromOutcome(outcome, { ...plainTextAuthor(context), writesMarkdown })
}

function plainTextAuthor({ agent }: AgentContext): { readonly agent: string; readonly writesMarkdown: boolean } {
  return { agent, writesMarkdown: false }
}
