// loss: a gateway killed at every failpoint once, then at random times, then its PostgreSQL, while messages keep coming.
// Phase A: the platform delivers again only what never got a 2xx. Phase B: it delivers everything again.
import { type PostgresServer, startPostgresServer } from '../setup/postgres-server.ts'
import { audit } from './audit.ts'
import { createScene, type Scene } from './crash-setup.ts'
import {
  type CrashTest,
  type CrashTestOptions,
  check,
  delay,
  equal,
  fact,
  type Line,
  within,
  zero,
} from './crash-test.ts'
import { failpointNames, planKill } from './failpoints.ts'
import type { Update } from './platform.ts'
import type { Wish } from './subject-settings.ts'

const connections = [
  { id: 'client-id', sendClass: 'client-id' },
  { id: 'lookup', sendClass: 'lookup' },
  { id: 'edit', sendClass: 'edit' },
  { id: 'none', sendClass: 'none' },
] as const

const sizes = {
  ci: { leaseMs: 1500, conversations: 15, perWave: 3, randomKills: 3, databaseKills: 1, stageMs: 8_000 },
  full: { leaseMs: 3000, conversations: 50, perWave: 10, randomKills: 30, databaseKills: 5, stageMs: 15_000 },
} as const

type Size = (typeof sizes)['ci' | 'full']

export const loss: CrashTest = async (options) => {
  const size = sizes[options.scale]
  // Of its own, since it is killed too, and it waits for the disk.
  const server = await startPostgresServer({ isDurable: true })
  const scene = await createScene(
    { ...options, postgresUrl: server.url },
    // Where a turn goes on it has to meet the failpoints of this process.
    { connections, leaseMs: size.leaseMs, toolLatencyMs: 15, isForking: false },
  )
  try {
    const traffic = createTraffic(scene, size)
    const reached = await crashEverywhere(scene, traffic, size, options)
    const kills = await killAtRandom(scene, traffic, size, options)
    const outages = await killDatabase(scene, server, traffic, size, options)
    options.say('phase A: waiting for the last answers')
    const last = await scene.start()
    const isQuiet = await scene.settle()
    const phaseA = await audit(scene)
    const phaseB = await replay(scene, options)
    await last.stop()
    const missed = failpointNames.filter((name) => !reached.includes(name))
    return [
      check('failpoints crashed at', reached.length, String(failpointNames.length), missed.length === 0),
      ...missed.map((name) => fact('  not exercised', name)),
      fact('kill -9 of the gateway at random times', kills),
      ...outages,
      fact('deliveries without a 2xx', scene.platform.failures()),
      check('phase A: everything came to an end', isQuiet ? 'yes' : 'no', 'yes', isQuiet),
      ...phaseA.lines.map((line) => ({ ...line, name: `phase A: ${line.name}` })),
      ...phaseB,
    ]
  } finally {
    await scene.close()
    await server.stop()
  }
}

type Traffic = { readonly wave: (name?: string) => void }

const wishes: readonly Wish[] = ['slow', 'flaky', 'remind', 'keyed', 'flaky early', 'plain', 'keyed', 'plain', 'plain']

/** A wave: three messages each for some conversations, so that some are merged, and now and then a lost answer. */
function createTraffic(scene: Scene, size: Size): Traffic {
  const counters = new Map<string, number>()
  let waves = 0
  const next = (index: number, wish: Wish): Update => {
    const connection = connections[index % connections.length]?.id ?? ''
    const conversation = `c${index}`
    const number = (counters.get(conversation) ?? 0) + 1
    counters.set(conversation, number)
    return { connection, conversation, id: `${conversation}-${String(number).padStart(4, '0')}`, from: 'ada', wish }
  }
  return {
    wave(name = '') {
      loseAnswers(scene, waves, name)
      for (let picked = 0; picked < size.perWave; picked += 1) {
        const index = (waves * size.perWave + picked) % size.conversations
        for (let each = 0; each < 3; each += 1) {
          const wish = wishes[(waves * size.perWave * 3 + picked * 3 + each) % wishes.length] ?? 'plain'
          void scene.platform.send(next(index, wish))
        }
      }
      waves += 1
    },
  }
}

/** Lookups take place only where the vendor's answer was lost, before or after it had taken the message. */
function loseAnswers(scene: Scene, waves: number, name: string): void {
  const when = waves % 2 === 0 ? 'after' : 'before'
  if (waves % 5 === 0 || name.includes('reconcile')) scene.vendor('lookup').failNext('send', { kind: 'drop', when })
  if (waves % 5 === 1) scene.vendor('client-id').failNext('send', { kind: 'drop', when })
  if (waves % 10 === 2) scene.vendor('none').failNext('send', { kind: 'drop', when })
}

async function crashEverywhere(
  scene: Scene,
  traffic: Traffic,
  size: Size,
  options: CrashTestOptions,
): Promise<readonly string[]> {
  const reached: string[] = []
  for (let round = 0; round < 3; round += 1) {
    for (const name of failpointNames.filter((each) => !reached.includes(each))) {
      options.say(`crash ${reached.length + 1}/${failpointNames.length} ${name}`)
      const gateway = await scene.start([planKill(name, scene.random)])
      traffic.wave(name)
      const hasEnded = await within(size.stageMs, gateway.ended)
      if (hasEnded && gateway.count('failpoint', (line) => line['name'] === name) === 1) reached.push(name)
      if (!hasEnded) await gateway.kill()
    }
  }
  return reached
}

async function killAtRandom(scene: Scene, traffic: Traffic, size: Size, options: CrashTestOptions): Promise<number> {
  for (let kill = 1; kill <= size.randomKills; kill += 1) {
    options.say(`kill -9 at a random time ${kill}/${size.randomKills}`)
    const gateway = await scene.start()
    traffic.wave()
    await delay(scene.random.between(10, 1500))
    await gateway.kill()
  }
  return size.randomKills
}

/** PostgreSQL dies under a running gateway, which has to outlive it. */
async function killDatabase(
  scene: Scene,
  server: PostgresServer,
  traffic: Traffic,
  size: Size,
  options: CrashTestOptions,
): Promise<readonly Line[]> {
  let survived = 0
  const gateway = await scene.start()
  for (let kill = 1; kill <= size.databaseKills; kill += 1) {
    options.say(`kill -9 of PostgreSQL ${kill}/${size.databaseKills}`)
    traffic.wave()
    await delay(scene.random.between(50, 800))
    await server.crash()
    traffic.wave()
    await delay(scene.random.between(0, 1000))
    await server.restart()
    await delay(1000)
    if (gateway.isRunning()) survived += 1
  }
  await gateway.kill()
  return [
    fact('kill -9 of PostgreSQL', size.databaseKills),
    equal('times the gateway outlived it', survived, size.databaseKills),
  ]
}

async function replay(scene: Scene, options: CrashTestOptions): Promise<readonly Line[]> {
  const { platform, tool, vendors } = scene
  const calls = (): number => [...vendors.values()].reduce((sum, vendor) => sum + vendor.calls.length, 0)
  const before = { effects: tool.effects.length, calls: calls(), received: await received(scene) }
  let [duplicates, others] = [0, 0]
  const waiting = [...platform.updates]
  const lane = async (): Promise<void> => {
    for (let update = waiting.shift(); update !== undefined; update = waiting.shift()) {
      options.say(`phase B: ${waiting.length} to deliver again`)
      if ((await platform.post(update)) === 'duplicate') duplicates += 1
      else others += 1
    }
  }
  await Promise.all(Array.from({ length: 8 }, lane))
  await scene.settle()
  return [
    equal('phase B: delivered again and told duplicate', duplicates, platform.updates.length),
    zero('phase B: told anything else', others),
    zero('phase B: new messages in the books', (await received(scene)) - before.received),
    zero('phase B: new effects at the tool stub', tool.effects.length - before.effects),
    zero('phase B: new calls at the vendor stubs', calls() - before.calls),
  ]
}

async function received(scene: Scene): Promise<number> {
  return (await scene.operator.books()).reduce((sum, line) => sum + line.received, 0)
}
