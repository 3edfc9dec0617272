// Runs a command of the built program in this process: a process of its own costs half a second, and most claims are about words.
import { createRequire } from 'node:module'

export type Ended = { readonly code: number; readonly stdout: string; readonly stderr: string }

type Commands = { readonly runParley: (words: readonly string[]) => Promise<number> }

const require = createRequire(import.meta.url)
let previous: Promise<unknown> = Promise.resolve()

/** Streams, environment, folder and exit code belong to the whole process, so commands run one after the other. */
export function runInProcess(
  words: readonly string[],
  surroundings: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<Ended> {
  const ended = previous.then(() => run(words, surroundings))
  previous = ended.catch(() => {})
  return ended
}

async function run(
  words: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<Ended> {
  // Past vitest, which would compile four megabytes anew. The bundle is what test/setup/build.ts made.
  const { runParley } = require('../../../dist/commands.js') as Commands
  const before = { env: process.env, cwd: process.cwd(), exitCode: process.exitCode }
  const restore = [capture(process.stdout), capture(process.stderr)] as const
  process.env = { ...env }
  process.chdir(cwd)
  process.exitCode = undefined
  try {
    const code = await runParley(words)
    return { code, stdout: restore[0](), stderr: restore[1]() }
  } finally {
    for (const each of restore) each()
    process.env = before.env
    process.chdir(before.cwd)
    process.exitCode = before.exitCode
  }
}

/** Gives back the stream, and what was written to it meanwhile. */
function capture(stream: NodeJS.WriteStream): () => string {
  const write = stream.write
  const isTTY = stream.isTTY
  let written = ''
  stream.isTTY = false
  stream.write = ((chunk: string | Uint8Array, ...rest: unknown[]) => {
    written += typeof chunk === 'string' ? chunk : new TextDecoder().decode(chunk)
    const done = rest.at(-1)
    if (typeof done === 'function') done()
    return true
  }) as typeof stream.write
  return () => {
    stream.write = write
    stream.isTTY = isTTY
    return written
  }
}
