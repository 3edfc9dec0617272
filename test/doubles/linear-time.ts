// Whether work grows with its input and not with the square of it. By the processor's time: others' work must not count.

/** Twice as much in four times the time and some milliseconds: what grows with the square needs more. The least of three tries. */
export function isLinear(half: () => unknown, whole: () => unknown): boolean {
  let [short, long] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let tries = 0; tries < 3; tries += 1) {
    short = Math.min(short, cpuMs(half))
    long = Math.min(long, cpuMs(whole))
    if (long < short * 4 + 250) return true
  }
  return false
}

export function cpuMs(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
