// Watches the runs of this process for stops and new messages: one query per round, for all of them together.
// A run that is over before the first round costs nothing.
import type { Db } from '../db/client.ts'
import { type RunNews, readRunUpdates } from '../db/runs.ts'

export type RunWatch = {
  /** `onNews` is called every round; the answer ends the watching. */
  readonly watch: (turnId: string, onNews: (news: RunNews) => void) => () => void
  readonly stop: () => void
}

export type RunWatchDeps = { readonly db: Db; readonly everyMs: number }

export function createRunWatch({ db, everyMs }: RunWatchDeps): RunWatch {
  const watched = new Map<string, (news: RunNews) => void>()
  let timer: ReturnType<typeof setInterval> | undefined
  let isAsking = false
  const stopRunWatch = (): void => {
    if (timer !== undefined) clearInterval(timer)
    timer = undefined
  }
  const checkRunsForUpdates = async (): Promise<void> => {
    // A slow database is asked once, not once more every round.
    if (isAsking) return
    isAsking = true
    try {
      for (const news of await readRunUpdates(db, [...watched.keys()])) watched.get(news.id)?.(news)
    } catch {
      // The next round asks again, and so does the next step of the run.
    } finally {
      isAsking = false
    }
  }
  return {
    watch(turnId, onNews) {
      watched.set(turnId, onNews)
      timer ??= setInterval(() => void checkRunsForUpdates(), everyMs)
      return () => {
        watched.delete(turnId)
        if (watched.size === 0) stopRunWatch()
      }
    },
    stop: stopRunWatch,
  }
}
