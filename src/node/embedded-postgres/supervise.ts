// Keeps one PostgreSQL process running while the gateway runs: starts it again when it dies, stops it with us.
import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '../../contract/index.ts'
import { signalProcess } from './postmaster.ts'
import { type Server, type ServerPlace, serverLogFile, startServer, stopServer, trimServerLog } from './server.ts'

const firstPauseMs = 200
const maxPauseMs = 10_000
const trimEveryMs = 60 * 60_000

/** Gives back how to stop. The socket's path stays, so that connections find the new process by themselves. */
export function superviseServer(place: ServerPlace, first: Server, log: Log | undefined): () => Promise<void> {
  let server: Server | undefined = first
  const stopping = new AbortController()
  const onExit = (): void => {
    // The last breath of a process that ends without its orderly stop: better a stopping database than an orphan.
    if (server !== undefined) signalProcess(server.pid, 'SIGINT')
  }
  process.once('exit', onExit)
  const trimmer = setInterval(() => void trimServerLog(serverLogFile(place.folder)), trimEveryMs)
  trimmer.unref()

  const watched = (async () => {
    while (!stopping.signal.aborted) {
      await Promise.race([server?.gone, whenAborted(stopping.signal)])
      if (stopping.signal.aborted) return
      log?.error('embedded_postgres_ended', { pid: server?.pid ?? 0 })
      server = undefined
      server = await startAgain(place, stopping.signal, log)
    }
  })()

  return async () => {
    stopping.abort()
    await watched
    clearInterval(trimmer)
    if (server !== undefined) await stopServer(server, place.folder)
    process.off('exit', onExit)
  }
}

/** A full disk or a missing file may keep it from starting; what is mended is noticed within seconds. */
async function startAgain(place: ServerPlace, signal: AbortSignal, log: Log | undefined): Promise<Server | undefined> {
  for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = Math.min(maxPauseMs, pauseMs * 2)) {
    try {
      const server = await startServer(place, signal)
      log?.info('embedded_postgres_restarted', { pid: server.pid })
      return server
    } catch (error) {
      if (signal.aborted) return undefined
      log?.warn('embedded_postgres_not_restarted', { problem: error instanceof Error ? error.message : 'unknown' })
      await delay(pauseMs, undefined, { signal, ref: false }).catch(() => {})
    }
  }
  return undefined
}

function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
