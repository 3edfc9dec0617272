// hang: more chats than there are slots hang in one agent on one connection, some before their effect and some after it. People
// who talk with another agent, or on another connection, are answered at once and in order: beside the hanging ones, beside a
// flood for the agent that hangs, and after kill -9, when all that hung begins anew.

import { createScene, type Scene } from './crash-setup.ts'
import { type CrashTest, check, equal, eventually, fact, type Line, type Scale, zero } from './crash-test.ts'
import type { GatewayProcess } from './gateway-process.ts'
import { watchVitalSigns } from './process-health.ts'
import { adminToken, type Wish } from './subject-settings.ts'

const sizes = {
  ci: { hanging: 72, flood: 100, people: 8, messages: 4, deadlineMs: 12_000, leaseMs: 3_000, settleMs: 180_000 },
  full: { hanging: 300, flood: 5_000, people: 10, messages: 40, deadlineMs: 20_000, leaseMs: 6_000, settleMs: 900_000 },
} as const

type Size = (typeof sizes)['ci' | 'full']

/** What one agent on one connection may hold of 64 slots, where there are others of both. */
const share = 48
/** The promise; at the small scale as patient as with a machine that stands still for seconds. */
const slowestMs = { ci: 5_000, full: 2_000 } as const
/** Of a process that has just started, while the flood that it did not take before still comes in. */
const slowestAfterStartMs = 5_000

/** A person who is neither at the agent nor on the connection that hangs, or at one of both. */
type Innocent = { readonly connection: string; readonly wish: Wish; readonly kind: string }
const innocents: readonly Innocent[] = [
  { connection: 'stuck', wish: '@second plain', kind: 'another agent' },
  { connection: 'other', wish: 'plain', kind: 'another connection' },
  { connection: 'other', wish: '@second plain', kind: 'both others' },
]

type Answers = { readonly times: ReadonlyMap<string, number>; readonly orders: ReadonlyMap<string, readonly string[]> }

export const hang: CrashTest = async (options) => {
  const size = sizes[options.scale]
  const times = new Map<string, number>()
  const orders = new Map<string, string[]>()
  const scene = await createScene(options, {
    connections: ['stuck', 'other'].map((id) => ({ id, sendClass: 'client-id' })),
    leaseMs: size.leaseMs,
    toolLatencyMs: 0,
    turns: { deadlineMs: size.deadlineMs },
    onMessage(_connection, { conversation, text }) {
      if (!text.startsWith('saw ')) return
      const ids = text.slice('saw '.length).split(' ')
      for (const id of ids) times.set(id, performance.now())
      orders.set(conversation, [...(orders.get(conversation) ?? []), ...ids])
    },
  })
  const answers = { times, orders }
  try {
    const first = await scene.start()
    for (let n = 0; n < size.hanging; n += 1)
      void scene.platform.send({ ...at('stuck', `h${n}`), wish: n % 2 === 0 ? 'hang' : 'hang before' })
    options.say('waiting until the share is used up')
    const isUsedUp = await eventually(async () => (await slotsOf(first)).used === share, 30_000)
    const signs = watchVitalSigns(first)
    const lines: Line[] = [check('slots held by what hangs', isUsedUp ? share : 'fewer', String(share), isUsedUp)]
    options.say('talking beside what hangs')
    lines.push(...(await talk(scene, options.scale, answers, 'beside')))
    for (let n = 0; n < size.flood; n += 1) void scene.platform.send({ ...at('stuck', `f${n}`), wish: 'plain' })
    options.say('talking beside a flood for the agent that hangs')
    lines.push(...(await talk(scene, options.scale, answers, 'flood')))
    // Others are answered; people at the agent that hangs wait, and readiness says so.
    const isRed = await eventually(() => signs.looks.some(({ status }) => status === 503), size.settleMs)
    await signs.stop()
    lines.push(check('readiness red while people wait for the agent that hangs', isRed ? 'yes' : 'no', 'yes', isRed))
    options.say('killed and started again')
    await first.kill()
    const second = await scene.start()
    const startedAt = performance.now()
    lines.push(...(await talk(scene, options.scale, answers, 'again')))
    // What waited for the agent that hangs goes before what hung in the life before.
    const isFlooded = await eventually(() => countOf(answers, 'f') === size.flood, size.settleMs)
    lines.push(check('the flood is answered', countOf(answers, 'f'), String(size.flood), isFlooded))
    lines.push(fact('the flood is over, ms after the start', Math.round(performance.now() - startedAt)))
    options.say('waiting for the deadlines')
    const isQuiet = await scene.settle(size.settleMs)
    lines.push(check('everything came to an end', isQuiet ? 'yes' : 'no', 'yes', isQuiet))
    lines.push(...(await judge(scene, size, answers)))
    await second.stop()
    return lines
  } finally {
    await scene.close()
  }
}

function at(connection: string, id: string) {
  return { connection, conversation: `${connection}-${id}`, id, from: id }
}

/** Each of the people writes when the message before was answered. */
async function talk(
  scene: Scene,
  scale: Scale,
  answers: Answers,
  when: 'beside' | 'flood' | 'again',
): Promise<readonly Line[]> {
  const size = sizes[scale]
  const waits = new Map(innocents.map(({ kind }) => [kind, [] as number[]]))
  const one = async ({ connection, wish, kind }: Innocent, person: number): Promise<void> => {
    const conversation = `${when}-${connection}-${wish.length}-${person}`
    for (let n = 0; n < size.messages; n += 1) {
      const id = `${conversation}-${n}`
      await scene.platform.send({ connection, conversation, id, from: conversation, wish })
      // From the acknowledgement: until then it may wait its turn among the requests of the platform.
      const takenAt = performance.now()
      await eventually(() => answers.times.has(id), 30_000, 5)
      waits.get(kind)?.push(Math.max(0, (answers.times.get(id) ?? takenAt + 30_000) - takenAt))
    }
  }
  await Promise.all(innocents.flatMap((who) => Array.from({ length: size.people }, (_, person) => one(who, person))))
  return [...waits].map(([kind, ms]) => {
    const sorted = ms.toSorted((a, b) => a - b)
    const [median, slowest] = [sorted[Math.floor(sorted.length / 2)] ?? 0, sorted.at(-1) ?? 0]
    const told = `${Math.round(slowest)} ms, median ${Math.round(median)} ms of ${sorted.length}`
    const bar = when === 'again' ? slowestAfterStartMs : slowestMs[scale]
    return check(`${when}: slowest answer, ${kind}`, told, `< ${bar} ms`, slowest < bar)
  })
}

async function judge(scene: Scene, size: Size, answers: Answers): Promise<readonly Line[]> {
  const sent = scene.platform.updates.filter(({ wish }) => !wish.startsWith('hang'))
  const said = [...answers.orders.values()].flat()
  const outOfOrder = [...answers.orders.entries()].filter(([conversation, ids]) => {
    const asked = sent.filter((update) => update.conversation === conversation).map(({ id }) => id)
    return asked.join() !== ids.join()
  })
  const dead = await scene.operator.dead()
  const hung = dead.filter(({ reason, messageId }) => reason === 'turn_deadline' && messageId.startsWith('h'))
  const effects = scene.tool.effects.filter(({ wish }) => wish === 'hang')
  const books = await scene.operator.books()
  return [
    equal('innocent messages answered', said.length, sent.length),
    zero('innocent messages answered twice', said.length - new Set(said).size),
    zero('conversations out of order', outOfOrder.length),
    equal('what hung ended dead at its deadline', hung.length, size.hanging),
    zero('other dead', dead.length - hung.length),
    equal('effects of what hung', effects.length, size.hanging / 2),
    zero(
      'in flight in the books',
      books.reduce((sum, line) => sum + line.inFlight, 0),
    ),
  ]
}

function countOf({ times }: Answers, letter: string): number {
  return [...times.keys()].filter((id) => new RegExp(`^${letter}\\d`).test(id)).length
}

async function slotsOf({ url }: GatewayProcess): Promise<{ readonly used: number }> {
  const response = await fetch(`${url}/readyz`, { headers: { authorization: `Bearer ${adminToken}` } })
  return ((await response.json()) as { readonly slots: { readonly used: number } }).slots
}
