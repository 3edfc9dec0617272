// What several suites of one run need is made once: each suite loads its setup anew, only the process is the same.

const run = globalThis as typeof globalThis & { parleyTestRun?: Map<string, Promise<unknown>> }

/** The first suite that asks has it made; the others wait for the same. */
export function onceInRun<T>(name: string, make: () => Promise<T>): Promise<T> {
  const made = run.parleyTestRun ?? new Map<string, Promise<unknown>>()
  run.parleyTestRun = made
  const promise = made.get(name) ?? make()
  made.set(name, promise)
  // Under one name there is one kind of thing.
  return promise as Promise<T>
}
