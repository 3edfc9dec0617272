// The task service: the caller that asked for a task reads, watches, awaits and cancels it here. It shows only what is stored.
import {
  isFinalState,
  type NormalizedResponse,
  type TaskEvent,
  type TaskService,
  type TaskSnapshot,
  type TaskState,
  textPart,
} from '../contract/index.ts'
import type { TaskMessage, TaskOutput } from '../contract/tasks.ts'
import type { TaskLogLine, TaskLogPosition, TaskRecord, TaskStore, TaskUpdates } from '../db/tasks.ts'
import type { JsonObject } from '../lib/json-value.ts'

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
    settled: (id, by, until, signal) => waitUntilTaskPausesOrEnds(deps, { id, owner: by.subject, ...until }, signal),
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

async function waitUntilTaskPausesOrEnds(
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
      const isEnd = reported !== undefined && isPausedOrFinalState(reported.task.state) && reported.task.owner === owner
      const found = isEnd ? reported : await store.dossier(id, owner)
      if (found === undefined) return undefined
      const leftMs = until - monotonicMs()
      if (isPausedOrFinalState(found.task.state) || leftMs <= 0 || signal?.aborted === true)
        return toTaskSnapshot(found)
      reported = await watcher.wait(Math.min(pollMs, leftMs))
    }
  } finally {
    watcher.leave()
  }
}

function isPausedOrFinalState(state: TaskState): boolean {
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
    isAwaited(taskId) {
      for (const { isForEnd } of present.get(taskId) ?? []) if (isForEnd) return true
      return false
    },
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
          if (!isReported) {
            const { promise, resolve } = Promise.withResolvers<void>()
            onReported = resolve
            const timer = setTimeout(resolve, ms)
            await promise
            clearTimeout(timer)
          }
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

// The log of a task: its lines as events for clients that watch.

const taskLogStart: TaskLogPosition = { order: -1, seq: -1 }
const taskLogEnd: TaskLogPosition = { order: Number.MAX_SAFE_INTEGER, seq: 0 }

/** Where a task's log begins, and where nothing comes any more. */
const firstCursor = '0'
const lastCursor = 'end'

/** Undefined: no such cursor was ever handed out. */
function parseTaskCursor(cursor: string): TaskLogPosition | undefined {
  if (cursor === firstCursor) return taskLogStart
  if (cursor === lastCursor) return taskLogEnd
  const [, order, seq] = /^(\d{1,9})\.(\d{1,9})$/.exec(cursor) ?? []
  return order === undefined || seq === undefined ? undefined : { order: Number(order), seq: Number(seq) }
}

function formatTaskCursor({ order, seq }: TaskLogPosition): string {
  return order < 0 ? firstCursor : `${order}.${seq}`
}

/** One line may say two things: the whole answer, and what state the task reached with it. */
function toTaskEvents(line: TaskLogLine): readonly TaskEvent[] {
  const { event, runId, at } = line
  const facts = { cursor: formatTaskCursor(line), at, runId }
  switch (event['type']) {
    case 'started':
      return [{ ...facts, kind: 'state', state: 'working', said: null }]
    case 'text_delta':
      return [{ ...facts, kind: 'words', delta: String(eventMetadata(event)['delta'] ?? '') }]
    case 'reset':
      return [{ ...facts, kind: 'reset' }]
    // Read by operators alone, and by a way of their own.
    case 'exception':
      return []
    case 'done': {
      const said = readEventResponse(event)
      const state = event['task_state'] as TaskState | undefined
      // Only what a task was completed with is its result; whatever else is said is about the task.
      const answer: readonly TaskEvent[] = isStateWithTaskResult(state) ? [{ ...facts, kind: 'answer', said }] : []
      return state === undefined ? answer : [...answer, { ...facts, kind: 'state', state, said }]
    }
    default:
      return [{ ...facts, kind: 'activity', type: String(event['type']), metadata: eventMetadata(event) }]
  }
}

/** An extra message on the way is a result too. */
function isStateWithTaskResult(state: TaskState | undefined): boolean {
  return state === undefined || state === 'completed'
}

function listAgentMessages(lines: readonly TaskLogLine[]): readonly TaskMessage[] {
  const messages: TaskMessage[] = []
  for (const { runId, at, event } of lines) {
    const isMessage = event['type'] === 'done' && !isStateWithTaskResult(event['task_state'] as TaskState | undefined)
    if (isMessage) messages.push({ role: 'agent', runId, said: readEventResponse(event), at })
  }
  return messages
}

/** Per run: its answer, else the words of its latest try. */
function collectTaskOutputs(lines: readonly TaskLogLine[]): readonly TaskOutput[] {
  const outputs = new Map<string, TaskOutput>()
  for (const line of lines) {
    for (const event of toTaskEvents(line)) {
      const { runId } = event
      if (event.kind === 'answer') outputs.set(runId, appendAnswerParts(outputs.get(runId), runId, event.said.parts))
      if (event.kind === 'reset') outputs.delete(runId)
      if (event.kind === 'words') outputs.set(runId, appendDelta(outputs.get(runId), runId, event.delta))
    }
  }
  return [...outputs.values()]
}

/** What was said on the way stays, and what is said last comes behind it. */
function appendAnswerParts(before: TaskOutput | undefined, runId: string, parts: TaskOutput['parts']): TaskOutput {
  return { runId, parts: before?.isWhole === true ? [...before.parts, ...parts] : parts, isWhole: true }
}

function appendDelta(before: TaskOutput | undefined, runId: string, delta: string): TaskOutput {
  if (before?.isWhole === true) return before
  const [part] = before?.parts ?? []
  const text = part !== undefined && 'content' in part ? String(part.content) : ''
  return { runId, parts: [textPart(text + delta, 'text/markdown')], isWhole: false }
}

function eventMetadata(event: JsonObject): JsonObject {
  // Our own recorder writes every event so.
  return (event['metadata'] ?? {}) as JsonObject
}

function readEventResponse(event: JsonObject): NormalizedResponse {
  // Stored by the commit that ended the turn, from a reply that had passed its schema.
  return event['response'] as unknown as NormalizedResponse
}
