// Asks a gateway over and over whether it is alive, from a thread of its own: what the test itself is busy with must not count.
import { Worker } from 'node:worker_threads'

/** Answers the longest time in milliseconds that one answer took while `work` ran. */
export async function worstHealth(url: string, work: () => Promise<unknown>): Promise<number> {
  const worker = new Worker(source, { eval: true, workerData: `${url}/healthz`, execArgv: [] })
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
const { parentPort, workerData } = require('node:worker_threads')
let [worst, isOver] = [0, false]
parentPort.on('message', () => { isOver = true })
const ask = async () => {
  const began = performance.now()
  // One that hangs up has not answered yet.
  while (!(await fetch(workerData).then((answer) => answer.text(), () => undefined)));
  return performance.now() - began
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
