// The gateway of the crash test `strangers`: the program itself, as operators start it, with every channel on; and what it holds.
import { spawn } from 'node:child_process'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { freePort } from '../doubles/free-port.ts'
import { adminToken } from './subject-settings.ts'

export const accounts = {
  slack: {
    botToken: 'xoxb-token-of-the-crash-tests',
    signingSecret: 'signing-secret-of-crash-tests-01',
    botUserId: 'U0PARLEY1',
    appId: 'A0PARLEY1',
    team: 'T0PARLEY1',
  },
  telegram: { webhookSecret: 'webhook-secret-of-the-crash-tests-0123456789' },
  mail: { domain: 'agents.example', address: 'post@agents.example', hookSecret: 'mail-hook-secret-of-the-crash-tests' },
} as const

/** Where everything else is that the gateway talks to. */
export type Surroundings = {
  readonly databaseUrl: string
  readonly slackOrigin: string
  readonly telegram: { readonly apiRoot: string; readonly token: string }
  readonly smtpUrl: string
  readonly names: string
  readonly fediverse: readonly string[]
  /** Who is admitted, as evidence names them. */
  readonly admitted: { readonly mail: readonly string[]; readonly telegram: readonly string[] }
}

/** What strangers may have left: on the disk, in the database and in memory. */
export type Holdings = {
  /** The data folder, and the database without its log of the last minutes. */
  readonly folderBytes: number
  readonly databaseBytes: number
  readonly rows: ReadonlyMap<string, number>
  readonly rssMb: number
}

export type StrangersGateway = {
  readonly url: string
  readonly mailPort: number
  readonly pid: number
  readonly look: () => Promise<Holdings>
  readonly stop: () => Promise<void>
}

const root = fileURLToPath(new URL('..', import.meta.url))
const startMs = 60_000

export async function startStrangersGateway(folder: string, around: Surroundings): Promise<StrangersGateway> {
  const [port, mailPort] = [await freePort(), await freePort()]
  const url = `http://127.0.0.1:${port}`
  const dataDir = join(folder, 'data')
  await mkdir(dataDir, { mode: 0o700 })
  const file = join(folder, 'parley.config.mjs')
  await writeFile(file, configuration(around, mailPort))
  const child = spawn(process.execPath, [join(root, 'bin/parley.js'), 'start', '--config', file], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'] ?? '',
      PARLEY_PORT: String(port),
      PARLEY_PUBLIC_URL: url,
      PARLEY_DATA_DIR: dataDir,
      PARLEY_ADMIN_TOKEN: adminToken,
      PARLEY_LOG_LEVEL: 'error',
      DATABASE_URL: around.databaseUrl,
    },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString('utf8')).slice(-8000)
    })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    const late = setTimeout(() => child.kill('SIGKILL'), 10_000)
    await ended
    clearTimeout(late)
  }
  for (const until = performance.now() + startMs; !output.includes('is up at'); ) {
    if (child.exitCode !== null || performance.now() > until) {
      await stop()
      throw new Error(`the gateway did not come up: ${output}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 30))
  }
  const pid = child.pid ?? 0
  return { url, mailPort, pid, stop, look: () => look(around.databaseUrl, dataDir, pid) }
}

/** Limits that count by address are far away: strangers have as many addresses as they like, and here they share one with all senders. */
function configuration(around: Surroundings, mailPort: number): string {
  const { slack, telegram, mail } = accounts
  const { team, ...slackSettings } = slack
  const connections = [
    {
      channel: 'slack',
      id: 'default',
      access: { mode: 'allow_list', allow: [], rules: [{ effect: 'allow', subject_prefix: `slack:${team}/` }] },
      settings: { ...slackSettings, apiUrl: `${around.slackOrigin}/api/` },
    },
    {
      channel: 'telegram',
      id: 'default',
      access: { mode: 'allow_list', allow: around.admitted.telegram },
      settings: { botToken: around.telegram.token, apiRoot: around.telegram.apiRoot, ...telegram, streaming: 'off' },
    },
    {
      channel: 'email',
      id: 'default',
      access: { mode: 'allow_list', allow: around.admitted.mail },
      settings: {
        domain: mail.domain,
        addresses: { post: 'echo' },
        dnsOverHttps: around.names,
        webhookSecret: mail.hookSecret,
        smtpUrl: around.smtpUrl,
        smtp: { port: mailPort, limits: { clientsPerAddress: 200, mailsPerMinute: 1_000_000 } },
      },
    },
    {
      channel: 'activitypub',
      id: 'default',
      settings: { insecureLoopback: around.fediverse, hostLimit: { count: 1_000_000, perMs: 600_000 } },
    },
    { channel: 'a2a', id: 'default', settings: {} },
  ]
  return `import { defineAgent } from '${root}dist/index.js'
const echo = defineAgent({ slug: 'echo', run: () => \`It is noted: \${crypto.randomUUID()}\` })
export default { agents: [echo], connections: ${JSON.stringify(connections, undefined, 2)} }
`
}

async function look(databaseUrl: string, dataDir: string, pid: number): Promise<Holdings> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
  try {
    const tables = await sql<{ name: string }[]>`
      select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`
    const rows = new Map<string, number>()
    for (const { name } of tables) {
      const [counted] = await sql.unsafe<{ count: string }[]>(`select count(*) as count from ${name}`)
      rows.set(name, Number(counted?.count))
    }
    const [size] = await sql<{ bytes: string }[]>`select pg_database_size(current_database()) as bytes`
    const status = await readFile(`/proc/${pid}/status`, 'utf8')
    return {
      folderBytes: await bytesBelow(dataDir),
      databaseBytes: Number(size?.bytes),
      rows,
      rssMb: Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024,
    }
  } finally {
    await sql.end({ timeout: 2 })
  }
}

async function bytesBelow(folder: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue
    // It may be gone by now.
    bytes += await stat(join(entry.parentPath, entry.name)).then(
      ({ size }) => size,
      () => 0,
    )
  }
  return bytes
}
