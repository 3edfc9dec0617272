// Sends one message to a remote agent, once, and follows its task. Whether an earlier try arrived is asked before it is sent
// again; where that cannot be told, it is not repeated.
import { GatewayError, sleep } from '../../../src/lib/index.ts'
import type { RemoteClient, RemoteLimits, StreamedEvent } from './client.ts'
import { isRemoteFault, RemoteFault } from './fault.ts'
import {
  applyEventToTask,
  artifactsText,
  isTaskAwaitingPerson,
  isTaskOver,
  isTaskOverOrWaiting,
  type RemoteEvent,
  type RemoteTask,
} from './task.ts'
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
  const known = (asking.isAgain ? await findSentTask(asking) : undefined) ?? (await fetchTaskAfterSignIn(asking))
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
  if (!plan.isStreaming) return { at, said: toMessageOrTask(await client.send(outbound)) }
  const live = client.stream(outbound)
  const first = await live.next()
  if (first.done === true) throw new RemoteFault('remote_unreachable')
  return { at, said: toMessageOrTask(first.value.event), live }
}

function toMessageOrTask(event: RemoteEvent): Asked['said'] {
  if (event.kind === 'message' || event.kind === 'task') return event
  const task = applyEventToTask(undefined, event)
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
async function fetchTaskAfterSignIn({ plan, clientOf }: AskDeps): Promise<RemoteTask | undefined> {
  if (!plan.isSignIn || plan.taskId === undefined) return undefined
  const task = await clientOf(plan.at).get(plan.taskId)
  return isTaskAwaitingPerson(task.state) || isTaskOver(task.state) ? undefined : task
}

// A task is followed until it rests. A stream that breaks off with a task unsettled is no answer: it is resumed where it can be,
// and polled where it cannot.

export type FollowDeps = {
  readonly client: RemoteClient
  readonly limits: RemoteLimits
  readonly signal: AbortSignal
  /** Whether the peer has streams at all. */
  readonly isStreaming: boolean
  /** A stream of this task that is open already. */
  readonly live?: AsyncIterator<StreamedEvent> | undefined
  readonly show: (delta: string) => void
  /** The wait that our message ended; a peer may show it for a while. */
  readonly answers?: string | undefined
}

type FollowState = {
  readonly since: number
  task: RemoteTask
  lastEventId: string | undefined
  canSubscribe: boolean
  misses: number
  shown: string
}

const staleMs = 20_000
const firstPauseMs = 250
const longestPauseMs = 5_000
/** In a row, with pauses between them: some fifteen seconds. After that the turn waits for the peer, and not the process. */
const mostMisses = 6

export async function followTask(followed: FollowDeps, first: RemoteTask): Promise<RemoteTask> {
  const { signal, isStreaming } = followed
  const following: FollowState = {
    since: performance.now(),
    task: first,
    lastEventId: undefined,
    canSubscribe: isStreaming,
    misses: 0,
    shown: '',
  }
  showAppendedText(followed, following)
  if (followed.live !== undefined) await consumeEvents(followed, following, followed.live)
  for (let round = 0; !isFollowingDone(followed, following); round += 1) {
    signal.throwIfAborted()
    await sleep(Math.min(firstPauseMs * 2 ** Math.min(round, 8), longestPauseMs), signal)
    if (following.canSubscribe) await consumeEvents(followed, following, resumeTaskStream(followed, following))
    if (!isFollowingDone(followed, following)) await pollTask(followed, following)
  }
  return following.task
}

/** A peer that shows the wait we ended for this long means it. */
function isFollowingDone({ answers }: FollowDeps, { task, since }: FollowState): boolean {
  return isTaskOverOrWaiting(task, performance.now() - since < staleMs ? answers : undefined)
}

function resumeTaskStream({ client }: FollowDeps, { task, lastEventId }: FollowState): AsyncIterator<StreamedEvent> {
  return client.subscribe(task.id, lastEventId)
}

/** Reads a stream to its end, whatever that is; what it said stays said. */
async function consumeEvents(
  followed: FollowDeps,
  following: FollowState,
  events: AsyncIterator<StreamedEvent>,
): Promise<void> {
  try {
    while (!isFollowingDone(followed, following)) {
      const read = await events.next()
      if (read.done === true) return
      applyStreamedEvent(followed, following, read.value)
    }
  } catch (error) {
    followed.signal.throwIfAborted()
    // Not offered after all, or over meanwhile: asking tells which.
    if (isRemoteFault(error, 'remote_unsupported', 'remote_task_lost', 'remote_refused')) following.canSubscribe = false
    else throwAfterFailedPolls(following, error)
  } finally {
    await events.return?.(undefined)
  }
}

function applyStreamedEvent(followed: FollowDeps, following: FollowState, { event, id }: StreamedEvent): void {
  following.task = applyEventToTask(following.task, event) ?? following.task
  if (following.task.artifacts.length > followed.limits.maxArtifacts) throw new RemoteFault('remote_too_much')
  following.lastEventId = id ?? following.lastEventId
  following.misses = 0
  showAppendedText(followed, following)
}

async function pollTask(followed: FollowDeps, following: FollowState): Promise<void> {
  try {
    const task = await followed.client.get(following.task.id)
    applyStreamedEvent(followed, following, { event: { kind: 'task', task }, id: undefined })
  } catch (error) {
    followed.signal.throwIfAborted()
    throwAfterFailedPolls(following, error)
  }
}

/** Only what cannot be reached is tried again. */
function throwAfterFailedPolls(following: FollowState, error: unknown): void {
  following.misses += 1
  if (!isRemoteFault(error, 'remote_unreachable') || following.misses > mostMisses) throw error
}

/** What was shown cannot be taken back: where its words changed, the answer itself says so. */
function showAppendedText({ show }: FollowDeps, following: FollowState): void {
  const words = artifactsText(following.task)
  if (words.length <= following.shown.length || !words.startsWith(following.shown)) return
  show(words.slice(following.shown.length))
  following.shown = words
}
