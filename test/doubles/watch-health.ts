// Asks a gateway over and over whether it is alive, from a thread of its own: what the test itself is busy with must not count. On Linux
// only the time counts in which the gateway's main thread ran: on a busy machine most of a wait is for a processor, and not for the gateway.
import { Worker } from 'node:worker_threads'

/** Answers the longest time in milliseconds that one answer took while `work` ran. */
export async function worstHealth(
  gateway: { readonly url: string; readonly pid: number },
  work: () => Promise<unknown>,
): Promise<number> {
  const workerData = { url: `${gateway.url}/healthz`, pid: gateway.pid }
  const worker = new Worker(source, { eval: true, workerData, execArgv: [] })
  try {
    await new Promise((resolve) => worker.once('message', resolve))
    await work()
    const worst = new Promise<number>((resolve) => worker.once('message', resolve))
    worker.postMessage('end')
    return await worst
  } finally {
    await worker.terminate()
  }
}

const source = `
const { readFileSync } = require('node:fs')
const { parentPort, workerData: { url, pid } } = require('node:worker_threads')
let [worst, isOver] = [0, false]
parentPort.on('message', () => { isOver = true })
// Nanoseconds that it ran, that it waited for a processor, and how often.
const ranMs = () => Number(readFileSync('/proc/' + pid + '/task/' + pid + '/schedstat', 'utf8').split(' ')[0]) / 1e6
const clock = process.platform === 'linux' ? ranMs : () => performance.now()
const ask = async () => {
  const began = clock()
  // One that hangs up has not answered yet.
  while (!(await fetch(url).then((answer) => answer.text(), () => undefined)));
  return clock() - began
}
void (async () => {
  // The first opens the connection.
  for (let at = 0; at < 5; at += 1) await ask()
  parentPort.postMessage('ready')
  while (!isOver) {
    worst = Math.max(worst, await ask())
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  parentPort.postMessage(worst)
})()`
