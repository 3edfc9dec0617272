// One statement after the other for an engine that works in this very thread, with a pause for everybody else in between.
// The engine's own queue goes from one statement to the next without returning to the event loop: with many of them waiting
// no request was read, no timer rang and no lease was renewed until all of them were done.

/** Runs work when its turn has come. What runs inside must not queue again: it would wait for itself. */
export type PoliteQueue = <T>(work: () => Promise<T>) => Promise<T>

/** How long the others may be kept waiting, by more than one statement. */
const busyMs = 10

export function createPoliteQueue(pause: () => Promise<void>, monotonicMs: () => number): PoliteQueue {
  let last: Promise<unknown> = Promise.resolve()
  let pausedAt = monotonicMs()
  const breathe = async (): Promise<void> => {
    if (monotonicMs() - pausedAt < busyMs) return
    await pause()
    pausedAt = monotonicMs()
  }
  return (work) => {
    const done = last.then(breathe).then(work)
    // The next one runs whatever became of this one; its own caller hears of a failure.
    last = done.catch(() => {})
    return done
  }
}
