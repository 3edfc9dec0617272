// upgrade: releases whose rows differ by one version on one database. Each takes what it can read and leaves the rest in its
// order to the one that can; a schema that a release cannot work with is refused at its start.

import { type Database, nameStatement } from '../../src/db/client.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { audit } from './audit.ts'
import { createScene, type Scene } from './crash-setup.ts'
import { type CrashTest, check, type Line } from './crash-test.ts'
import { handOver } from './deploy-handover.ts'
import { StartRefused } from './gateway-process.ts'
import { workSideBySide } from './side-by-side.ts'
import type { Pair } from './two-releases.ts'

const current: Pair = { elder: 'older', junior: 'current' }
const next: Pair = { elder: 'current', junior: 'newer' }
/** At ci scale once each: ours beside an older one that works on, and ours left alone with what a newer one wrote. */
const sideBySide = { ci: [current], full: [current, next] } as const
const handedOver = { ci: [next], full: [current, next] } as const

export const upgrade: CrashTest = async (options) => {
  const { scale, say } = options
  const scene = await createScene(options, {
    connections: [
      { id: 'client-id', sendClass: 'client-id' },
      { id: 'lookup', sendClass: 'lookup' },
      { id: 'held', sendClass: 'client-id' },
    ],
    leaseMs: 2000,
    patienceMs: 20_000,
    toolLatencyMs: 5,
  })
  try {
    const lines: Line[] = []
    for (const pair of sideBySide[scale]) {
      say(`${pair.elder} beside ${pair.junior}`)
      lines.push(...(await workSideBySide(scene, pair, scale)))
    }
    for (const pair of handedOver[scale]) {
      say(`${pair.junior} dies, ${pair.elder} is there`)
      lines.push(...(await handOver(scene, pair)))
    }
    say('a schema to come')
    lines.push(...(await meetNewSchema(scene)))
    const last = await scene.start([], 'newer')
    const audited = await audit(scene)
    await last.stop()
    return [...lines, ...audited.lines]
  } finally {
    await scene.close()
  }
}

/** Migrations that today's release does not know: one it survives, and one it does not. */
async function meetNewSchema(scene: Scene): Promise<readonly Line[]> {
  const lines: Line[] = []
  for (const [isCompatible, expected] of [
    [true, 'started'],
    [false, 'schema_too_new'],
  ] as const) {
    await withDatabase(scene, (database) => database.query(pretend, [isCompatible]))
    const met = await startOn(scene)
    const name = `a newer schema, ${isCompatible ? '' : 'not '}marked as compatible`
    lines.push(check(name, met, expected, met === expected))
    await withDatabase(scene, (database) => database.query(forget, []))
  }
  return lines
}

const pretend = nameStatement(
  'crash_test_pretend',
  'insert into parley_migrations (made_at, is_compatible) values (9999999999999, $1)',
)
const forget = nameStatement('crash_test_forget', 'delete from parley_migrations where made_at = 9999999999999')

async function withDatabase({ databaseUrl }: Scene, work: (database: Database) => Promise<unknown>): Promise<void> {
  const database = openPostgres({ url: await databaseUrl() })
  try {
    await work(database)
  } finally {
    await database.close()
  }
}

async function startOn(scene: Scene): Promise<string> {
  try {
    const gateway = await scene.start()
    await gateway.stop()
    return 'started'
  } catch (error) {
    return error instanceof StartRefused ? error.code : 'failed otherwise'
  }
}
