// A peer in a process of its own: it says `port <number>` when it listens, and is ended by the test that started it.
import type { ChildProcess } from 'node:child_process'

const startTimeoutMs = 30_000

/** Ends a peer that does not say its port. What it writes to stderr later is shown. */
export function portOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let [output, complaint, isUp] = ['', '', false]
    const late = setTimeout(() => child.kill('SIGKILL'), startTimeoutMs)
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      const port = /port (\d+)/.exec(output)?.[1]
      if (port === undefined) return
      isUp = true
      clearTimeout(late)
      resolve(Number(port))
    })
    child.stderr?.on('data', (chunk: Buffer) => {
      if (isUp) process.stderr.write(chunk)
      else complaint += chunk.toString()
    })
    child.once('error', reject)
    child.once('close', (code, signal) => {
      clearTimeout(late)
      const reason = /^\w*Error\b.*/m.exec(complaint)?.[0] ?? output
      reject(new Error(`the process ended with ${code ?? signal}: ${reason}`))
    })
  })
}

export async function endPeer(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('close', resolve))
  child.kill('SIGKILL')
  await ended
}
