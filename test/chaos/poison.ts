// poison: messages that end the process that runs them (killed, out of memory, an exit in the middle) among long runs and quick
// ones, with a supervisor that starts the gateway again. The guilty are dead after at most four crashes, with an apology, and what
// stands behind them in their conversations goes on; the others are all answered, once and in order, however long they take.
// Meanwhile the gateway is stopped in order, again and again: that is no death.
import { audit } from './audit.ts'
import { createScene, type Scene } from './crash-setup.ts'
import { type CrashTest, check, delay, equal, eventually, fact, type Line, zero } from './crash-test.ts'
import type { GatewayProcess } from './gateway-process.ts'
import { interrupted } from './operator.ts'
import { keyOf, type Update } from './platform.ts'
import type { Death, Wish } from './subject-settings.ts'

const sizes = {
  ci: { leaseMs: 2000, long: 3, steps: 6, quickEveryMs: 400, crashes: ['kill', 'heap', 'exit', 'kill'], stops: 1 },
  full: {
    leaseMs: 4000,
    long: 6,
    steps: 20,
    quickEveryMs: 200,
    crashes: ['kill', 'heap', 'exit', 'kill', 'spin'],
    stops: 6,
  },
} as const

const maxCrashes = 4
const settleMs = 600_000

export const poison: CrashTest = async (options) => {
  const size = sizes[options.scale]
  const scene = await createScene(options, {
    connections: [{ id: 'one', sendClass: 'client-id', agent: 'poison' }],
    leaseMs: size.leaseMs,
    toolLatencyMs: 5,
    heapMegabytes: 160,
    patienceMs: 5000,
  })
  const supervisor = supervise(scene)
  try {
    await supervisor.isUp()
    const begun = await sendLong(scene, size)
    options.say('long runs go on')
    const quick = startQuick(scene, size.quickEveryMs)
    const guilty = size.crashes.map((death, index) => message(`bad-${index}`, 1, death))
    for (const update of guilty) await scene.platform.send(update)
    // What was said after it waits for it, and for nothing else.
    for (const { conversation } of guilty) await scene.platform.send(message(conversation, 2, 'plain'))
    const isDead = await eventually(async () => countDead(await listDead(scene)) >= guilty.length, settleMs, 200)
    options.say('the guilty are dead')
    const died = supervisor.crashes()
    for (let stop = 0; stop < size.stops; stop += 1) {
      await supervisor.restart()
      await delay(2500)
    }
    quick.stop()
    const isQuiet = await eventually(() => scene.settle(settleMs).catch(() => false), settleMs)
    const dead = await listDead(scene)
    const audited = await audit(scene)
    await supervisor.stop()
    return [
      check('everything came to an end', isQuiet && isDead ? 'yes' : 'no', 'yes', isQuiet && isDead),
      equal('long runs that had begun before', begun, size.long),
      check('crashes of the gateway itself', died, `<= ${guilty.length}`, died <= guilty.length),
      fact('stopped in order meanwhile, and started again', size.stops),
      ...judgeGuilty(scene, guilty, dead),
      ...judgeOthers(scene, guilty, size.steps),
      ...audited.lines,
    ]
  } finally {
    await supervisor.stop()
    await scene.close()
  }
}

function message(conversation: string, number: number, wish: Wish): Update {
  return { connection: 'one', conversation, id: `${conversation}-${number}`, from: 'ada', wish, isAlone: true }
}

/** How many of them have taken their first step. */
async function sendLong(
  scene: Scene,
  { long, steps }: { readonly long: number; readonly steps: number },
): Promise<number> {
  for (let index = 0; index < long; index += 1) await scene.platform.send(message(`long-${index}`, 1, `long ${steps}`))
  const begun = (): number => new Set(stepsDone(scene).map(({ conversation }) => conversation)).size
  await eventually(() => begun() === long, 30_000)
  return begun()
}

function stepsDone({ tool }: Scene) {
  return tool.effects.filter(({ conversation }) => conversation.startsWith('long-'))
}

function startQuick(scene: Scene, everyMs: number): { readonly stop: () => void } {
  let isOver = false
  const talk = async (): Promise<void> => {
    for (let number = 1; !isOver; number += 1) {
      await scene.platform.send(message(`quick-${number % 5}`, number, 'plain'))
      await delay(everyMs)
    }
  }
  void talk()
  return {
    stop() {
      isOver = true
    },
  }
}

type Supervisor = {
  readonly isUp: () => Promise<boolean>
  /** How often it ended by itself. */
  readonly crashes: () => number
  /** Stops it in order; it comes up again. */
  readonly restart: () => Promise<void>
  readonly stop: () => Promise<void>
}

function supervise(scene: Scene): Supervisor {
  let gateway: GatewayProcess | undefined
  let [crashes, isOver, isOrderly] = [0, false, false]
  const kept = (async () => {
    while (!isOver) {
      // It may be dead before it says that it is up.
      gateway = await scene.start().catch(() => undefined)
      if (gateway !== undefined) await Promise.all([gateway.ended, watchLife(gateway)])
      if (!isOver && !isOrderly) crashes += 1
      isOrderly = false
    }
  })()
  return {
    isUp: () => eventually(() => gateway?.isRunning() === true, 30_000),
    crashes: () => crashes,
    async restart() {
      const before = gateway
      isOrderly = true
      await before?.stop()
      await eventually(() => gateway !== before && gateway?.isRunning() === true, 30_000)
    },
    async stop() {
      if (isOver) return
      isOver = true
      await gateway?.stop()
      await kept
    },
  }
}

/** As a liveness probe does it: a process that answers nothing for seconds is killed. */
async function watchLife(gateway: GatewayProcess): Promise<void> {
  for (let silent = 0; gateway.isRunning(); ) {
    await delay(1000)
    const isAlive = await fetch(`${gateway.url}/healthz`, { signal: AbortSignal.timeout(2000) }).then(
      ({ ok }) => ok,
      () => false,
    )
    silent = isAlive ? 0 : silent + 1
    if (silent >= 3) gateway.signal('SIGKILL')
  }
}

async function listDead(scene: Scene) {
  // The gateway may be down just now.
  return scene.operator.dead().catch(() => [])
}

function countDead(dead: Awaited<ReturnType<typeof listDead>>): number {
  return dead.filter(({ messageId }) => messageId.startsWith('bad-')).length
}

function judgeGuilty(
  scene: Scene,
  guilty: readonly Update[],
  dead: Awaited<ReturnType<typeof listDead>>,
): readonly Line[] {
  return guilty.flatMap((update) => {
    const { id, conversation, wish } = update
    const times = scene.tool.effects.filter((effect) => effect.id.startsWith(`death of ${id} `)).length
    const reason = dead.find((line) => line.messageId === id)?.reason ?? 'not dead'
    const said = scene.vendor('one').messages.filter((each) => each.conversation === conversation)
    const apology = said.findIndex((each) => !each.text.startsWith('saw '))
    const next = said.findIndex((each) => each.text === `saw ${conversation}-2`)
    return [
      check(
        `${wish as Death} (${id}): processes that died of it`,
        times,
        `1 to ${maxCrashes}`,
        times >= 1 && times <= maxCrashes,
      ),
      check('  it is dead because of', reason, interrupted, reason === interrupted),
      check('  an apology, then what was said after it', `${apology}, ${next}`, '0, 1', apology === 0 && next === 1),
    ]
  })
}

function judgeOthers(scene: Scene, guilty: readonly Update[], steps: number): readonly Line[] {
  const names = new Set(guilty.map(({ id }) => id))
  const said = scene.vendor('one').messages.map((each) => each.text)
  const others = scene.platform.updates.filter((update) => !names.has(update.id))
  const unanswered = others.filter((update) => !said.includes(`saw ${update.id}`)).map(keyOf)
  const long = others.filter(({ conversation }) => conversation.startsWith('long-'))
  const taken = stepsDone(scene)
  return [
    fact('messages that did nothing wrong', others.length),
    zero('  not answered', unanswered.length),
    ...(unanswered.length === 0 ? [] : [fact('  not answered', unanswered.slice(0, 8).join(' '))]),
    equal('steps of long runs', new Set(taken.map(({ id }) => id)).size, long.length * steps),
    zero('  taken twice', taken.length - new Set(taken.map(({ id }) => id)).size),
  ]
}
