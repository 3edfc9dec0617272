// The loads of the journey: a closed loop, where each worker sends its next message when the last one is answered, and arrivals
// at random. Every worker has a connection and a chat of its own, so that no messages are merged.
import { connect, type Socket } from 'node:net'
import { findAnswerEnd } from '../load.ts'
import type { ReplyLedger } from './replies.ts'
import { createUpdateRequest } from './updates.ts'

export type JourneyLoad = {
  readonly answered: number
  readonly seconds: number
  readonly latenciesMs: readonly number[]
}

/** `person`: the first of as many people as there are workers. */
export type Target = { readonly port: number; readonly ledger: ReplyLedger; readonly person: number }

type Worker = { readonly person: number; readonly post: (request: Buffer) => Promise<void>; readonly close: () => void }

export async function runClosedLoop(target: Target, inFlight: number, seconds: number): Promise<JourneyLoad> {
  const workers = await openWorkers(target, inFlight)
  const latenciesMs: number[] = []
  const started = performance.now()
  const until = started + seconds * 1000
  try {
    await Promise.all(
      workers.map(async (worker) => {
        while (performance.now() < until) await sendMessage(target.ledger, worker, performance.now(), latenciesMs)
      }),
    )
    return { answered: latenciesMs.length, seconds: (performance.now() - started) / 1000, latenciesMs }
  } finally {
    for (const worker of workers) worker.close()
  }
}

/** Each is used every two seconds: a platform keeps its connections, too. */
const arrivalWorkers = 16

/** Latencies count from the planned moment: a message that finds no free worker has waited, too. */
export async function runArrivals(target: Target, arrivalsMs: readonly number[]): Promise<JourneyLoad> {
  const free = await openWorkers(target, arrivalWorkers)
  const all = [...free]
  const latenciesMs: number[] = []
  const waiting: ((worker: Worker) => void)[] = []
  const started = performance.now()
  const take = (): Worker | Promise<Worker> => free.shift() ?? new Promise((resolve) => void waiting.push(resolve))
  const giveBack = (worker: Worker): void => {
    const next = waiting.shift()
    if (next === undefined) free.push(worker)
    else next(worker)
  }
  const arrive = async (atMs: number): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, started + atMs - performance.now())))
    const plannedAt = started + atMs
    const worker = await take()
    // The timer is a little late, and the subject is not to blame for it.
    await sendMessage(target.ledger, worker, waiting.length > 0 ? plannedAt : performance.now(), latenciesMs)
    giveBack(worker)
  }
  try {
    await Promise.all(arrivalsMs.map(arrive))
    return { answered: latenciesMs.length, seconds: (performance.now() - started) / 1000, latenciesMs }
  } finally {
    for (const worker of all) worker.close()
  }
}

/** Moments of a Poisson process, in milliseconds from the start; one at least, so that there is something to measure. */
export function planArrivals(perSecond: number, seconds: number, random: () => number): readonly number[] {
  const arrivals: number[] = []
  let at = 0
  for (;;) {
    at += (-Math.log(1 - random()) / perSecond) * 1000
    if (at >= seconds * 1000) return arrivals.length === 0 ? [0] : arrivals
    arrivals.push(at)
  }
}

/** A message without a reply has no latency; the ledger tells that it is lost. */
async function sendMessage(
  ledger: ReplyLedger,
  { person, post }: Worker,
  startedAt: number,
  latenciesMs: number[],
): Promise<void> {
  const { number, replied } = ledger.expectReply()
  const [, at] = await Promise.all([post(createUpdateRequest(number, person)), replied])
  if (at !== undefined) latenciesMs.push(at - startedAt)
}

function openWorkers({ port, person }: Target, count: number): Promise<Worker[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => openWorker(port, person + index)))
}

/** Servers close what is idle, after five seconds if they are Node's; an older connection is not written to. */
const maxIdleMs = 3_000

async function openWorker(port: number, person: number): Promise<Worker> {
  let socket = await openSocket(port)
  let usedAt = performance.now()
  return {
    person,
    async post(request) {
      if (socket.destroyed || performance.now() - usedAt > maxIdleMs) {
        socket.destroy()
        socket = await openSocket(port)
      }
      await postRequest(socket, request)
      usedAt = performance.now()
    },
    close: () => socket.destroy(),
  }
}

function openSocket(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      // While it is idle, nothing waits for it: the next request finds it destroyed.
      socket.on('error', () => {})
      resolve(socket)
    })
  })
}

const answerTimeoutMs = 20_000

/** Rejects at an answer that is not 200: it would not be followed by a reply. */
function postRequest(socket: Socket, request: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    let received: Buffer = Buffer.alloc(0)
    const end = (problem: string | undefined): void => {
      clearTimeout(late)
      socket.off('data', receive)
      socket.off('close', closed)
      if (problem === undefined) resolve()
      else reject(new Error(problem))
    }
    const late = setTimeout(() => end(`no answer within ${answerTimeoutMs} ms`), answerTimeoutMs)
    const closed = (): void => end('the subject closed the connection')
    const receive = (chunk: Buffer): void => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      const size = findAnswerEnd(received)
      if (size === 'incomplete' || (typeof size === 'number' && received.length < size)) return
      const status = received.toString('latin1', 9, 12)
      if (size === 'unknown') end('the subject does not say how long its answer is')
      else end(status === '200' ? undefined : `not accepted: ${status}`)
    }
    socket.on('close', closed)
    socket.on('data', receive)
    socket.write(request)
  })
}
