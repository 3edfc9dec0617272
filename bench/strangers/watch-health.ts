// A thread that asks /healthz again and again: apart from the driver, which makes megabytes meanwhile.
import { readFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'
import type { Look } from './health.ts'

const { url, pid, everyMs, patienceMs } = workerData as {
  url: string
  pid: number
  everyMs: number
  patienceMs: number
}
const agent = new Agent({ keepAlive: true, maxSockets: 64 })

/** Linux counts, in nanoseconds: time on a processor, and time ready without one. */
function waitedMs(path: string): number {
  try {
    return Number(readFileSync(path, 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}

/** For how long this thread and the gateway's main thread wanted a processor and had none. */
const starvedMs = (): number => waitedMs('/proc/thread-self/schedstat') + waitedMs(`/proc/${pid}/schedstat`)

function ask(askedAt = performance.now(), before = starvedMs()): void {
  const told = (isAnswered: boolean) => (): void => {
    const look: Look = { ms: performance.now() - askedAt, starvedMs: starvedMs() - before, isAnswered }
    parentPort?.postMessage(look)
  }
  const request = get(url, { agent, timeout: patienceMs }, (response) => {
    response.resume()
    response.on('end', told(response.statusCode === 200))
  })
  request.on('timeout', () => request.destroy(new Error('late')))
  // A connection that was idle for long may have been closed while the question was on its way.
  request.on('error', () => (request.reusedSocket ? ask(askedAt, before) : told(false)()))
}

setInterval(() => ask(), everyMs)
