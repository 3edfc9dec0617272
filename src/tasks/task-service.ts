// The task service: the caller that asked for a task reads, watches, awaits and cancels it here. It shows only what is stored.
import { isFinalState, type TaskEvent, type TaskService, type TaskSnapshot, type TaskState } from '../contract/index.ts'
import type { TaskLogLine, TaskRecord, TaskStore, TaskUpdates } from '../db/tasks.ts'
import {
  collectTaskOutputs,
  firstCursor,
  formatTaskCursor,
  lastCursor,
  listAgentMessages,
  parseTaskCursor,
  toTaskEvents,
} from './task-log.ts'

export type TaskServiceDeps = {
  readonly store: TaskStore
  readonly watchers: TaskWatchers
  /** Something is to be done: a run to be stopped, a call to be sent. */
  readonly wake: () => void
  readonly monotonicMs: () => number
}

/** Events that other processes store are found by polling this often. */
const pollMs = 500
const batchSize = 200
const maxPushConfigs = 10

export function createTaskService(deps: TaskServiceDeps): TaskService {
  const { store, watchers, wake } = deps
  return {
    ofMessage: store.ofMessage,
    async cursorBefore(inboxId) {
      const place = await store.placeBefore(inboxId)
      return place === undefined ? firstCursor : formatTaskCursor(place)
    },
    ofMessageId: (messageId, { subject }) => store.ofMessageId(messageId, subject),
    find: (id, { subject }) => store.find(id, subject),
    async read(id, { subject }) {
      const found = await store.dossier(id, subject)
      return found === undefined ? undefined : toTaskSnapshot(found)
    },
    async list(query, { subject }) {
      // An anonymous caller has no list: a task without an owner is opened by its id alone.
      return subject === null ? { tasks: [], total: 0, hasMore: false } : store.list(query, subject)
    },
    waits: (agent, contextId, { subject }) => store.waits(agent, contextId, subject),
    isForeignContext: (agent, contextId, { subject }) => store.isForeignContext(agent, contextId, subject),
    watch: (id, from, signal) => watchTask(deps, id, from, signal),
    settled: (id, by, until, signal) => awaitTaskAtRest(deps, { id, owner: by.subject, ...until }, signal),
    async cancel(id, { subject }) {
      const outcome = await store.cancel(id, subject)
      if (outcome === 'cancelled') {
        wake()
        watchers.report(id)
      }
      return outcome
    },
    push: {
      async save(config, { subject }, isInline = false) {
        const outcome = await store.savePush(config, subject, { limit: maxPushConfigs, isInline })
        if (isInline) wake()
        return outcome
      },
      find: (taskId, id, { subject }) => store.findPush(taskId, id, subject),
      list: (taskId, { subject }) => store.listPush(taskId, subject),
      remove: (taskId, id, { subject }) => store.removePush(taskId, id, subject),
      receiver: store.receiver,
      async reported(taskId) {
        const found = await store.toReport(taskId)
        return found === undefined ? undefined : toTaskSnapshot(found)
      },
      disable: store.disablePush,
    },
  }
}

function toTaskSnapshot({ task, asked, lines: all }: TaskRecord): TaskSnapshot {
  const lines = omitLinesAfterCancel(task, all)
  const user = asked.map(({ payload, at }) => ({ role: 'user' as const, payload, at }))
  const messages = [...user, ...listAgentMessages(lines)].sort((one, other) => (one.at < other.at ? -1 : 1))
  const last = lines.at(-1)
  return {
    task,
    messages,
    outputs: collectTaskOutputs(lines),
    cursor: last === undefined ? firstCursor : formatTaskCursor(last),
  }
}

type WatchFrom = { readonly cursor: string; readonly state?: TaskState; readonly isFresh?: boolean }

/** Listens from now on, not from the first reading on: what is told in between is not slept through. */
function watchTask(
  deps: TaskServiceDeps,
  id: string,
  from: WatchFrom,
  signal: AbortSignal,
): AsyncGenerator<readonly TaskEvent[]> {
  const watcher = deps.watchers.join(id)
  if (signal.aborted) watcher.leave()
  else signal.addEventListener('abort', () => watcher.leave(), { once: true })
  return streamTaskEvents(deps, id, from, { watcher, signal })
}

async function* streamTaskEvents(
  deps: TaskServiceDeps,
  id: string,
  from: WatchFrom,
  { watcher, signal }: { readonly watcher: TaskWatcher; readonly signal: AbortSignal },
): AsyncGenerator<readonly TaskEvent[]> {
  let place = parseTaskCursor(from.cursor)
  let shown = from.state
  let isWaitReported = false
  try {
    if (from.isFresh === true) await watcher.wait(pollMs)
    while (place !== undefined && !signal.aborted) {
      const news = await deps.store.news(id, place, batchSize)
      if (news === undefined) return
      const events = omitLinesAfterCancel(news, news.lines).flatMap(toTaskEvents)
      shown = events.findLast((event) => event.kind === 'state')?.state ?? shown
      const last = news.lines.at(-1)
      place = last ?? place
      const isAll = news.lines.length < batchSize
      // States that no turn reached: refused for want of access, or cancelled. And a task that was told, before it has a turn, that it waits.
      const isReported: boolean = news.state === 'submitted' && news.said !== null && !isWaitReported
      const isNews = isAll && (news.state !== shown || isReported)
      const reached = isNews ? stateChangeEvents(news, last?.runId ?? '', formatTaskCursor(place)) : []
      if (reached.length > 0) shown = news.state
      isWaitReported ||= isReported && isAll
      if (events.length + reached.length > 0) yield [...events, ...reached]
      if (isAll && isFinalState(news.state)) return
      if (isAll) await watcher.wait(pollMs)
    }
  } finally {
    watcher.leave()
  }
}

/** An agent that went on after the cancel is not heard any more. */
function omitLinesAfterCancel(
  { state, stateAt }: Pick<TaskUpdates, 'state' | 'stateAt'>,
  lines: readonly TaskLogLine[],
): readonly TaskLogLine[] {
  return state === 'cancelled' ? lines.filter(({ at }) => at <= stateAt) : lines
}

function stateChangeEvents({ state, stateAt, said }: TaskUpdates, runId: string, cursor: string): readonly TaskEvent[] {
  return [{ cursor: isFinalState(state) ? lastCursor : cursor, at: stateAt, runId, kind: 'state', state, said }]
}

type TaskAwait = {
  readonly id: string
  readonly owner: string | null
  readonly timeoutMs: number
  readonly isFresh?: boolean
}

async function awaitTaskAtRest(
  { store, watchers, monotonicMs }: TaskServiceDeps,
  { id, owner, timeoutMs, isFresh = false }: TaskAwait,
  signal?: AbortSignal,
): Promise<TaskSnapshot | undefined> {
  const until = monotonicMs() + timeoutMs
  const watcher = watchers.join(id, true)
  try {
    let reported = isFresh ? await watcher.wait(Math.min(pollMs, timeoutMs)) : undefined
    for (;;) {
      // Where it rests, only its owner moves it on: what the commit told of it needs no second reading.
      const isEnd = reported !== undefined && isAtRest(reported.task.state) && reported.task.owner === owner
      const found = isEnd ? reported : await store.dossier(id, owner)
      if (found === undefined) return undefined
      const leftMs = until - monotonicMs()
      if (isAtRest(found.task.state) || leftMs <= 0 || signal?.aborted === true) return toTaskSnapshot(found)
      reported = await watcher.wait(Math.min(pollMs, leftMs))
    }
  } finally {
    watcher.leave()
  }
}

function isAtRest(state: TaskState): boolean {
  return isFinalState(state) || state === 'input_required' || state === 'auth_required'
}

// Clients that watch tasks in this process are woken when something of a task was stored here; what other processes store is found
// by polling.

/** One watcher of one task. */
type TaskWatcher = {
  /** Sleeps until a change of the task is announced, at most so long; the task itself, if the announcement brought it. */
  readonly wait: (ms: number) => Promise<TaskRecord | undefined>
  readonly leave: () => void
}

export type TaskWatchers = {
  /** `isForEnd`: waits for its end, and is given it. */
  readonly join: (taskId: string, isForEnd?: boolean) => TaskWatcher
  /** Something of it was committed. `task`: as it stood right after that. */
  readonly report: (taskId: string, task?: TaskRecord) => void
  /** Something of it was committed that is no end. */
  readonly reportProgress: (taskId: string) => void
  /** A caller waits for its end, so that the commit returns it. */
  readonly isAwaited: (taskId: string) => boolean
}

type Present = { readonly isForEnd: boolean; readonly wake: (task?: TaskRecord) => void }

export function createTaskWatchers(): TaskWatchers {
  const present = new Map<string, Set<Present>>()
  return {
    report(taskId, task) {
      for (const { wake } of present.get(taskId) ?? []) wake(task)
    },
    reportProgress(taskId) {
      for (const { isForEnd, wake } of present.get(taskId) ?? []) if (!isForEnd) wake()
    },
    isAwaited: (taskId) => [...(present.get(taskId) ?? [])].some(({ isForEnd }) => isForEnd),
    join(taskId, isForEnd = false) {
      let isReported = false
      let reported: TaskRecord | undefined
      let onReported: (() => void) | undefined
      const wakeWatcher = (task?: TaskRecord): void => {
        isReported = true
        // Told twice, only the later counts: it may have moved on since.
        reported = task
        onReported?.()
      }
      const self = { isForEnd, wake: wakeWatcher }
      const others = present.get(taskId) ?? new Set()
      present.set(taskId, others.add(self))
      return {
        async wait(ms) {
          if (!isReported) await sleepUntilWoken(ms, (wakeUp) => (onReported = wakeUp))
          const task = reported
          onReported = undefined
          isReported = false
          reported = undefined
          return task
        },
        leave() {
          others.delete(self)
          if (others.size === 0 && present.get(taskId) === others) present.delete(taskId)
          wakeWatcher()
        },
      }
    },
  }
}

function sleepUntilWoken(ms: number, onWake: (wakeUp: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    onWake(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
