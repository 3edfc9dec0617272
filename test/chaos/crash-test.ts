// What a crash test is: a seeded run that ends in checks, each a number against a bar. Facts are told, checks decide.

export type Scale = 'ci' | 'full'

export type CrashTestOptions = {
  readonly scale: Scale
  readonly seed: number
  /** A PostgreSQL server to make a database on; without one the crash test starts its own. */
  readonly postgresUrl: string | undefined
  readonly say: (status: string) => void
}

/** One line of the outcome. A line without a bar is a fact: told, never judged. */
export type Line = {
  readonly name: string
  readonly value: string | number
  readonly bar?: string
  readonly ok: boolean
}

export type CrashTest = (options: CrashTestOptions) => Promise<readonly Line[]>

export function fact(name: string, value: string | number): Line {
  return { name, value, ok: true }
}

export function check(name: string, value: string | number, bar: string, ok: boolean): Line {
  return { name, value, bar, ok }
}

export function zero(name: string, value: number): Line {
  return check(name, value, '0', value === 0)
}

export function equal(name: string, value: number, expected: number): Line {
  return check(name, value, String(expected), value === expected)
}

export function delay(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}

/** Whether the work was done in time. It goes on in any case. */
export async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms)
  })
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}

/** Asks again and again; false when the time is over first. */
export async function eventually(
  isSo: () => boolean | Promise<boolean>,
  maxMs: number,
  everyMs = 50,
): Promise<boolean> {
  const until = performance.now() + maxMs
  for (;;) {
    if (await isSo()) return true
    if (performance.now() >= until) return false
    await delay(everyMs)
  }
}
