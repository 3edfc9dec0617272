// `wrangler dev` as a child process: the Worker as a developer runs it, on a database and a Bot API of the test's own.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export type WranglerDev = {
  readonly url: string
  readonly output: () => string
  /** kill -9 of the command and of every workerd it started. */
  readonly kill: () => Promise<void>
}

const root = fileURLToPath(new URL('../../..', import.meta.url))
const wrangler = join(root, 'node_modules', 'wrangler', 'bin', 'wrangler.js')
const startTimeoutMs = 120_000

export type WranglerOptions = {
  readonly databaseUrl: string
  readonly variables: Record<string, string>
  /** Another Worker than that of wrangler.toml. */
  readonly script?: string
}

export async function startWranglerDev({ databaseUrl, variables, script }: WranglerOptions): Promise<WranglerDev> {
  const before = await leftovers()
  const folder = await mkdtemp(join(tmpdir(), 'parley-wrangler-'))
  const envFile = join(folder, 'variables')
  await writeFile(
    envFile,
    Object.entries(variables)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  )
  const options = ['--ip', '127.0.0.1', '--port', '0', '--inspector-port', '0', '--persist-to', join(folder, 'state')]
  const child = spawn(
    process.execPath,
    [wrangler, 'dev', ...(script === undefined ? [] : [script]), ...options, '--env-file', envFile],
    {
      cwd: root,
      // A process group of its own, so that its end is the end of everything it started.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        CI: '1',
        WRANGLER_SEND_METRICS: 'false',
        CLOUDFLARE_HYPERDRIVE_LOCAL_CONNECTION_STRING_HYPERDRIVE: databaseUrl,
      },
    },
  )
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  }
  const killAtExit = (): void => void killNow(child)
  process.once('exit', killAtExit)
  const kill = async (): Promise<void> => {
    process.off('exit', killAtExit)
    const ended = new Promise((resolve) => child.once('exit', resolve))
    if (killNow(child)) await ended
    // Its bundles; killed like this it cannot remove them itself.
    const ours = (await leftovers()).filter((path) => !before.includes(path))
    for (const path of [folder, ...ours]) await rm(path, { recursive: true, force: true, maxRetries: 10 })
  }
  for (let waited = 0; waited < startTimeoutMs && child.exitCode === null; waited += 50) {
    const url = /Ready on (http:\S+)/.exec(output)?.[1]
    if (url !== undefined) return { url, output: () => output, kill }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  await kill()
  throw new Error(`wrangler dev did not come up: ${output}`)
}

async function leftovers(): Promise<readonly string[]> {
  const tmp = join(root, '.wrangler', 'tmp')
  return (await readdir(tmp).catch(() => [])).map((name) => join(tmp, name))
}

/** False when it has ended already. */
function killNow(child: ChildProcess): boolean {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return false
  return process.kill(-child.pid, 'SIGKILL')
}
