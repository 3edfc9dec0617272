// The gateway as operators start it, in a process of its own, with every channel on; and what it costs, told by the system.
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../test/doubles/free-port.ts'
import { statOf, tickMicros } from '../postgres.ts'
import { adminToken } from '../subject-settings.ts'
import { mailHookSecret, slackSecret, telegramSecret } from './http-shapes.ts'
import { mailAccount } from './mail-shapes.ts'

export type Program = {
  readonly url: string
  readonly port: number
  readonly mailPort: number
  readonly pid: number
  /** CPU of all its threads so far, those that have ended included. */
  readonly cpuMs: () => Promise<number>
  readonly rssMb: () => Promise<number>
  /** SIGTERM to its own pid; kills what does not go. */
  readonly stop: () => Promise<void>
}

export type ProgramOptions = {
  readonly databaseUrl: string
  /** The server of the strangers, by its origin. */
  readonly home: string
  /** A resolver that speaks JSON. */
  readonly names: string
  readonly profileFolder: string | undefined
}

const bin = fileURLToPath(new URL('../bin/parley.js', import.meta.url))
const startMs = 60_000
const stopMs = 15_000

export async function startProgram(options: ProgramOptions): Promise<Program> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-bench-strangers-'))
  const [port, mailPort] = [await freePort(), await freePort()]
  const url = `http://127.0.0.1:${port}`
  const file = join(folder, 'parley.config.mjs')
  await writeFile(file, `export default ${JSON.stringify(configuration(options, mailPort), undefined, 2)}\n`)
  const profiling = options.profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${options.profileFolder}`]
  const child = spawn(process.execPath, [...profiling, bin, 'start', '--config', file], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'] ?? '',
      PARLEY_PORT: String(port),
      PARLEY_PUBLIC_URL: url,
      PARLEY_DATA_DIR: join(folder, 'data'),
      PARLEY_ADMIN_TOKEN: adminToken,
      PARLEY_LOG_LEVEL: 'error',
      DATABASE_URL: options.databaseUrl,
    },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString('utf8')).slice(-20_000)
    })
  const kill = (): void => void child.kill('SIGKILL')
  process.prependOnceListener('exit', kill)
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const stop = async (): Promise<void> => {
    process.off('exit', kill)
    child.kill('SIGTERM')
    const late = setTimeout(kill, stopMs)
    await ended
    clearTimeout(late)
    await rm(folder, { recursive: true, force: true })
  }
  for (const until = performance.now() + startMs; !output.includes('is up at'); ) {
    if (child.exitCode !== null || performance.now() > until) {
      await stop()
      throw new Error(`the gateway did not come up: ${output}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 30))
  }
  const pid = child.pid ?? 0
  return {
    url,
    port,
    mailPort,
    pid,
    cpuMs: async () => ((await statOf(pid))?.ticks ?? Number.NaN) * (tickMicros / 1000),
    rssMb: async () => Number(/^VmRSS:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024,
    stop,
  }
}

const unlimited = {
  messages: 'unlimited',
  messagesPerSender: 'unlimited',
  messagesPerDay: 1e9,
  receivedBytesPerDay: 1e15,
  storedBytesPerDay: 1e15,
}

/** Limits that count arrivals are far away: what is measured is what an arrival costs that none of them stops. */
function configuration({ home, names }: ProgramOptions, mailPort: number): object {
  const nowhere = 'http://127.0.0.1:9/'
  const connections = [
    {
      channel: 'slack',
      id: 'default',
      settings: { botToken: 'xoxb-token-of-the-bench-0000', signingSecret: slackSecret, apiUrl: nowhere },
    },
    {
      channel: 'telegram',
      id: 'default',
      settings: {
        botToken: '7000001:AAE-token-of-the-bench-0000000000000',
        webhookSecret: telegramSecret,
        apiRoot: 'http://127.0.0.1:9',
      },
    },
    {
      channel: 'email',
      id: 'default',
      settings: {
        domain: mailAccount.domain,
        dnsOverHttps: names,
        webhookSecret: mailHookSecret,
        mailFolder: 'mail',
        smtp: { port: mailPort, limits: { clientsPerAddress: 100, mailsPerMinute: 1_000_000 } },
      },
    },
    {
      channel: 'activitypub',
      id: 'default',
      settings: { insecureLoopback: [home], hostLimit: { count: 1e9, perMs: 600_000 } },
    },
    { channel: 'a2a', id: 'default', settings: { anonymous: true } },
  ]
  return { connections: connections.map((each) => ({ ...each, strangers: unlimited })) }
}
