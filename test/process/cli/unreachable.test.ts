// No gateway runs and no database answers: every command that needs one says so by the code scripts wait for.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../doubles/free-port.ts'
import { runInProcess } from './run-in-process.ts'

const id = '01890000-0000-7000-8000-000000000000'

const commands = [
  'start',
  'migrate',
  'backup',
  'stats',
  'agents',
  `explain ${id}`,
  'deliveries list',
  `deliveries retry ${id}`,
  'deliveries retry --state unknown --since 1h --yes',
  `deliveries drop ${id} --yes`,
  'dead-letters list',
  `dead-letters resubmit ${id}`,
  'runs list',
  `runs show ${id}`,
  `runs cancel ${id}`,
  `replay ${id}`,
  'approvals list',
  `approvals show ${id}`,
  'tool-requests list',
  'sessions list',
  `sessions show ${id}`,
  'attachments list',
  'pairings list',
  'grants list',
  'principals list',
  'tokens list',
  'audit list',
  'erase space:T1/U1 --yes',
  'activitypub followers list --agent demo',
]

describe('without gateway and database', () => {
  let folder = ''
  let database = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-away-'))
    database = `postgres://parley:canary@127.0.0.1:${await freePort()}/parley`
    await writeFile(join(folder, 'parley.config.mjs'), 'export default {}\n')
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test.each(commands)('parley %s exits 4', async (words) => {
    const env = { PATH: process.env['PATH'] ?? '', PARLEY_PORT: '0', PARLEY_DATA_DIR: join(folder, 'data') }
    const surroundings = { cwd: folder, env: { ...env, EMAIL_CHANNEL: 'off', DATABASE_URL: database } }
    const ended = await runInProcess(words.split(' '), surroundings)
    expect([ended.code, ended.stderr]).toEqual([4, expect.stringMatching(/database|gateway/)])
    expect(ended.stdout + ended.stderr).not.toContain('canary')
  })
})
