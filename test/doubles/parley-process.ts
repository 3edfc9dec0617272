// The program itself, as a person starts it: the built bundle in a process of its own, on a free port.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'
import type { TestDatabase } from '../setup/databases.ts'
import { takeDatabase } from '../setup/pooled-database.ts'
import { bridgeToSocket } from './socket-bridge.ts'

const checkoutBin = fileURLToPath(new URL('../../bin/parley.js', import.meta.url))
const startMs = 60_000

export type ParleyProcess = {
  /** The socket of its data folder, where callers are the local user. */
  readonly url: string
  /** Its port, where callers are strangers or guests. */
  readonly tcp: string
  readonly pid: number
  /** What it has printed so far, both streams. */
  readonly output: () => string
  /** The run API: the answer's status and text. */
  readonly ask: (runId: string, content: string, threadId?: string) => Promise<{ status: number; text: string }>
  readonly get: (path: string) => Promise<{ status: number; body: unknown }>
  /** kill -9, and waits for the end. */
  readonly kill: () => Promise<void>
  /** SIGTERM, and gives the exit code. */
  readonly stop: () => Promise<number>
}

export type ParleyOptions = {
  readonly dataDir: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** How long it may take to come up. */
  readonly patienceMs?: number
  readonly ids?: { readonly uid: number; readonly gid: number }
  /** On the run's PostgreSQL, the same for every start in a folder, unless the test is about the one that the gateway brings. */
  readonly database?: 'server' | 'embedded'
  /** Another installation's program. */
  readonly bin?: string
  /** A command that runs it, such as one that enters a namespace. */
  readonly within?: readonly string[]
}

/** Left to the end of the run, which ends the server. */
const databases = new Map<string, Promise<TestDatabase>>()

async function serverOf(dataDir: string): Promise<Record<string, string>> {
  const { url } = inject('postgres')
  if (url === '') return {}
  const database = databases.get(dataDir) ?? takeDatabase(url)
  databases.set(dataDir, database)
  return { DATABASE_URL: (await database).url }
}

const adminToken = 'operator-token-of-the-tests'

/** Rejects with everything it printed when it ends instead of coming up. */
export async function startParley({
  dataDir,
  args = [],
  env = {},
  patienceMs = startMs,
  ids,
  database = 'server',
  bin = checkoutBin,
  within = [],
}: ParleyOptions): Promise<ParleyProcess> {
  const [command = '', ...words] = [...within, process.execPath, bin, 'start', ...args]
  const server = database === 'server' ? await serverOf(dataDir) : {}
  const child = spawn(command, words, {
    cwd: dataDir,
    env: {
      PATH: process.env['PATH'] ?? '',
      PARLEY_PORT: '0',
      PARLEY_DATA_DIR: dataDir,
      PARLEY_ADMIN_TOKEN: adminToken,
      // Its port is the same for all of them.
      EMAIL_CHANNEL: 'off',
      ...server,
      ...env,
    },
    ...ids,
  })
  let output = ''
  const keep = (chunk: Buffer): void => {
    output += chunk.toString('utf8')
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  const ended = new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? -1)))
  const tcp = await firstMatch(
    patienceMs,
    () => /is up at (\S+)/.exec(output)?.[1],
    ended,
    () => output,
  ).catch((error) => {
    child.kill('SIGKILL')
    throw error
  })
  const kind = 'DATABASE_URL' in { ...server, ...env } ? 'control' : 'lock'
  const bridge = await bridgeToSocket(dataDir, kind)
  void ended.then(bridge.close)
  const { url } = bridge
  return {
    url,
    tcp,
    pid: child.pid ?? 0,
    output: () => output,
    ask: (runId, content, threadId = 't1') => ask(url, { runId, content, threadId }),
    get: (path) => get(url, path),
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
    async stop() {
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), startMs)
      const code = await ended
      clearTimeout(late)
      return code
    },
  }
}

async function firstMatch(
  patienceMs: number,
  look: () => string | undefined,
  ended: Promise<number>,
  output: () => string,
): Promise<string> {
  let exitCode: number | undefined
  void ended.then((code) => {
    exitCode = code
  })
  for (const deadline = Date.now() + patienceMs; ; ) {
    const found = look()
    if (found !== undefined) return found
    if (exitCode !== undefined) throw new Error(`exit ${exitCode}: ${output()}`)
    if (Date.now() > deadline) throw new Error(`not up after ${patienceMs} ms: ${output()}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function ask(
  url: string,
  { runId, content, threadId }: { runId: string; content: string; threadId: string },
): Promise<{ status: number; text: string }> {
  const response = await fetch(`${url}/api/v1/agent/run`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ threadId, runId, messages: [{ id: `m-${runId}`, role: 'user', content }] }),
  })
  return { status: response.status, text: await response.text() }
}

async function get(url: string, path: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url + path, { headers: { authorization: `Bearer ${adminToken}` } })
  return { status: response.status, body: await response.json() }
}
