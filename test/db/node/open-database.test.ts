// The embedded database's folder: made once, found again; an older one is refused.

import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { storeInboxDrafts } from '../../../src/db/inbox.ts'
import { claimTurns } from '../../../src/db/turns.ts'
import { openDatabase } from '../../../src/node/open-database.ts'
import { aDraft } from '../../doubles/inbox-drafts.ts'
import { migrationsFolder } from '../../setup/cloned-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

// Each fills or opens a whole database; a busy machine takes its time over it.
vi.setConfig({ testTimeout: 120_000 })

let dataDir: string
const open = () =>
  openDatabase({
    config: { databaseUrl: undefined, dataDir, postgresSettings: {} },
    migrationsFolder,
    lockServer: createServer(),
  })

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'parley-data-'))
})
afterEach(() => rm(dataDir, { recursive: true, force: true }))

test('the embedded database keeps what was stored from one start to the next', async () => {
  const first = await open()
  await storeInboxDrafts(openTenantDb(first.database), [aDraft()])
  await first.close()
  const second = await open()
  expect(await storeInboxDrafts(openTenantDb(second.database), [aDraft()])).toMatchObject([{ kind: 'duplicate' }])
  await second.close()
})

test('the embedded database goes on at once with what a killed process held', async () => {
  const first = await open()
  await storeInboxDrafts(openTenantDb(first.database), [aDraft()])
  const killed = openTenantDb(first.database, { holder: 'killed', leaseMs: 600_000, tenant: 'default' })
  expect(await claimTurns(killed, 1)).toHaveLength(1)
  await first.close()
  const second = await open()
  expect(
    await claimTurns(openTenantDb(second.database, { holder: 'next', leaseMs: 600_000, tenant: 'default' }), 1),
  ).toHaveLength(1)
  await second.close()
})

test.each(['database/PG_VERSION', 'postgres.pgpass'])(
  'a folder of a release before 0.2.0, which holds %s, is refused and left as it is',
  async (name) => {
    await mkdir(join(dataDir, 'database'))
    await writeFile(join(dataDir, name), '18')
    await expect(open()).rejects.toMatchObject({
      code: 'embedded_postgres_failed',
      message: expect.stringMatching(/before 0\.2\.0.*move the folder away/),
    })
    expect(existsSync(join(dataDir, 'postgres'))).toBe(false)
  },
)
