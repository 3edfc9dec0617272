// What the command line tells people when something is wrong: one line each, what to do, no stack.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startEmbeddedPostgres } from '../../../src/node/embedded-postgres.ts'
import { startParley } from '../../doubles/parley-process.ts'
import { runInProcess } from './run-in-process.ts'

const bin = fileURLToPath(new URL('../../../bin/parley.js', import.meta.url))
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-cli-'))
})
afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }))

type Ended = { readonly code: number; readonly output: string }

const surroundings = (env: Record<string, string>) => ({
  cwd: folder,
  env: { PATH: process.env['PATH'] ?? '', PARLEY_PORT: '0', PARLEY_DATA_DIR: folder, EMAIL_CHANNEL: 'off', ...env },
})

/** In a process of its own: what starts a gateway, and one command of each kind. */
function program(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [bin, ...args], { ...surroundings(env), timeout: 60_000 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
      resolve({ code, output: stdout + stderr.replace(/^.* so far …\n/gm, '') })
    })
  })
}

async function parley(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const { code, stdout, stderr } = await runInProcess(args, surroundings(env))
  return { code, output: stdout + stderr.replace(/^.* so far …\n/gm, '') }
}

test.each([
  ['a port that is none', ['start'], { PARLEY_PORT: 'eighty' }, 'PARLEY_PORT: must be a port number'],
  ['half a channel', ['start'], { SLACK_BOT_TOKEN: 'xoxb-1234' }, 'SLACK_SIGNING_SECRET is missing'],
  ['a folder that cannot be', ['start'], { PARLEY_DATA_DIR: '/dev/null/x' }, 'check the path'],
  ['a configuration file that is not there', ['start', '--config', 'nowhere.ts'], {}, 'no configuration file at'],
  ['a folder below /proc', ['start'], { PARLEY_DATA_DIR: '/proc/parley/x' }, 'check the path'],
  [
    "a setting of PostgreSQL that is the gateway's",
    ['start'],
    { PARLEY_POSTGRES_OPTIONS: 'fsync=off' },
    'leave it out',
  ],
])(
  '%s: says what to do and ends with 1',
  async (_name, args, env, says) => {
    const { code, output } = await program(args, env)
    expect(output).toContain(says)
    expect(output).not.toMatch(/^\s+at /m)
    expect(code).toBe(1)
  },
  90_000,
)

test.each([
  ['an unknown command', ['dance'], 'unknown command dance'],
  ['an unknown command of a group', ['deliveries', 'dance'], 'parley deliveries knows'],
  ['a group without a command', ['tokens'], 'needs a command: list, create, revoke'],
  ['an unknown flag', ['stats', '--dance'], 'unknown flag --dance'],
  ['a flag before the command', ['--json', 'stats'], 'unknown flag --json'],
  ['a flag without its value', ['deliveries', 'list', '--limit'], '--limit'],
  ['a number that is none', ['deliveries', 'list', '--limit', 'many'], '--limit must be a whole number from 1 to 500'],
  [
    'a word outside its list',
    ['dead-letters', 'list', '--state', 'alive'],
    '--state must be one of dead, refused, ignored',
  ],
  ['a missing id', ['deliveries', 'show'], '<ID> is missing'],
  ['neither an id nor which ones', ['deliveries', 'retry'], '<ID> is missing; or name many with --state and --since'],
  ['an id and which ones', ['deliveries', 'retry', 'x', '--state', 'dead'], 'give either <ID>, or --state and --since'],
  ['a time that is none', ['deliveries', 'retry', '--state', 'dead', '--since', 'soon'], '--since must be a time'],
  ['a missing flag', ['tokens', 'create'], '--label is missing'],
  ['a life that is none', ['tokens', 'create', '--label', 'x', '--expires', 'soon'], '--expires must be a number with'],
  ['a word too many', ['stats', 'please'], 'please is one word too many'],
  ['a log level that is none', ['start', '--log-level', 'loud'], '--log-level must be one of'],
  ['an address that is none', ['stats', '--url', 'here'], '--url must be an address'],
])(
  '%s: wrong usage ends with 2',
  async (_name, args, says) => {
    const { code, output } = await parley(args, { PARLEY_DATA_DIR: join(folder, 'nowhere') })
    expect(output).toContain(says)
    expect(output).not.toMatch(/^\s+at /m)
    expect(code).toBe(2)
  },
  90_000,
)

test.each([
  ['no gateway and no database', ['stats']],
  ['no gateway at the address', ['stats', '--url', 'http://127.0.0.1:1', '--token', 'a-token-of-this-test']],
])(
  '%s: ends with 4, and makes nothing',
  async (_name, args) => {
    const dataDir = join(folder, 'nowhere')
    const { code, output } = await parley([...args, '--json'], { PARLEY_DATA_DIR: dataDir })
    expect(JSON.parse(output.split('\n')[0] ?? '')).toMatchObject({ error: { code: 'unreachable' } })
    expect(code).toBe(4)
    expect(existsSync(dataDir)).toBe(false)
  },
  90_000,
)

test('a database that lacks migrations is left to parley migrate', async () => {
  const dataDir = join(folder, 'behind')
  await mkdir(dataDir)
  const made = await startEmbeddedPostgres({ dataDir })
  await made.stop()
  const { code, output } = await parley(['stats'], { PARLEY_DATA_DIR: dataDir })
  expect(output).toContain('run parley migrate')
  expect(code).toBe(1)
}, 90_000)

test('a port somebody else has: says so and ends, leaving the folder free', async () => {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as AddressInfo
  const { code, output } = await program(['start'], { PARLEY_PORT: String(port) })
  other.close()
  expect(output).toContain('choose another port with PARLEY_PORT')
  expect(code).toBe(1)
}, 90_000)

test.each([
  [['--help'], 'USAGE'],
  [['start', '--help'], '--log-level'],
  [['migrate', '--help'], 'Bring the database up to this release'],
])('parley %j explains itself', async (args, says) => {
  const { code, output } = await parley(args)
  expect(output).toContain(says)
  expect(code).toBe(0)
})

test('parley migrate prepares a folder and ends', async () => {
  expect(await program(['migrate'])).toEqual({
    code: 0,
    output: expect.stringContaining('The database is up to date.\n'),
  })
  expect(await parley(['stats'])).toEqual({ code: 0, output: 'Nothing has been received yet.\n' })
}, 90_000)

test('a start with nothing set up says where mail is taken, and where the answers to it go', async () => {
  const dataDir = join(folder, 'mail')
  await mkdir(dataDir, { mode: 0o755 })
  const running = await startParley({
    dataDir,
    database: 'embedded',
    env: { EMAIL_CHANNEL: 'on', EMAIL_SMTP_PORT: '0' },
  })
  const modes = await Promise.all(
    ['', 'postgres', 'admin-token'].map((name) => stat(join(dataDir, name)).catch(() => undefined)),
  )
  expect(modes.map((found) => (found?.mode ?? 0) & 0o067)).toEqual([0, 0, 0])
  try {
    const [said] = /^Connection: email.*$/m.exec(running.output()) ?? []
    expect(said?.replace(/:\d+;/, ':port;')).toBe(
      `Connection: email/default -> demo (this machine only) at smtp://127.0.0.1:port; answers are files in ${dataDir}/mail until SMTP_URL is set`,
    )
  } finally {
    await running.stop()
  }
}, 90_000)
