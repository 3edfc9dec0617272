// A remote task, followed until it rests. A stream that breaks off with a task unsettled is no answer: it is taken up again
// where it can be, and asked about where it cannot.
import type { RemoteClient, StreamedEvent } from './client.ts'
import { isRemoteFault, RemoteFault } from './fault.ts'
import type { RemoteLimits } from './limits.ts'
import { artifactsText, isTaskAtRest, type RemoteTask, taskAfter } from './task.ts'

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
  const pursuit: FollowState = {
    since: performance.now(),
    task: first,
    lastEventId: undefined,
    canSubscribe: isStreaming,
    misses: 0,
    shown: '',
  }
  showProgress(followed, pursuit)
  if (followed.live !== undefined) await consumeEvents(followed, pursuit, followed.live)
  for (let round = 0; !isSettled(followed, pursuit); round += 1) {
    signal.throwIfAborted()
    await pauseBetweenPolls(Math.min(firstPauseMs * 2 ** Math.min(round, 8), longestPauseMs), signal)
    if (pursuit.canSubscribe) await consumeEvents(followed, pursuit, resumeTaskStream(followed, pursuit))
    if (!isSettled(followed, pursuit)) await pollTask(followed, pursuit)
  }
  return pursuit.task
}

/** A peer that shows the wait we ended for this long means it. */
function isSettled({ answers }: FollowDeps, { task, since }: FollowState): boolean {
  return isTaskAtRest(task, performance.now() - since < staleMs ? answers : undefined)
}

function resumeTaskStream({ client }: FollowDeps, { task, lastEventId }: FollowState): AsyncIterator<StreamedEvent> {
  return client.subscribe(task.id, lastEventId)
}

/** Reads a stream to its end, whatever that is; what it said stays said. */
async function consumeEvents(
  followed: FollowDeps,
  pursuit: FollowState,
  events: AsyncIterator<StreamedEvent>,
): Promise<void> {
  try {
    while (!isSettled(followed, pursuit)) {
      const read = await events.next()
      if (read.done === true) return
      applyStreamedEvent(followed, pursuit, read.value)
    }
  } catch (error) {
    followed.signal.throwIfAborted()
    // Not offered after all, or over meanwhile: asking tells which.
    if (isRemoteFault(error, 'remote_unsupported', 'remote_task_lost', 'remote_refused')) pursuit.canSubscribe = false
    else countMiss(pursuit, error)
  } finally {
    await events.return?.(undefined)
  }
}

function applyStreamedEvent(followed: FollowDeps, pursuit: FollowState, { event, id }: StreamedEvent): void {
  pursuit.task = taskAfter(pursuit.task, event) ?? pursuit.task
  if (pursuit.task.artifacts.length > followed.limits.maxArtifacts) throw new RemoteFault('remote_too_much')
  pursuit.lastEventId = id ?? pursuit.lastEventId
  pursuit.misses = 0
  showProgress(followed, pursuit)
}

async function pollTask(followed: FollowDeps, pursuit: FollowState): Promise<void> {
  try {
    const task = await followed.client.get(pursuit.task.id)
    applyStreamedEvent(followed, pursuit, { event: { kind: 'task', task }, id: undefined })
  } catch (error) {
    followed.signal.throwIfAborted()
    countMiss(pursuit, error)
  }
}

/** Only what cannot be reached is tried again. */
function countMiss(pursuit: FollowState, error: unknown): void {
  pursuit.misses += 1
  if (!isRemoteFault(error, 'remote_unreachable') || pursuit.misses > mostMisses) throw error
}

/** What was shown cannot be taken back: where its words changed, the answer itself says so. */
function showProgress({ show }: FollowDeps, pursuit: FollowState): void {
  const words = artifactsText(pursuit.task)
  if (words.length <= pursuit.shown.length || !words.startsWith(pursuit.shown)) return
  show(words.slice(pursuit.shown.length))
  pursuit.shown = words
}

function pauseBetweenPolls(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const endPollPause = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', endPollPause)
      resolve()
    }
    const timer = setTimeout(endPollPause, ms)
    signal.addEventListener('abort', endPollPause, { once: true })
    if (signal.aborted) endPollPause()
  })
}
