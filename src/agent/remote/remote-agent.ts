// An agent outside this gateway, spoken to over A2A: found by its card, asked once, followed until its task rests. What a crash
// must not lose is a step of the journal: whom we ask under which ids, the task that came of it, and its answer.
import type { NormalizedMessage } from '../../contract/index.ts'
import type { AgentContext, AgentReply } from '../context.ts'
import { openCall, type RemoteCall } from './call.ts'
import type { CardShelf } from './discover.ts'
import type { RemoteAgent } from './is-remote-agent.ts'
import { type A2aAgentOptions, type RemotePeer, readPeer } from './options.ts'
import { type Recall, recallTask } from './recall.ts'
import { remoteLine } from './remember.ts'
import { chainReply, type Outcome, replyOf } from './reply.ts'
import { answerStep, askStep, type Opened, openStep } from './steps.ts'
import { waitOf } from './task.ts'

/**
 * `model` for defineAgent. `target`: the URL of a card, the base URL of an agent, or an address such as `@agent@host`. It is an
 * agent like any other: people write to it, and other agents here may call it.
 */
export function a2aAgent(target: string, options: A2aAgentOptions = {}): RemoteAgent {
  const peer = readPeer(target, options)
  const shelf: CardShelf = {}
  const run = (message: NormalizedMessage, context: AgentContext) => passOn(peer, shelf, message, context)
  const recall: Recall = (left, means) => recallTask(peer, left, means)
  return Object.assign(run, { isAgent: true as const, recall })
}

async function passOn(
  peer: RemotePeer,
  shelf: CardShelf,
  message: NormalizedMessage,
  context: AgentContext,
): Promise<AgentReply> {
  const next = await context.elsewhere.next(peer.target.kind === 'address' ? peer.target.address : undefined)
  if (!next.ok) {
    context.emit('remote_refused', { code: next.code })
    return chainReply(next.code)
  }
  if (context.budgets?.spent() !== undefined)
    return replyOf({ kind: 'failed', code: 'budget_exceeded' }, plain(context))
  const call = openCall(peer, context, next)
  try {
    const opened = await openStep(call, shelf, message)
    if (opened.kind === 'failed') return told(call, opened, opened)
    const outcome = await askedAndAnswered(call, opened, message)
    return told(call, opened, outcome)
  } catch (error) {
    await call.stopRemote()
    throw error
  } finally {
    call.close()
  }
}

async function askedAndAnswered(
  call: RemoteCall,
  opened: Extract<Opened, { kind: 'plan' }>,
  message: NormalizedMessage,
): Promise<Outcome> {
  const asked = await askStep(call, opened, message)
  if (asked.kind === 'failed') return asked
  const { plan } = opened
  if (asked.said.kind === 'message') {
    const contextId = asked.said.message.contextId ?? plan.contextId
    call.context.record([remoteLine(call.context.agent, { at: asked.at, contextId, state: 'completed' })])
    return asked.said
  }
  const { task } = asked.said
  const outcome = await answerStep(call, opened, { ...asked, task })
  const contextId = task.contextId ?? plan.contextId
  const reached =
    outcome.kind === 'task' ? { state: outcome.task.state, wait: waitOf(outcome.task) } : { state: 'failed' as const }
  call.context.record([remoteLine(call.context.agent, { at: asked.at, contextId, taskId: task.id, ...reached })])
  return outcome
}

function told({ context }: RemoteCall, opened: Opened, outcome: Outcome): AgentReply {
  const state = outcome.kind === 'task' ? { task: outcome.task.id, state: outcome.task.state } : {}
  const code = outcome.kind === 'failed' ? { code: outcome.code } : {}
  context.emit('remote_answered', { kind: outcome.kind, ...state, ...code })
  const writesMarkdown = opened.kind === 'plan' && opened.plan.writesMarkdown
  return replyOf(outcome, { ...plain(context), writesMarkdown })
}

function plain({ agent }: AgentContext): { readonly agent: string; readonly writesMarkdown: boolean } {
  return { agent, writesMarkdown: false }
}
