// Whoever watches a task in this process is woken when something of it was stored here; what others store is found by asking.

/** One watcher of one key. It sleeps until somebody tells about the key, at most so long. */
export type Watcher = { readonly wait: (ms: number) => Promise<void>; readonly leave: () => void }

export type Watchers = {
  readonly join: (key: string) => Watcher
  readonly tell: (key: string) => void
}

export function createWatchers(): Watchers {
  const present = new Map<string, Set<() => void>>()
  return {
    tell(key) {
      for (const wake of present.get(key) ?? []) wake()
    },
    join(key) {
      let isTold = false
      let onTold: (() => void) | undefined
      const wake = (): void => {
        isTold = true
        onTold?.()
      }
      const others = present.get(key) ?? new Set()
      present.set(key, others.add(wake))
      return {
        async wait(ms) {
          if (!isTold) await sleepUntil(ms, (wakeUp) => (onTold = wakeUp))
          onTold = undefined
          isTold = false
        },
        leave() {
          others.delete(wake)
          if (others.size === 0 && present.get(key) === others) present.delete(key)
          wake()
        },
      }
    },
  }
}

function sleepUntil(ms: number, onWake: (wakeUp: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    onWake(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
