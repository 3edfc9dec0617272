// One message to a remote agent, sent once. Whether an earlier try arrived is asked before it is sent again; where that
// cannot be told, it is not repeated.
import { GatewayError } from '../../contract/index.ts'
import type { RemoteClient, StreamedEvent } from './client.ts'
import { isRemoteFault, RemoteFault } from './fault.ts'
import { isTaskOver, isTaskWaiting, type RemoteEvent, type RemoteTask, taskAfter } from './task.ts'
import type { OutboundMessage, RemoteInterface } from './wire.ts'

/** What is written down before anything is sent. */
export type Plan = {
  readonly at: RemoteInterface
  /** Where to go if that one does not speak our version. */
  readonly fallback?: RemoteInterface
  readonly messageId: string
  readonly contextId: string
  /** Made for this message: whatever is found under it came of this message. */
  readonly isNewContext: boolean
  /** The task that waits for this message, and whether it waits for words or for a sign-in. */
  readonly taskId?: string
  readonly isSignIn: boolean
  /** The wait of that task which this message ends. */
  readonly answers?: string
  readonly isStreaming: boolean
  readonly writesMarkdown: boolean
}

export type Asked = {
  readonly at: RemoteInterface
  readonly said: Extract<RemoteEvent, { kind: 'task' | 'message' }>
  /** The stream it came on, still open. In memory only. */
  readonly live?: AsyncIterator<StreamedEvent>
}

export type AskDeps = {
  readonly plan: Plan
  readonly clientOf: (at: RemoteInterface) => RemoteClient
  readonly message: Omit<OutboundMessage, 'messageId' | 'contextId' | 'taskId'>
  /** An earlier try may have sent it. */
  readonly isAgain: boolean
  /** The operator says that the peer takes one message id once. */
  readonly mayResend: boolean
}

export async function askRemoteAgent(asking: AskDeps): Promise<Asked> {
  const { plan, clientOf } = asking
  const known = (asking.isAgain ? await findSentTask(asking) : undefined) ?? (await taskAfterSignIn(asking))
  if (known !== undefined) return { at: plan.at, said: { kind: 'task', task: known } }
  try {
    return await sendRemoteMessage(asking, plan.at, plan.taskId)
  } catch (error) {
    if (plan.fallback !== undefined && isRemoteFault(error, 'remote_version_refused'))
      return sendRemoteMessage(asking, plan.fallback, undefined)
    // Over meanwhile, or forgotten: refused before anything was done, so the conversation goes on with a new task.
    if (plan.taskId === undefined || !isRemoteFault(error, 'remote_task_lost', 'remote_unsupported')) throw error
    const old = await clientOf(plan.at)
      .get(plan.taskId)
      .catch(() => undefined)
    if (old !== undefined && !isTaskOver(old.state)) throw error
    return sendRemoteMessage(asking, plan.at, undefined)
  }
}

async function sendRemoteMessage(
  { plan, clientOf, message }: AskDeps,
  at: RemoteInterface,
  taskId: string | undefined,
): Promise<Asked> {
  const { messageId, contextId } = plan
  const outbound = { ...message, messageId, contextId, ...(taskId === undefined ? {} : { taskId }) }
  const client = clientOf(at)
  if (!plan.isStreaming) return { at, said: toAskedAnswer(await client.send(outbound)) }
  const live = client.stream(outbound)
  const first = await live.next()
  if (first.done === true) throw new RemoteFault('remote_unreachable')
  return { at, said: toAskedAnswer(first.value.event), live }
}

function toAskedAnswer(event: RemoteEvent): Asked['said'] {
  if (event.kind === 'message' || event.kind === 'task') return event
  const task = taskAfter(undefined, event)
  if (task === undefined) throw new RemoteFault('remote_malformed')
  return { kind: 'task', task }
}

/** The task an earlier try came to. Undefined: it did not arrive. */
export async function findSentTask({
  plan,
  clientOf,
  mayResend,
}: Pick<AskDeps, 'plan' | 'clientOf' | 'mayResend'>): Promise<RemoteTask | undefined> {
  try {
    const client = clientOf(plan.at)
    if (plan.taskId !== undefined) {
      const task = await client.get(plan.taskId)
      return isTaskOfPlan(plan, task) ? task : undefined
    }
    // Lists leave out results; the task itself does not.
    const listed = (await client.list(plan.contextId)).find((task) => isTaskOfPlan(plan, task))
    return listed === undefined ? undefined : await client.get(listed.id)
  } catch (error) {
    if (!isRemoteFault(error) || isRemoteFault(error, 'remote_unreachable')) throw error
    if (isRemoteFault(error, 'remote_task_lost') || mayResend) return undefined
    throw new GatewayError(
      'tool_outcome_unknown',
      '[agent] the remote agent was asked and does not tell whether it heard; it may or may not be at work',
    )
  }
}

function isTaskOfPlan({ messageId, isNewContext, contextId, taskId }: Plan, task: RemoteTask): boolean {
  const isOurs = taskId === undefined && isNewContext && task.contextId === contextId
  return isOurs || task.history.some((message) => message.messageId === messageId)
}

/** The person who signed in elsewhere has set the task going again: there is nothing to be said to it. */
async function taskAfterSignIn({ plan, clientOf }: AskDeps): Promise<RemoteTask | undefined> {
  if (!plan.isSignIn || plan.taskId === undefined) return undefined
  const task = await clientOf(plan.at).get(plan.taskId)
  return isTaskWaiting(task.state) || isTaskOver(task.state) ? undefined : task
}
