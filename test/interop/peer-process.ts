// A peer in a process of its own: it says `port <number>` when it listens, and is ended by the test that started it.
import type { ChildProcess } from 'node:child_process'

export function portOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let output = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      const port = /port (\d+)/.exec(output)?.[1]
      if (port !== undefined) resolve(Number(port))
    })
    child.once('exit', (code) => reject(new Error(`the peer ended with ${code}: ${output}`)))
  })
}

export async function endPeer(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('close', resolve))
  child.kill('SIGKILL')
  await ended
}
