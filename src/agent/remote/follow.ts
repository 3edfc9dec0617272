// A remote task, followed until it rests. A stream that breaks off with a task unsettled is no answer: it is taken up again
// where it can be, and asked about where it cannot.
import type { RemoteClient, StreamedEvent } from './client.ts'
import { isFault, RemoteFault } from './fault.ts'
import type { RemoteLimits } from './limits.ts'
import { type RemoteTask, rests, taskAfter, wordsOf } from './task.ts'

export type Followed = {
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

type Pursuit = {
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

export async function follow(followed: Followed, first: RemoteTask): Promise<RemoteTask> {
  const { signal, isStreaming } = followed
  const pursuit: Pursuit = {
    since: performance.now(),
    task: first,
    lastEventId: undefined,
    canSubscribe: isStreaming,
    misses: 0,
    shown: '',
  }
  showMore(followed, pursuit)
  if (followed.live !== undefined) await consume(followed, pursuit, followed.live)
  for (let round = 0; !isSettled(followed, pursuit); round += 1) {
    signal.throwIfAborted()
    await pause(Math.min(firstPauseMs * 2 ** Math.min(round, 8), longestPauseMs), signal)
    if (pursuit.canSubscribe) await consume(followed, pursuit, subscribed(followed, pursuit))
    if (!isSettled(followed, pursuit)) await look(followed, pursuit)
  }
  return pursuit.task
}

/** A peer that shows the wait we ended for this long means it. */
function isSettled({ answers }: Followed, { task, since }: Pursuit): boolean {
  return rests(task, performance.now() - since < staleMs ? answers : undefined)
}

function subscribed({ client }: Followed, { task, lastEventId }: Pursuit): AsyncIterator<StreamedEvent> {
  return client.subscribe(task.id, lastEventId)
}

/** Reads a stream to its end, whatever that is; what it said stays said. */
async function consume(followed: Followed, pursuit: Pursuit, events: AsyncIterator<StreamedEvent>): Promise<void> {
  try {
    while (!isSettled(followed, pursuit)) {
      const read = await events.next()
      if (read.done === true) return
      takeIn(followed, pursuit, read.value)
    }
  } catch (error) {
    followed.signal.throwIfAborted()
    // Not offered after all, or over meanwhile: asking tells which.
    if (isFault(error, 'remote_unsupported', 'remote_task_lost', 'remote_refused')) pursuit.canSubscribe = false
    else missed(pursuit, error)
  } finally {
    await events.return?.(undefined)
  }
}

function takeIn(followed: Followed, pursuit: Pursuit, { event, id }: StreamedEvent): void {
  pursuit.task = taskAfter(pursuit.task, event) ?? pursuit.task
  if (pursuit.task.artifacts.length > followed.limits.maxArtifacts) throw new RemoteFault('remote_too_much')
  pursuit.lastEventId = id ?? pursuit.lastEventId
  pursuit.misses = 0
  showMore(followed, pursuit)
}

async function look(followed: Followed, pursuit: Pursuit): Promise<void> {
  try {
    const task = await followed.client.get(pursuit.task.id)
    takeIn(followed, pursuit, { event: { kind: 'task', task }, id: undefined })
  } catch (error) {
    followed.signal.throwIfAborted()
    missed(pursuit, error)
  }
}

/** Only what cannot be reached is tried again. */
function missed(pursuit: Pursuit, error: unknown): void {
  pursuit.misses += 1
  if (!isFault(error, 'remote_unreachable') || pursuit.misses > mostMisses) throw error
}

/** What was shown cannot be taken back: where its words changed, the answer itself says so. */
function showMore({ show }: Followed, pursuit: Pursuit): void {
  const words = wordsOf(pursuit.task)
  if (words.length <= pursuit.shown.length || !words.startsWith(pursuit.shown)) return
  show(words.slice(pursuit.shown.length))
  pursuit.shown = words
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
  })
}
