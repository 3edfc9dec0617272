// The watchers of tasks in this process: woken when something of a task was stored here; what other processes store is found by polling.
import type { TaskRecord } from './task-store.ts'

/** One watcher of one task. */
export type TaskWatcher = {
  /** Sleeps until a change of the task is announced, at most so long; the task itself, if the announcement brought it. */
  readonly wait: (ms: number) => Promise<TaskRecord | undefined>
  readonly leave: () => void
}

export type TaskWatchers = {
  /** `isForEnd`: waits for its end, and is given it. */
  readonly join: (taskId: string, isForEnd?: boolean) => TaskWatcher
  /** Something of it was committed. `task`: as it stood right after that. */
  readonly tell: (taskId: string, task?: TaskRecord) => void
  /** Something of it was committed that is no end. */
  readonly tellProgress: (taskId: string) => void
  /** A caller waits for its end, so that the commit returns it. */
  readonly isAwaited: (taskId: string) => boolean
}

type Present = { readonly isForEnd: boolean; readonly wake: (task?: TaskRecord) => void }

export function createTaskWatchers(): TaskWatchers {
  const present = new Map<string, Set<Present>>()
  return {
    tell(taskId, task) {
      for (const { wake } of present.get(taskId) ?? []) wake(task)
    },
    tellProgress(taskId) {
      for (const { isForEnd, wake } of present.get(taskId) ?? []) if (!isForEnd) wake()
    },
    isAwaited: (taskId) => [...(present.get(taskId) ?? [])].some(({ isForEnd }) => isForEnd),
    join(taskId, isForEnd = false) {
      let isTold = false
      let told: TaskRecord | undefined
      let onTold: (() => void) | undefined
      const wakeWatcher = (task?: TaskRecord): void => {
        isTold = true
        // Told twice, only the later counts: it may have moved on since.
        told = task
        onTold?.()
      }
      const self = { isForEnd, wake: wakeWatcher }
      const others = present.get(taskId) ?? new Set()
      present.set(taskId, others.add(self))
      return {
        async wait(ms) {
          if (!isTold) await sleepUntilWoken(ms, (wakeUp) => (onTold = wakeUp))
          const task = told
          onTold = undefined
          isTold = false
          told = undefined
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
