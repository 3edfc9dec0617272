// The embedded database's folder: filled once, found again, and started over when its filling was interrupted.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openDatabase } from '../../src/node/open-database.ts'
import { createInboxStore } from '../../src/storage/inbox-store.ts'
import { createTurnStore } from '../../src/storage/turn-store.ts'
import { aDraft } from '../doubles/drafts.ts'
import { migrationsFolder } from '../setup/cloned-database.ts'

// Each fills or opens a whole database; a busy machine takes its time over it.
vi.setConfig({ testTimeout: 120_000 })

let dataDir: string
const open = () =>
  openDatabase({
    config: { database: { kind: 'pglite', isChosen: false }, databaseUrl: undefined, dataDir },
    migrationsFolder,
    lockServer: createServer(),
  })

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'parley-data-'))
})
afterEach(() => rm(dataDir, { recursive: true, force: true }))

test('keeps what was stored from one start to the next', async () => {
  const first = await open()
  await createInboxStore(first.database).accept([aDraft()])
  await first.close()
  const second = await open()
  expect(await createInboxStore(second.database).accept([aDraft()])).toMatchObject([{ kind: 'duplicate' }])
  await second.close()
})

test('goes on at once with what a killed process held', async () => {
  const first = await open()
  await createInboxStore(first.database).accept([aDraft()])
  const killed = createTurnStore(first.database, { holder: 'killed', leaseMs: 600_000, tenant: 'default' })
  expect(await killed.claim(1)).toHaveLength(1)
  await first.close()
  const second = await open()
  expect(
    await createTurnStore(second.database, { holder: 'next', leaseMs: 600_000, tenant: 'default' }).claim(1),
  ).toHaveLength(1)
  await second.close()
})

test('starts over in a folder whose filling was killed half-way', async () => {
  await mkdir(join(dataDir, 'database'))
  await writeFile(join(dataDir, 'database', 'PG_VERSION'), '18')
  await writeFile(join(dataDir, 'database.preparing'), '')
  const opened = await open()
  expect(await createInboxStore(opened.database).accept([aDraft()])).toMatchObject([{ kind: 'accepted' }])
  await opened.close()
})
