// shapes: agents as people write them, under messages that come in bursts and are merged, killed, ended, frozen and failing in the
// middle of their turns; between two tries people edit, delete and lose their access, and dead letters are tried again.

import { createScene, type Scene } from './crash-setup.ts'
import {
  type CrashTest,
  type CrashTestOptions,
  check,
  delay,
  eventually,
  fact,
  type Line,
  within,
} from './crash-test.ts'
import { createFreezer } from './freezer.ts'
import type { GatewayProcess } from './gateway-process.ts'
import type { SeededRandom } from './seeded-random.ts'
import { auditShapes } from './shapes-audit.ts'
import { createShapesDesk, readStored, type ShapesDesk } from './shapes-operator.ts'
import { createPeople, type People } from './shapes-people.ts'
import { startShop } from './shapes-shop.ts'
import type { FailpointPlan } from './subject-settings.ts'

const connections = [
  { id: 'text', sendClass: 'client-id', agent: 'text' },
  { id: 'name', sendClass: 'lookup', agent: 'name' },
  { id: 'row', sendClass: 'client-id', agent: 'row' },
  { id: 'model', sendClass: 'edit', agent: 'model' },
  { id: 'team', sendClass: 'client-id', agent: 'team' },
] as const

const sizes = {
  ci: {
    leaseMs: 1200,
    perShape: 3,
    messages: 500,
    kills: 6,
    ends: 1,
    freezes: 1,
    atOnce: 5,
    hits: 25,
    changes: 5,
    backlog: 80,
  },
  full: {
    leaseMs: 3000,
    perShape: 30,
    messages: 50_500,
    kills: 54,
    ends: 6,
    freezes: 4,
    atOnce: 24,
    hits: 250,
    changes: 12,
    backlog: 2000,
  },
} as const

type Size = (typeof sizes)['ci' | 'full']
type Fault = 'kill' | 'end' | 'freeze'

type Play = {
  readonly scene: Scene
  readonly size: Size
  readonly people: People
  readonly desk: ShapesDesk
  readonly random: SeededRandom
  readonly say: CrashTestOptions['say']
}

export const shapes: CrashTest = async (options) => {
  const size = sizes[options.scale]
  const shop = await startShop(10)
  let people: People | undefined
  const scene = await createScene(options, {
    connections,
    leaseMs: size.leaseMs,
    toolLatencyMs: 0,
    shop,
    onMessage: (_connection, { text }) => people?.hear(text),
  })
  const { random } = scene
  people = createPeople(() => scene, random, size.perShape, 0.45)
  const desk = createShapesDesk(random, shop)
  try {
    const play: Play = { scene, size, people, desk, random, say: options.say }
    const counts = { kills: 0, ends: 0, freezes: 0 }
    const faults = plannedFaults(size)
    for (let round = 0; round < faults.length || people.written() < size.messages; round += 1) {
      options.say(`round ${round + 1}/${faults.length}: ${people.written()} messages`)
      const quota = Math.ceil((size.messages - people.written()) / Math.max(1, faults.length - round))
      await playRound(play, faults[round] ?? 'kill', quota, counts)
    }
    const { last, isQuiet } = await comeToAnEnd(play)
    const stored = await readStored(scene)
    const books = await scene.operator.books()
    await last.stop()
    const said = new Map([...scene.vendors].map(([connection, vendor]) => [connection, vendor.messages]))
    return [
      ...toldOf(play, counts),
      check('everything came to an end', isQuiet ? 'yes' : 'no', 'yes', isQuiet),
      ...auditShapes({ shop, said, platform: scene.platform, ...stored, books, anew: desk.anew }),
    ]
  } finally {
    await scene.close()
    await shop.close()
  }
}

type Counts = { kills: number; ends: number; freezes: number }

function toldOf({ people, desk, size }: Play, counts: Counts): readonly Line[] {
  const { revoked, resubmitted, anew, refused } = desk.counts
  return [
    fact('messages', people.written()),
    check('kill -9', counts.kills, `>= ${size.kills}`, counts.kills >= size.kills),
    fact('SIGTERM, SIGSTOP longer than the lease', `${counts.ends}, ${counts.freezes}`),
    fact('people who lost their access for a while', revoked),
    fact('dead letters tried again: as their turn, anew, refused', `${resubmitted}, ${anew}, ${refused}`),
  ]
}

/** Kills, with the others spread among them. */
function plannedFaults({ kills, ends, freezes }: Size): readonly Fault[] {
  const others: readonly Fault[] = [
    ...Array.from({ length: ends }, (): Fault => 'end'),
    ...Array.from({ length: freezes }, (): Fault => 'freeze'),
  ]
  const every = Math.max(1, Math.floor(kills / (others.length + 1)))
  return Array.from({ length: kills }, (_, index): readonly Fault[] => {
    const other = (index + 1) % every === 0 ? others[(index + 1) / every - 1] : undefined
    return other === undefined ? ['kill'] : ['kill', other]
  }).flat()
}

/** Most of them between the start of a step and its end in the journal, where it matters. */
const places = [
  ...(['before:effect', 'after:effect', 'after:effect', 'after:begin_step', 'before:finish_step'] as const),
  ...([
    'after:finish_step',
    'after:finish_step',
    'after:record_step',
    'after:open_turn',
    'before:complete_turn',
  ] as const),
  ...([
    'after:complete_turn',
    'after:resume_turn',
    'after:join_turn',
    'before:release_lane',
    'after:split_turn',
  ] as const),
]

const rare = /(resume_turn|join_turn|release_lane|split_turn)$/

function plannedKill({ random, size }: Play): FailpointPlan {
  const name = random.pick(places)
  const hit = random.between(1, rare.test(name) ? 4 : size.hits)
  // Half of them count what an earlier process left behind as well: a turn is interrupted more than once.
  return { name, hit, action: 'kill', isFromStart: random.next() < 0.5 }
}

async function playRound(play: Play, fault: Fault, quota: number, counts: Counts): Promise<void> {
  const { scene, size, people, desk, random } = play
  const gateway = await startOrDie(play, fault === 'kill' ? [plannedKill(play)] : [])
  if (gateway === undefined) {
    counts.kills += 1
    return
  }
  const other = fault === 'freeze' ? await scene.start() : undefined
  await desk.restore(gateway)
  // The turns that the last process left are leased to it for a moment longer: this is between two of their tries.
  await desk.revoke(gateway, people.waiting(Math.ceil(size.changes / 4)))
  people.changeMinds(size.changes)
  const working = Promise.all([writeAll(play, gateway, quota), helpOut(play, gateway)])
  if (other !== undefined) {
    await delay(random.between(100, 600))
    await createFreezer(size.leaseMs).freeze(gateway)
    counts.freezes += 1
  }
  await working
  if (!(await within(random.between(50, 1500), gateway.ended))) {
    if (fault === 'kill') await gateway.kill()
    else await gateway.stop()
  }
  const how = await gateway.ended
  if (how === 'SIGKILL' && fault === 'kill') counts.kills += 1
  if (fault === 'end') counts.ends += 1
  await other?.stop()
}

/** It may be killed before it says that it is ready. */
async function startOrDie({ scene }: Play, plans: readonly FailpointPlan[]): Promise<GatewayProcess | undefined> {
  try {
    return await scene.start(plans)
  } catch (error) {
    if (error instanceof Error && error.message.includes('SIGKILL')) return undefined
    throw error
  }
}

async function writeAll({ scene, people, size }: Play, gateway: GatewayProcess, quota: number): Promise<void> {
  const until = people.written() + quota
  while (people.written() < until && gateway.isRunning()) {
    await Promise.race([people.writeSome(size.atOnce), gateway.ended])
    // What is not answered yet waits in the gateway; more of it would only be merged into fewer turns.
    await Promise.race([eventually(() => isAtEase(scene, size), 20_000, 100), gateway.ended])
  }
}

async function isAtEase({ operator }: Scene, size: Size): Promise<boolean> {
  const books = await operator.books().catch(() => [])
  return books.reduce((sum, { inFlight }) => sum + inFlight, 0) < size.backlog
}

/** The operator: gives access back after a while, and tries what died again. */
async function helpOut({ desk, size }: Play, gateway: GatewayProcess): Promise<void> {
  await Promise.race([delay(size.leaseMs * 1.5), gateway.ended])
  await desk.restore(gateway)
  await desk.tryAgain(gateway, 0.15)
}

async function comeToAnEnd(play: Play): Promise<{ readonly last: GatewayProcess; readonly isQuiet: boolean }> {
  const { scene, desk, say } = play
  const last = await scene.start()
  await desk.restore(last)
  say('waiting for the last answers')
  const wasQuiet = await scene.settle(300_000)
  say('trying dead letters again')
  await desk.tryAgain(last, 0.3)
  const isQuiet = await scene.settle(300_000)
  return { last, isQuiet: wasQuiet && isQuiet }
}
