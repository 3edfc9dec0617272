// The sending side of a platform: signs updates, delivers each until it gets a 2xx, and writes down what it was told.
import { signLoopback } from '../doubles/loopback/index.ts'
import { delay } from './crash-test.ts'
import { loopbackSecret, type Wish } from './subject-settings.ts'

export type Update = {
  readonly connection: string
  readonly conversation: string
  readonly id: string
  readonly from: string
  readonly wish: Wish
  /** Wants an answer of its own: is never merged. */
  readonly isAlone?: boolean
  /** How many bytes it carries beside its wish. */
  readonly ballast?: number
  /** It changes or takes back an earlier message. */
  readonly amends?: { readonly event: 'edit' | 'delete'; readonly target: string; readonly version: string }
}

/** One try: when it began by the monotonic clock, how long it took, and the status it met; none: no answer at all. */
export type Try = { readonly startedAt: number; readonly ms: number; readonly status: number | undefined }

export type Platform = {
  /** Everything ever handed in, in the order in which it was. */
  readonly updates: readonly Update[]
  /** Keys of the updates that got a 2xx, in the order in which they got it. */
  readonly acknowledged: ReadonlySet<string>
  /** How many of the 2xx answers said this: accepted, duplicate, … */
  readonly outcomes: ReadonlyMap<string, number>
  readonly tries: readonly Try[]
  /** Failed tries: no connection, no answer in time, or no 2xx. */
  readonly failures: () => number
  /** Delivers once more and again until it is acknowledged; updates of one conversation wait for one another. */
  readonly send: (update: Update) => Promise<void>
  /** One try. The outcome it was told, or undefined without a 2xx. */
  readonly post: (update: Update, url?: string, patienceMs?: number) => Promise<string | undefined>
  /** Resolves when everything handed in was acknowledged. */
  readonly settled: () => Promise<void>
  /** No more tries. */
  readonly close: () => void
}

export type PlatformOptions = {
  /** The gateways to deliver to; an empty list means that none is up. */
  readonly urls: () => readonly string[]
  readonly channelOf: (connection: string) => string
  readonly random: () => number
  readonly timeoutMs: number
  /** Requests under way at the same time, at most. */
  readonly maxInFlight: number
  /** The shortest pause before the next try of what was not acknowledged; the longest is twice as long. */
  readonly retryMs: number
}

export function keyOf({ connection, id }: Pick<Update, 'connection' | 'id'>): string {
  return `${connection}/${id}`
}

export function createPlatform(options: PlatformOptions): Platform {
  const updates: Update[] = []
  const tries: Try[] = []
  const acknowledged = new Set<string>()
  const outcomes = new Map<string, number>()
  const queues = new Map<string, Promise<void>>()
  const known = new Set<string>()
  const slots = createSlots(options.maxInFlight)
  const signed = new Map<string, SignedRequest>()
  let failures = 0
  let isClosed = false

  const handIn = (update: Update): void => {
    if (!known.has(keyOf(update))) updates.push(update)
    known.add(keyOf(update))
  }
  const post: Platform['post'] = async (update, url = anyOf(options), patienceMs = options.timeoutMs) => {
    handIn(update)
    if (url === undefined) return undefined
    const key = keyOf(update)
    const request = signed.get(key) ?? (await sign(update))
    signed.set(key, request)
    const path = `/hooks/${options.channelOf(update.connection)}/${update.connection}`
    const startedAt = performance.now()
    const { status, told } = await deliver(`${url}${path}`, request, patienceMs)
    tries.push({ startedAt, ms: performance.now() - startedAt, status })
    if (told === undefined) {
      failures += 1
      return undefined
    }
    acknowledged.add(key)
    outcomes.set(told, (outcomes.get(told) ?? 0) + 1)
    return told
  }
  const untilAcknowledged = async (update: Update): Promise<void> => {
    while (!isClosed && (await slots(() => post(update))) === undefined)
      await delay(options.retryMs * (1 + options.random()))
    signed.delete(keyOf(update))
  }
  return {
    updates,
    acknowledged,
    outcomes,
    tries,
    failures: () => failures,
    post,
    send(update) {
      handIn(update)
      const lane = `${update.connection}/${update.conversation}`
      const turn = (queues.get(lane) ?? Promise.resolve()).then(() => untilAcknowledged(update))
      queues.set(lane, turn)
      return turn
    },
    async settled() {
      await Promise.all(queues.values())
    },
    close() {
      isClosed = true
    },
  }
}

/** Runs at most so many at once; the others wait their turn. */
function createSlots(count: number): <T>(work: () => Promise<T>) => Promise<T> {
  let free = count
  const waiting: (() => void)[] = []
  return async (work) => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }
}

type SignedRequest = { readonly body: Uint8Array<ArrayBuffer>; readonly headers: Record<string, string> }

type Answer = { readonly status: number | undefined; readonly told: string | undefined }

/** The status, and what the gateway said of the update if it was a 2xx. */
async function deliver(url: string, request: SignedRequest, timeoutMs: number): Promise<Answer> {
  try {
    const response = await fetch(url, { method: 'POST', ...request, signal: AbortSignal.timeout(timeoutMs) })
    const text = await response.text()
    return { status: response.status, told: response.ok ? outcomeOf(text) : undefined }
  } catch {
    return { status: undefined, told: undefined }
  }
}

async function sign(update: Update): Promise<SignedRequest> {
  const { id, from, conversation, wish, isAlone = false, ballast = 0, amends } = update
  const event = {
    id,
    from,
    conversation,
    text: wish + ' '.repeat(ballast),
    ...(isAlone ? { mustReplyIndividually: 'answer' } : {}),
    ...amends,
  }
  const body = new TextEncoder().encode(JSON.stringify(event))
  return { body, headers: await signLoopback(body, loopbackSecret) }
}

function anyOf({ urls, random }: PlatformOptions): string | undefined {
  const up = urls()
  return up[Math.floor(random() * up.length)]
}

function outcomeOf(text: string): string {
  const body: unknown = JSON.parse(text)
  const outcomes = typeof body === 'object' && body !== null && 'outcomes' in body ? body.outcomes : undefined
  return Array.isArray(outcomes) ? outcomes.join(' ') : 'none'
}
