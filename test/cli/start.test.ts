// What the command line tells people when something is wrong: one line each, what to do, no stack.
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

const bin = fileURLToPath(new URL('../../bin/parley.js', import.meta.url))
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-cli-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

function parley(args: readonly string[], env: Record<string, string> = {}): Promise<{ code: number; output: string }> {
  const options = {
    cwd: folder,
    env: { ...process.env, PARLEY_PORT: '0', PARLEY_DATA_DIR: folder, NO_COLOR: '1', ...env },
    timeout: 15_000,
  }
  return new Promise((resolve) => {
    execFile(process.execPath, [bin, ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
      resolve({ code, output: stdout + stderr })
    })
  })
}

test.each([
  ['a port that is none', ['start'], { PARLEY_PORT: 'eighty' }, 'PARLEY_PORT: must be a port number'],
  ['half a channel', ['start'], { TELEGRAM_BOT_TOKEN: '1:x' }, 'TELEGRAM_WEBHOOK_SECRET is missing'],
  [
    'a database that does not answer',
    ['start'],
    { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/x' },
    'check that the database is up',
  ],
  ['a folder that cannot be', ['start'], { PARLEY_DATA_DIR: '/dev/null/x' }, 'check the path'],
  ['a configuration file that is not there', ['start', '--config', 'nowhere.ts'], {}, 'no configuration file at'],
  ['a folder below /proc', ['start'], { PARLEY_DATA_DIR: '/proc/parley/x' }, 'check the path'],
  ['an unknown database', ['start', '--database=sqlite'], {}, 'must be one of pglite, embedded-postgres, postgres'],
  [
    'two databases',
    ['start', '--database', 'pglite'],
    { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/x' },
    'contradict each other',
  ],
  [
    'a flag against the environment: the flag wins',
    ['migrate', '--database=postgres'],
    { PARLEY_DATABASE: 'pglite' },
    'needs DATABASE_URL',
  ],
  ['a log level that is none', ['start', '--log-level', 'loud'], {}, 'PARLEY_LOG_LEVEL: must be one of'],
])('%s: says what to do and ends with 1', async (_name, args, env, says) => {
  const { code, output } = await parley(args, env)
  expect(output).toContain(says)
  expect(output).not.toMatch(/^\s+at /m)
  expect(code).toBe(1)
})

test('a port somebody else has: says so and ends, leaving the folder free', async () => {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as AddressInfo
  const { code, output } = await parley(['start'], { PARLEY_PORT: String(port) })
  other.close()
  expect(output).toContain('choose another port with PARLEY_PORT')
  expect(code).toBe(1)
}, 30_000)

test.each([
  [['--help'], 'USAGE'],
  [['start', '--help'], '--log-level'],
  [['start', '--help'], '--database=<pglite|embedded-postgres|postgres>'],
  [['migrate', '--help'], 'Bring the database up to this release'],
])('parley %j explains itself', async (args, says) => {
  const { code, output } = await parley(args)
  expect(output).toContain(says)
  expect(code).toBe(0)
})

test('parley migrate prepares a folder and ends', async () => {
  expect(await parley(['migrate'])).toEqual({ code: 0, output: 'The pglite database is up to date.\n' })
})
