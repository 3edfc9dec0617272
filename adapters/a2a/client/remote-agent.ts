// An agent outside this gateway, spoken to over A2A: found by its card, asked once, followed until its task rests. What a crash
// must not lose is a step of the journal: whom we ask under which ids, the task that came of it, and its answer.
import type { AgentReply, NormalizedMessage, RemoteAgent, RemoteCallContext } from '../../../src/contract/index.ts'
import { isPlainObject } from '../../../src/lib/index.ts'
import type { CardCache } from './agent-card.ts'
import {
  type Opened,
  openRemoteCall,
  type RemoteCall,
  runFollowStep,
  runPlanStep,
  runSendStep,
  toRemoteMemory,
} from './call.ts'
import { createCredentialedFetch, createRemoteClient } from './client.ts'
import { type A2aAgentOptions, type RemotePeer, readPeerOptions } from './options.ts'
import { type Outcome, replyFromOutcome } from './reply.ts'
import { findSentTask, type Plan } from './send-and-follow.ts'
import { taskWaitKey } from './task.ts'
import type { RemoteInterface } from './wire.ts'

/**
 * `model` for defineAgent. `target`: the URL of a card, the base URL of an agent, or an address such as `@agent@host`. It is an
 * agent like any other: people write to it, and other agents here may call it.
 */
export function a2aAgent(target: string, options: A2aAgentOptions = {}): RemoteAgent {
  const peer = readPeerOptions(target, options)
  const cardCache: CardCache = {}
  return {
    isAgent: true,
    ...(peer.target.kind === 'address' ? { address: peer.target.address } : {}),
    run: (message, context) => callRemoteAgent(peer, cardCache, message, context),
    cancel: (left, access) => cancelRemoteTask(peer, left, access),
  }
}

async function callRemoteAgent(
  peer: RemotePeer,
  cardCache: CardCache,
  message: NormalizedMessage,
  context: RemoteCallContext,
): Promise<AgentReply> {
  if (context.isSpent?.() === true)
    return replyFromOutcome({ kind: 'failed', code: 'budget_exceeded' }, plainTextReplyAuthor(context))
  const call = openRemoteCall(peer, context)
  try {
    const opened = await runPlanStep(call, cardCache, message)
    if (opened.kind === 'failed') return reportOutcomeAsReply(call, opened, opened)
    const outcome = await sendAndFollowTask(call, opened, message)
    return reportOutcomeAsReply(call, opened, outcome)
  } catch (error) {
    await call.stopRemote()
    throw error
  } finally {
    call.close()
  }
}

async function sendAndFollowTask(
  call: RemoteCall,
  opened: Extract<Opened, { kind: 'plan' }>,
  message: NormalizedMessage,
): Promise<Outcome> {
  const asked = await runSendStep(call, opened, message)
  if (asked.kind === 'failed') return asked
  const { plan } = opened
  if (asked.said.kind === 'message') {
    const contextId = asked.said.message.contextId ?? plan.contextId
    call.context.remember(toRemoteMemory({ at: asked.at, contextId, state: 'completed' }))
    return asked.said
  }
  const { task } = asked.said
  const outcome = await runFollowStep(call, opened, { ...asked, task })
  const contextId = task.contextId ?? plan.contextId
  const reached =
    outcome.kind === 'task'
      ? { state: outcome.task.state, wait: taskWaitKey(outcome.task) }
      : { state: 'failed' as const }
  call.context.remember(toRemoteMemory({ at: asked.at, contextId, taskId: task.id, ...reached }))
  return outcome
}

function reportOutcomeAsReply({ context }: RemoteCall, opened: Opened, outcome: Outcome): AgentReply {
  const state = outcome.kind === 'task' ? { task: outcome.task.id, state: outcome.task.state } : {}
  const code = outcome.kind === 'failed' ? { code: outcome.code } : {}
  context.emit('remote_answered', { kind: outcome.kind, ...state, ...code })
  const writesMarkdown = opened.kind === 'plan' && opened.plan.writesMarkdown
  return replyFromOutcome(outcome, { ...plainTextReplyAuthor(context), writesMarkdown })
}

function plainTextReplyAuthor({ agent }: RemoteCallContext): {
  readonly agent: string
  readonly writesMarkdown: boolean
} {
  return { agent, writesMarkdown: false }
}

// Cancels a remote task whose run was stopped while no process was there to tell the peer: found by what the journal kept.

const maxBytes = 4 * 1024 * 1024

async function cancelRemoteTask(
  peer: RemotePeer,
  { opened, asked }: Parameters<RemoteAgent['cancel']>[0],
  { headers, signal, ...access }: Parameters<RemoteAgent['cancel']>[1],
): Promise<void> {
  const plan = readJournaledPlan(opened)
  if (plan === undefined) return
  const egress = createCredentialedFetch(peer.egress, access)
  const createCancelClient = (at: RemoteInterface) =>
    createRemoteClient({ egress, limits: peer.limits, headers, signal, allowance: { bytes: maxBytes, events: 1 } }, at)
  const known = readJournaledTask(asked)
  if (known !== undefined) return void (await createCancelClient(known.at).cancel(known.taskId))
  // It said all it had to say, or it was not asked: there is no task.
  if (asked !== undefined) return
  const task = await findSentTask({ plan, clientOf: createCancelClient, mayResend: true })
  if (task !== undefined) await createCancelClient(plan.at).cancel(task.id)
}

/** The journal holds what the steps returned. */
function readJournaledPlan(opened: unknown): Plan | undefined {
  return isPlainObject(opened) && opened['kind'] === 'plan' ? (opened['plan'] as Plan) : undefined
}

function readJournaledTask(asked: unknown): { readonly at: RemoteInterface; readonly taskId: string } | undefined {
  if (!isPlainObject(asked) || asked['kind'] !== 'asked') return undefined
  const { at, said } = asked
  const task = isPlainObject(said) && said['kind'] === 'task' ? said['task'] : undefined
  return isPlainObject(task) ? { at: at as RemoteInterface, taskId: String(task['id']) } : undefined
}
