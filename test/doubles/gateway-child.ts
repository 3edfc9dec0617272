// The built program as users start it, in a process of its own, with everything it printed.
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bridgeToSocket } from './socket-bridge.ts'

export type GatewayChild = {
  /** The socket of its data folder, where callers are the local user. */
  readonly url: string
  /** Both streams, in the order they came. */
  readonly output: () => string
  readonly isRunning: () => boolean
  /** SIGTERM, then waits; kills what does not go. */
  readonly stop: () => Promise<void>
}

export type ChildSettings = {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly args?: readonly string[]
}

const bin = join(fileURLToPath(new URL('../..', import.meta.url)), 'bin/parley.js')
const startMs = 60_000

export async function startGatewayChild({ cwd, env, args = [] }: ChildSettings): Promise<GatewayChild> {
  const { child, output, ended } = run({ cwd, env, args: ['start', ...args] })
  const until = Date.now() + startMs
  for (;;) {
    if (/Parley is up at (\S+)/.test(output())) {
      const kind = 'DATABASE_URL' in env ? 'control' : 'lock'
      const { url, close } = await bridgeToSocket(env['PARLEY_DATA_DIR'] ?? '', kind)
      void ended.then(close)
      return { url, output, isRunning: () => child.exitCode === null, stop: () => stop(child, ended) }
    }
    if (child.exitCode !== null || Date.now() > until) throw new Error(`the gateway did not come up: ${output()}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** A command that ends by itself. */
export async function runParley(settings: Required<ChildSettings>): Promise<{ code: number | null; output: string }> {
  const { child, output, ended } = run(settings)
  const late = setTimeout(() => child.kill('SIGKILL'), startMs)
  await ended
  clearTimeout(late)
  return { code: child.exitCode, output: output() }
}

function run({ cwd, env, args = [] }: ChildSettings): {
  child: ChildProcess
  output: () => string
  ended: Promise<void>
} {
  const child = spawn(process.execPath, [bin, ...args], { cwd, env: { PATH: process.env['PATH'] ?? '', ...env } })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8')
    })
  }
  // `close` comes after the last byte of both streams, `exit` may not.
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  return { child, output: () => output, ended }
}

async function stop(child: ChildProcess, ended: Promise<void>): Promise<void> {
  child.kill('SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), 15_000)
  await ended
  clearTimeout(late)
}
