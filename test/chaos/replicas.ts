// replicas: two processes on one PostgreSQL, one frozen longer than its lease again and again while the other takes over.
import { audit } from './audit.ts'
import { createScene, type Scene } from './crash-setup.ts'
import { type CrashTest, check, delay, equal, fact, type Line, type Scale, zero } from './crash-test.ts'
import { createFreezer, type Freezer } from './freezer.ts'
import type { GatewayProcess } from './gateway-process.ts'
import type { Update } from './platform.ts'
import { sendSameUpdate } from './same-update.ts'
import { staleCalls, staleEffects } from './stale-effects.ts'
import type { FailpointPlan } from './subject-settings.ts'

export const replicaConnections = [
  { id: 'client-id', sendClass: 'client-id' },
  { id: 'lookup', sendClass: 'lookup' },
  { id: 'edit', sendClass: 'edit' },
  { id: 'none', sendClass: 'none' },
] as const

const sizes = {
  ci: { leaseMs: 1200, conversations: 40, rounds: 6, hits: 4, randomFreezes: 1 },
  full: { leaseMs: 3000, conversations: 1000, rounds: 10, hits: 60, randomFreezes: 4 },
} as const

export const replicas: CrashTest = async (options) => {
  const size = sizes[options.scale]
  const scene = await createScene(options, {
    connections: replicaConnections,
    leaseMs: size.leaseMs,
    toolLatencyMs: 10,
    maxInFlight: 48,
  })
  try {
    slowVendors(scene)
    const freezer = createFreezer(size.leaseMs)
    const plans = stopPlans(options.scale, size.hits)
    const [steady, stopping] = [await scene.start(), await scene.start(plans)]
    const traffic = sendRounds(scene, size)
    const thawed = await freezeInTurn(scene, freezer, { steady, stopping, plans, size, say: options.say })
    await traffic.finish()
    options.say('waiting for the last answers')
    const isQuiet = await scene.settle(180_000)
    const same = await sendSameUpdate(scene, ['client-id', 'none'], [steady.url, stopping.url])
    const audited = await audit(scene)
    await Promise.all([steady.stop(), stopping.stop()])
    return [
      fact('processes', 2),
      check('everything came to an end', isQuiet ? 'yes' : 'no', 'yes', isQuiet),
      equal('times a process froze at a failpoint', thawed, plans.length),
      equal('times a process was frozen at a random time', freezer.freezes.length - thawed, size.randomFreezes),
      ...fencing(scene, freezer, [steady, stopping]),
      ...same,
      ...audited.lines,
    ]
  } finally {
    await scene.close()
  }
}

const freezeAt = {
  ci: ['before:effect', 'before:complete_turn', 'before:deliver'],
  full: [
    'before:effect',
    'after:effect',
    'before:complete_turn',
    'before:start_send',
    'before:deliver',
    'after:deliver',
  ],
} as const

/** Where a freeze hurts most: right before and after each effect, and before the writes that follow it. */
export function stopPlans(scale: Scale, every: number): readonly FailpointPlan[] {
  return freezeAt[scale].map((name, index) => ({ name, hit: every * (index + 1), action: 'stop' }))
}

/** The vendors answer late, so that some call is always under way. */
export function slowVendors(scene: Scene): void {
  for (const vendor of scene.vendors.values()) {
    for (const route of ['send', 'edit']) vendor.failAlways(route, { kind: 'delay', ms: 15 })
  }
}

type Traffic = { readonly finish: () => Promise<void> }

/** Every conversation gets one message a round: all the rounds asked for, and then small ones until told to finish. */
function sendRounds(scene: Scene, size: { readonly conversations: number; readonly rounds: number }): Traffic {
  let isOver = false
  const rounds = async (): Promise<void> => {
    for (let round = 1; round <= size.rounds || !isOver; round += 1) {
      const conversations = round <= size.rounds ? size.conversations : Math.min(24, size.conversations)
      const sent = Array.from({ length: conversations }, (_, index) => scene.platform.send(updateOf(index, round)))
      await Promise.all(sent)
    }
  }
  const done = rounds()
  return {
    finish() {
      isOver = true
      return done
    },
  }
}

function updateOf(index: number, round: number): Update {
  const connection = replicaConnections[index % replicaConnections.length]?.id ?? ''
  const id = `r${index}-${String(round).padStart(3, '0')}`
  return { connection, conversation: `r${index}`, id, from: 'ada', wish: 'plain' }
}

type Freezing = {
  readonly steady: GatewayProcess
  readonly stopping: GatewayProcess
  readonly plans: readonly FailpointPlan[]
  readonly size: (typeof sizes)['ci' | 'full']
  readonly say: (status: string) => void
}

/** One after the other: with both frozen there would be no successor. Answers how many failpoints froze a process. */
async function freezeInTurn(scene: Scene, freezer: Freezer, freezing: Freezing): Promise<number> {
  const { steady, stopping, plans, size, say } = freezing
  const until = performance.now() + 600_000
  const isOver = (): boolean => performance.now() > until
  const ticker = setInterval(() => {
    say(`${scene.platform.acknowledged.size} acknowledged, ${freezer.freezes.length} freezes`)
  }, 500)
  try {
    const thawed = await freezer.thawEach(stopping, plans.length, isOver)
    for (let times = 0; times < size.randomFreezes; times += 1) {
      await delay(scene.random.between(50, 400))
      await freezer.freeze(steady)
    }
    return thawed
  } finally {
    clearInterval(ticker)
  }
}

export function fencing(scene: Scene, freezer: Freezer, gateways: readonly GatewayProcess[]): readonly Line[] {
  const calls = [...scene.vendors.values()].flatMap((vendor) => staleCalls(vendor.calls, freezer.freezes))
  const stale = [...staleEffects(scene.tool.effects, freezer.freezes), ...calls]
  const counted = (event: string, isMeant: (line: { readonly [name: string]: unknown }) => boolean = () => true) =>
    gateways.reduce((sum, gateway) => sum + gateway.count(event, isMeant), 0)
  // A turn that noticed by its own clock wrote nothing; a refused write names the epoch it came with.
  const turnWrites = counted('turn_fenced', (line) => 'epoch' in line)
  const sendWrites = counted('send_fenced')
  const byOwnClock = counted('turn_fenced') - turnWrites
  const written = `${turnWrites} + ${sendWrites}`
  const name = 'fenced writes (turns + sends)'
  // Alone on its database a process that wakes up has no successor: it renews its leases and goes on, or its own clock stops its turns.
  const isAlone = gateways.length === 1
  return [
    zero('effects with a stale epoch after the successor', stale.length),
    ...stale.slice(0, 5).map((text) => fact('  stale', text)),
    fact('turns given up by their own clock or a fenced step', byOwnClock),
    isAlone ? fact(name, written) : check(name, written, '> 0', turnWrites + sendWrites > 0),
  ]
}
