// Asks a gateway over and over whether it is alive, from a thread of its own: what the test itself is busy with must not count. Beside it
// stands a server that does nothing else: what that one takes is the machine's doing and not the gateway's.
import { Worker } from 'node:worker_threads'

/** Answers the longest time in milliseconds that one answer took while `work` ran, less the longest of the idle server. */
export async function worstHealth(url: string, work: () => Promise<unknown>): Promise<number> {
  const idle = new Worker(idleServer, { eval: true, execArgv: [] })
  const idlePort = await new Promise<number>((resolve) => idle.once('message', resolve))
  const watcher = new Worker(watch, {
    eval: true,
    workerData: [`${url}/healthz`, `http://127.0.0.1:${idlePort}/`],
    execArgv: [],
  })
  try {
    await new Promise((resolve) => watcher.once('message', resolve))
    await work()
    const worst = new Promise<number>((resolve) => watcher.once('message', resolve))
    watcher.postMessage('end')
    return await worst
  } finally {
    await Promise.all([watcher.terminate(), idle.terminate()])
  }
}

const idleServer = `
const { parentPort } = require('node:worker_threads')
const server = require('node:http').createServer((_request, response) => response.end('ok'))
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))`

const watch = `
const { parentPort, workerData } = require('node:worker_threads')
const worst = workerData.map(() => 0)
let isOver = false
parentPort.on('message', () => { isOver = true })
const ask = async (url) => {
  const began = performance.now()
  // One that hangs up has not answered yet.
  while (!(await fetch(url).then((answer) => answer.text(), () => undefined)));
  return performance.now() - began
}
void (async () => {
  // The first opens the connection.
  for (let at = 0; at < 5; at += 1) await Promise.all(workerData.map(ask))
  parentPort.postMessage('ready')
  while (!isOver) {
    // Each apart: while one waits, the other must not look slow.
    for (const [at, url] of workerData.entries()) worst[at] = Math.max(worst[at], await ask(url))
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  parentPort.postMessage(Math.max(0, worst[0] - worst[1]))
})()`
