// The built command line as its users have it: a folder of their own, a configuration file, a gateway that runs in it.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { inject } from 'vitest'
import { readPostmasterPidFile } from '../../../src/node/embedded-postgres/postmaster.ts'
import { stopServer } from '../../../src/node/embedded-postgres/server.ts'
import { bridgeToSocket } from '../../doubles/socket-bridge.ts'
import { startTelegramApi, type TelegramApi } from '../../doubles/telegram-api.ts'
import { takeDatabase } from '../../setup/pooled-database.ts'
import { type Ended, runInProcess } from './run-in-process.ts'

const bin = fileURLToPath(new URL('../../../bin/parley.js', import.meta.url))
const library = pathToFileURL(fileURLToPath(new URL('../../../dist/index.js', import.meta.url))).href
const webhookSecret = 'webhook-secret-of-the-command-line-tests'

export type Home = {
  readonly folder: string
  readonly telegram: TelegramApi
  readonly env: Record<string, string>
  /** Runs a command in the folder and waits for its end; the built commands, in the process of the test. */
  readonly parley: (words: readonly string[], env?: Record<string, string>) => Promise<Ended>
  /** The same in a process of its own, as a person starts it. */
  readonly program: (words: readonly string[], env?: Record<string, string>) => Promise<Ended>
  /** The same with `--json`: what standard output says, as a value. */
  readonly json: (words: readonly string[], env?: Record<string, string>) => Promise<unknown>
  readonly start: (env?: Record<string, string>) => Promise<Running>
  readonly close: () => Promise<void>
}

export type Running = {
  /** The socket of its data folder, where callers are the local user. */
  readonly url: string
  readonly output: () => string
  /** A Telegram update with this text from user 42; resolves when it is stored. */
  readonly say: (text: string) => Promise<void>
  /** An operator route, asked directly: for waiting, which would cost a process per look otherwise. */
  readonly admin: (path: string) => Promise<unknown>
  readonly stop: () => Promise<void>
  /** kill -9 */
  readonly kill: () => Promise<void>
}

/** On the run's PostgreSQL, since a database of its own takes seconds to make; `embedded` makes one, and so does a machine without. */
export async function createHome(
  env: Record<string, string> = {},
  database: 'server' | 'embedded' = 'server',
): Promise<Home> {
  const { url } = inject('postgres')
  const taken = database === 'server' && url !== '' ? await takeDatabase(url) : undefined
  const folder = await mkdtemp(join(tmpdir(), 'parley-home-'))
  const telegram = await startTelegramApi()
  await writeFile(join(folder, 'parley.config.mjs'), configText(telegram))
  const server = taken === undefined ? undefined : { DATABASE_URL: taken.url }
  const shared: Record<string, string> = {
    ...inherited(),
    PARLEY_PORT: '0',
    PARLEY_DATA_DIR: join(folder, 'data'),
    ...server,
    ...env,
  }
  const children = new Set<ChildProcess>()
  const parley: Home['parley'] = async (words, more = {}) => {
    const ended = await runInProcess(words, { cwd: folder, env: { ...shared, ...more } })
    return { ...ended, stderr: withoutProgress(ended.stderr) }
  }
  const program: Home['program'] = (words, more = {}) =>
    new Promise((resolve) => {
      const options = { cwd: folder, env: { ...shared, ...more }, timeout: 90_000 }
      execFile(process.execPath, [bin, ...words], options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
        resolve({ code, stdout, stderr: withoutProgress(stderr) })
      })
    })
  return {
    folder,
    telegram,
    env: shared,
    parley,
    program,
    json: async (words, more) => JSON.parse((await parley([...words, '--json'], more)).stdout),
    async start(more = {}) {
      const env: Record<string, string> = { ...shared, ...more }
      const child = spawn(process.execPath, [bin, 'start', '--log-level', 'warn'], { cwd: folder, env })
      children.add(child)
      return running(child, env, join(folder, 'data', 'admin-token'))
    },
    async close() {
      for (const child of children) await ended(child, 'SIGKILL')
      await telegram.close()
      await taken?.drop()
      await endServersBelow(folder)
      await rm(folder, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

/** A killed gateway leaves its PostgreSQL, which would go on writing into a folder that is being removed. */
async function endServersBelow(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const server = join(folder, entry.name, 'postgres')
    const pid = (await readPostmasterPidFile(server))?.pid
    if (pid !== undefined) await stopServer({ pid }, await realpath(server))
  }
}

/** A slow machine is told about; the tests are about everything else. */
function withoutProgress(stderr: string): string {
  return stderr.replace(/^.* so far …\n/gm, '')
}

/** Not this process's own settings: a developer's DATABASE_URL must not become the test's. */
function inherited(): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '' }
}

async function running(child: ChildProcess, env: Record<string, string>, tokenPath: string): Promise<Running> {
  let output = ''
  const keep = (chunk: Buffer): void => {
    output += chunk.toString()
  }
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  await until(90_000, () => {
    if (child.exitCode !== null) throw new Error(`the gateway ended: ${output}`)
    return /Parley is up at (\S+)/.exec(output)?.[1]
  })
  const kind = 'DATABASE_URL' in env ? 'control' : 'lock'
  const { url, close } = await bridgeToSocket(env['PARLEY_DATA_DIR'] ?? '', kind)
  child.once('exit', close)
  let updates = 0
  return {
    url,
    output: () => output,
    async say(text) {
      updates += 1
      const headers = { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': webhookSecret }
      const response = await fetch(`${url}/hooks/telegram/default`, {
        method: 'POST',
        headers,
        body: update(updates, text),
      })
      if (!response.ok) throw new Error(`the hook answered ${response.status}`)
    },
    async admin(path) {
      const token = (await readFile(tokenPath, 'utf8')).trim()
      return (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } })).json()
    },
    stop: () => ended(child, 'SIGTERM'),
    kill: () => ended(child, 'SIGKILL'),
  }
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill(signal)
  const late = setTimeout(() => child.kill('SIGKILL'), 30_000)
  await gone
  clearTimeout(late)
}

/** Waits, generously, until `read` gives something. */
export async function until<T>(timeoutMs: number, read: () => T | undefined | Promise<T | undefined>): Promise<T> {
  const last = Date.now() + timeoutMs
  for (;;) {
    const value = await read()
    if (value !== undefined) return value
    if (Date.now() > last) throw new Error('did not come in time')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

function update(number: number, text: string): string {
  const ada = { id: 42, is_bot: false, first_name: 'Ada', last_name: 'Lovelace' }
  const date = Math.floor(Date.now() / 1000)
  const message = { message_id: number, from: ada, chat: { id: 42, type: 'private', first_name: 'Ada' }, date, text }
  return JSON.stringify({ update_id: 1000 + number, message })
}

/** Answers with GREETING, so that another day's agent is the same file with another environment. */
function configText({ token, apiRoot }: TelegramApi): string {
  return `
import { defineAgent, defineConfig, telegram, textOf } from ${JSON.stringify(library)}
const demo = defineAgent({
  slug: 'demo',
  async run(message, context) {
    const text = textOf(message.parts)
    const greeting = process.env.GREETING ?? 'hello'
    if (text.startsWith('die')) throw new Error('asked to')
    if (text.startsWith('slow')) await new Promise((resolve) => setTimeout(resolve, Number(process.env.SLOW_MS ?? 0)))
    if (text.startsWith('pick')) return greeting + ' ' + (await context.step('pick', async () => 7))
    if (text.startsWith('ask'))
      return (await context.pause.approval({ summary: 'order tea', apply_input: { cups: 2 } })).question
    if (text.startsWith('look')) {
      const wish = { tool: { name: 'client/look', callId: 'c1' }, parameters: { at: 1 }, shown: { at: 1 }, request: {} }
      await context.pause.toolRequest(wish)
      return 'looking'
    }
    if (process.env.EXTRA_STEP) await context.step('order tea', async () => 'tea')
    return greeting + ': ' + text
  },
  onSignal: ({ kind, payload }) => 'woken: ' + kind + ' ' + (payload.decision ?? payload.status),
})
export default defineConfig({
  agents: [demo],
  turns: { retryFirstMs: 1, maxFailures: 1 },
  connections: [telegram({ botToken: ${JSON.stringify(token)}, webhookSecret: ${JSON.stringify(webhookSecret)},
    apiRoot: ${JSON.stringify(apiRoot)}, access: process.env.STRANGERS === 'pair'
      ? { mode: 'pairing', allow: [] } : { mode: 'allow_list', allow: ['telegram:42'] } })],
})
`
}
