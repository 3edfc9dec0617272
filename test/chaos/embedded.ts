// embedded: one gateway with the PostgreSQL that it starts in its data folder. Both are killed with -9 in turn while messages
// keep coming; a second gateway on the folder is refused; and the gateway is frozen longer than its lease, again and again,
// where no other takes over. Nothing is lost, doubled or out of order.

import { nameStatement } from '../../src/db/client.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import {
  isPostmasterOfFolder,
  readPostmasterPidFile,
  signalProcess,
} from '../../src/node/embedded-postgres/postmaster.ts'
import { embeddedFolder } from '../../src/node/embedded-postgres.ts'
import { audit } from './audit.ts'
import { createScene, type Scene } from './crash-setup.ts'
import {
  type CrashTest,
  type CrashTestOptions,
  check,
  delay,
  equal,
  eventually,
  fact,
  type Line,
  zero,
} from './crash-test.ts'
import { createFreezer } from './freezer.ts'
import { StartRefused } from './gateway-process.ts'
import { fencing, replicaConnections, slowVendors, stopPlans } from './replicas.ts'

const sizes = {
  ci: { leaseMs: 1200, conversations: 16, kills: 3, hits: 3 },
  full: { leaseMs: 3000, conversations: 60, kills: 21, hits: 60 },
} as const

type Size = (typeof sizes)['ci' | 'full']

const recoveryMs = 60_000

export const embedded: CrashTest = async (options) => {
  const size = sizes[options.scale]
  const { leaseMs } = size
  const scene = await createScene(options, {
    connections: replicaConnections,
    leaseMs,
    toolLatencyMs: 10,
    isEmbedded: true,
  })
  try {
    slowVendors(scene)
    const load = startLoad(scene, size)
    const killed = await killInTurn(scene, size, options)
    const frozen = await freezeOnly(scene, size, options, load)
    const isQuiet = await scene.settle(300_000)
    const audited = await audit(scene)
    await frozen.stop()
    return [
      ...killed,
      ...frozen.lines,
      check('everything came to an end', isQuiet ? 'yes' : 'no', 'yes', isQuiet),
      ...audited.lines,
    ]
  } finally {
    await scene.close()
  }
}

type Load = { readonly finish: () => Promise<void> }

/** Every conversation says its next thing soon after the last one was acknowledged. */
function startLoad(scene: Scene, { conversations }: Size): Load {
  let isOver = false
  const talk = async (index: number): Promise<void> => {
    const connection = replicaConnections[index % replicaConnections.length]?.id ?? ''
    const conversation = `e${index}`
    for (let number = 1; !isOver; number += 1) {
      const id = `${conversation}-${String(number).padStart(4, '0')}`
      await scene.platform.send({ connection, conversation, id, from: 'ada', wish: 'plain' })
      await delay(scene.random.between(50, 150))
    }
  }
  const talks = Promise.all(Array.from({ length: conversations }, (_, index) => talk(index)))
  return {
    async finish() {
      isOver = true
      await talks
    },
  }
}

const targets = ['gateway', 'PostgreSQL', 'both'] as const
type Target = (typeof targets)[number]

/**
 * PostgreSQL dies with a backend at work, which goes on without it and would keep a new server from starting. Where its gateway
 * is there it is ended at once, so that it is seen only where both died.
 */
async function killInTurn(scene: Scene, size: Size, { say }: CrashTestOptions): Promise<readonly Line[]> {
  const kills = Array.from({ length: size.kills }, (_, kill) => targets[kill % targets.length] ?? 'both')
  const times = (...names: readonly Target[]): number => kills.filter((target) => names.includes(target)).length
  const counts = { orphans: 0, outlived: 0, recovered: 0, left: 0 }
  let gateway = await scene.start()
  for (const [index, target] of kills.entries()) {
    say(`kill -9 ${index + 1}/${size.kills}: ${target}`)
    await delay(scene.random.between(200, 1500))
    const backend = target === 'gateway' ? undefined : await keepBackendBusy(scene)
    if (target !== 'PostgreSQL') await gateway.kill()
    if (target !== 'gateway') await killPostgres(scene)
    if (target === 'both' && (await isPostgres(scene, backend))) counts.orphans += 1
    if (target !== 'PostgreSQL') gateway = await scene.start()
    if (await acknowledgesAgain(scene)) counts.recovered += 1
    if (target === 'PostgreSQL' && gateway.isRunning()) counts.outlived += 1
    if (await isPostgres(scene, backend)) counts.left += 1
  }
  await gateway.stop()
  const isStopped = !(await isPostgres(scene, await postmasterPid(scene)))
  return [
    fact('kill -9 of the gateway', times('gateway', 'both')),
    fact('kill -9 of PostgreSQL', times('PostgreSQL', 'both')),
    equal('  backends that went on where both had died', counts.orphans, times('both')),
    zero('  backends that went on beside the next server', counts.left),
    equal('times the gateway outlived its PostgreSQL', counts.outlived, times('PostgreSQL')),
    equal('times messages were acknowledged again', counts.recovered, size.kills),
    check('PostgreSQL ends with its gateway', isStopped ? 'yes' : 'no', 'yes', isStopped),
  ]
}

async function postmasterPid({ folder }: Scene): Promise<number | undefined> {
  return (await readPostmasterPidFile(embeddedFolder(folder)))?.pid
}

/** Whether a process of this number works on the data folder; one that nobody has waited for yet does not. */
async function isPostgres({ folder }: Scene, pid: number | undefined): Promise<boolean> {
  return pid !== undefined && isPostmasterOfFolder(pid, embeddedFolder(folder))
}

/** The server alone, as the kernel ends what needs too much memory: its children notice by themselves, unless they are at work. */
async function killPostgres(scene: Scene): Promise<void> {
  const pid = await postmasterPid(scene)
  if (pid === undefined) throw new Error('no PostgreSQL runs in the data folder')
  signalProcess(pid, 'SIGKILL')
  await eventually(async () => !(await isPostgres(scene, pid)), 5_000, 10)
}

const backendPid = nameStatement('crash_test_backend_pid', 'select pg_backend_pid() as pid')
const endless = nameStatement('crash_test_busy_backend', 'do $$ begin loop end loop; end $$')

/** Gives back the backend's pid. It has no end of its own. */
async function keepBackendBusy({ databaseUrl }: Scene): Promise<number> {
  const database = openPostgres({ url: await databaseUrl(), maxConnections: 1 })
  const [row] = await database.query<{ readonly pid: number }>(backendPid, [])
  void database
    .query(endless, [])
    .catch(() => {})
    .then(() => database.close())
  await delay(100)
  return row?.pid ?? 0
}

/** A try that began after this is answered with 2xx. */
function acknowledgesAgain({ platform }: Scene): Promise<boolean> {
  const from = performance.now()
  return eventually(() => platform.tries.some((each) => each.startedAt >= from && each.status === 200), recoveryMs)
}

type Frozen = { readonly lines: readonly Line[]; readonly stop: () => Promise<void> }

async function freezeOnly(scene: Scene, size: Size, { scale, say }: CrashTestOptions, load: Load): Promise<Frozen> {
  const freezer = createFreezer(size.leaseMs)
  const plans = stopPlans(scale, size.hits)
  const only = await scene.start(plans)
  const refusal = await startSecond(scene)
  const until = performance.now() + 600_000
  const ticker = setInterval(() => {
    say(`${scene.platform.acknowledged.size} acknowledged, ${freezer.freezes.length} freezes`)
  }, 500)
  const thawed = await freezer.thawEach(only, plans.length, () => performance.now() > until)
  await freezer.freeze(only)
  clearInterval(ticker)
  say('waiting for the last answers')
  await load.finish()
  return {
    stop: only.stop,
    lines: [
      check('a second gateway on the same folder', refusal, 'data_dir_locked', refusal === 'data_dir_locked'),
      equal('times the gateway froze at a failpoint', thawed, plans.length),
      equal('times it was frozen from outside', freezer.freezes.length - thawed, 1),
      ...fencing(scene, freezer, [only]),
    ],
  }
}

async function startSecond(scene: Scene): Promise<string> {
  try {
    const second = await scene.start()
    await second.kill()
    return 'started'
  } catch (error) {
    return error instanceof StartRefused ? error.code : 'failed otherwise'
  }
}
