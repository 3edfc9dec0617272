// The sending side of a platform: signs updates, delivers each until it gets a 2xx, and writes down what it was told.
import { signLoopback } from '../doubles/loopback/index.ts'
import { delay } from './proof.ts'
import { loopbackSecret, type Wish } from './subject-settings.ts'

export type Update = {
  readonly connection: string
  readonly conversation: string
  readonly id: string
  readonly from: string
  readonly wish: Wish
}

export type Platform = {
  /** Everything ever handed in, in the order in which it was. */
  readonly updates: readonly Update[]
  /** Keys of the updates that got a 2xx, in the order in which they got it. */
  readonly acknowledged: ReadonlySet<string>
  /** How many of the 2xx answers said this: accepted, duplicate, … */
  readonly outcomes: ReadonlyMap<string, number>
  /** Failed tries: no connection, no answer in time, or no 2xx. */
  readonly failures: () => number
  /** Delivers once more and again until it is acknowledged; updates of one conversation wait for one another. */
  readonly send: (update: Update) => Promise<void>
  /** One try. The outcome it was told, or undefined without a 2xx. */
  readonly post: (update: Update, url?: string) => Promise<string | undefined>
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
}

export function keyOf({ connection, id }: Pick<Update, 'connection' | 'id'>): string {
  return `${connection}/${id}`
}

export function createPlatform(options: PlatformOptions): Platform {
  const updates: Update[] = []
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
  const post = async (update: Update, url = anyOf(options)): Promise<string | undefined> => {
    handIn(update)
    if (url === undefined) return undefined
    const key = keyOf(update)
    const request = signed.get(key) ?? (await sign(update))
    signed.set(key, request)
    const path = `/hooks/${options.channelOf(update.connection)}/${update.connection}`
    const told = await deliver(`${url}${path}`, request, options.timeoutMs)
    if (told === undefined) {
      failures += 1
      return undefined
    }
    acknowledged.add(key)
    outcomes.set(told, (outcomes.get(told) ?? 0) + 1)
    return told
  }
  const untilAcknowledged = async (update: Update): Promise<void> => {
    while (!isClosed && (await slots(() => post(update))) === undefined) await delay(20 + options.random() * 30)
    signed.delete(keyOf(update))
  }
  return {
    updates,
    acknowledged,
    outcomes,
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

/** What the gateway said of it, or undefined without a 2xx. */
async function deliver(url: string, request: SignedRequest, timeoutMs: number): Promise<string | undefined> {
  try {
    const response = await fetch(url, { method: 'POST', ...request, signal: AbortSignal.timeout(timeoutMs) })
    const text = await response.text()
    return response.ok ? outcomeOf(text) : undefined
  } catch {
    return undefined
  }
}

async function sign(update: Update): Promise<SignedRequest> {
  const { id, from, conversation, wish } = update
  const body = new TextEncoder().encode(JSON.stringify({ id, from, conversation, text: wish }))
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
