// One shape at three sizes: what each cost the gateway and its database, and how slow /healthz was meanwhile.
import { type HealthWatch, slowestMs } from './health.ts'

/** One thing that a stranger sends, ready to go. */
type Ready = { readonly bytes: number; readonly send: () => Promise<string> }

export type Shape = {
  readonly name: string
  readonly maxBytes: number
  readonly make: (bytes: number, serial: number) => Ready
}

export type Meter = {
  readonly cpuMs: () => Promise<number>
  readonly databaseCpuMs: () => Promise<number>
  readonly rssMb: () => Promise<number>
  readonly health: HealthWatch
  /** What one answer of /healthz costs. */
  readonly healthCpuMs: number
}

export type Measured = {
  readonly shape: string
  /** The sizes in bytes, each twice the one before. */
  readonly bytes: readonly number[]
  /** How many of each size were sent for one figure. */
  readonly repeats: number
  /** CPU of the gateway for all of a size, the least of the tries. */
  readonly cpuMs: readonly number[]
  /** The last doubling: twice the bytes cost so many times as much. Zero where it cost too little to tell. */
  readonly ratio: number
  /** At the largest size. */
  readonly cpuSecondsPerMb: number
  readonly databaseSecondsPerMb: number
  /** The slowest answer of /healthz in the best try, without waiting for a processor; and in all of them with it. */
  readonly healthMs: number
  readonly healthRawMs: number
  readonly rssMb: number
  /** What was answered to the largest. */
  readonly answers: string
  readonly idleBefore: number
}

type Options = { readonly scale: 'ci' | 'full'; readonly idleBefore: number }

/** The shares of the largest size that are measured, and how long one try of a size should at least take. */
const plans = {
  ci: { shares: [0.5, 1], enoughMs: 100, maxRepeats: 8, maxTries: 8 },
  full: { shares: [0.25, 0.5, 1], enoughMs: 400, maxRepeats: 100, maxTries: 4 },
} as const
/** A collection of garbage may fall into any figure: so much more tells nothing about how the work grows. */
const graceMs = 60
/** So much is not noise: it need not be tried again. */
const clearMs = 4000
/** Twice the bytes should cost twice as much; what lies between is noise. */
export const maxRatio = 2.4
export const maxHealthMs = 200
const settleMs = 60
const maxSettleMs = 5000

let serial = 0

export async function measureShape(meter: Meter, shape: Shape, { scale, idleBefore }: Options): Promise<Measured> {
  const { shares, enoughMs, maxRepeats, maxTries } = plans[scale]
  const sizes = shares.map((share) => Math.floor(shape.maxBytes * share))
  meter.health.take()
  const first = await take(meter, shape, sizes[0] ?? 0, 1)
  const expectedMs = Math.max(4, first.cpuMs / shares[0])
  const repeats = Math.min(maxRepeats, Math.max(1, Math.ceil(enoughMs / expectedMs)))
  const best = sizes.map(() => Number.POSITIVE_INFINITY)
  let last = first
  // A pause of this machine does not come again; one that the shape makes does.
  let [healthMs, healthRawMs] = [Number.POSITIVE_INFINITY, 0]
  for (let tries = 0; tries < maxTries; tries += 1) {
    for (const [at, size] of sizes.entries()) {
      // What is clear at the first try is not tried again.
      if (tries > 0 && at < sizes.length - 2) continue
      const taken = await take(meter, shape, size, repeats)
      best[at] = Math.min(best[at] ?? Number.POSITIVE_INFINITY, taken.cpuMs)
      if (at === sizes.length - 1) last = taken
    }
    const looks = meter.health.take()
    healthMs = Math.min(healthMs, slowestMs(looks))
    healthRawMs = Math.max(healthRawMs, ...looks.map(({ ms }) => ms))
    if ((ratioOf(best) <= maxRatio && healthMs <= maxHealthMs) || (best.at(-1) ?? 0) > clearMs) break
  }
  const megabytes = (last.bytes * repeats) / 1e6
  return {
    shape: shape.name,
    bytes: sizes,
    repeats,
    cpuMs: best,
    ratio: ratioOf(best),
    cpuSecondsPerMb: (best.at(-1) ?? Number.NaN) / 1000 / megabytes,
    databaseSecondsPerMb: last.databaseMs / 1000 / megabytes,
    healthMs,
    healthRawMs,
    rssMb: await meter.rssMb(),
    answers: last.answers,
    idleBefore,
  }
}

/** Less is not told apart from what the process does anyway. */
const leastMs = 40

/** Zero where it cost too little to tell. */
function ratioOf(figures: readonly number[]): number {
  const [half = 0, whole = 0] = figures.slice(-2)
  return Math.max(0, whole - graceMs) / Math.max(half, leastMs)
}

type Taken = { readonly cpuMs: number; readonly databaseMs: number; readonly bytes: number; readonly answers: string }

/** Sent one after the other; what the gateway does after it has answered counts too, and answering /healthz does not. */
async function take(meter: Meter, shape: Shape, bytes: number, repeats: number): Promise<Taken> {
  const counts = new Map<string, number>()
  let sent = 0
  const [before, databaseBefore, asked] = [await meter.cpuMs(), await meter.databaseCpuMs(), meter.health.count()]
  for (let done = 0; done < repeats; done += 1) {
    serial += 1
    const ready = shape.make(bytes, serial)
    sent = ready.bytes
    const answer = await ready.send()
    counts.set(answer, (counts.get(answer) ?? 0) + 1)
  }
  await settled(meter)
  const cpuMs = (await meter.cpuMs()) - before - (meter.health.count() - asked) * meter.healthCpuMs
  const databaseMs = (await meter.databaseCpuMs()) - databaseBefore
  const answers = [...counts].map(([answer, count]) => (count === 1 ? answer : `${answer} x${count}`)).join(', ')
  return { cpuMs: Math.max(0, cpuMs), databaseMs, bytes: sent, answers }
}

/** Until the gateway does little more than answer /healthz. */
async function settled({ cpuMs }: Meter): Promise<void> {
  const until = performance.now() + maxSettleMs
  for (let before = await cpuMs(); performance.now() < until; ) {
    await new Promise((resolve) => setTimeout(resolve, settleMs))
    const now = await cpuMs()
    if (now - before <= 10) return
    before = now
  }
}
