// outage: the database stops, freezes or locks a hot table for seconds while messages keep coming. Refused in time, red in
// time, nothing acknowledged missing, memory bounded, and back without anybody's help. The gateway lives throughout, so no result that
// it held is thrown away: every message has its effect once and its reply once, and nothing ends unknown.
import { startPostgresServer } from '../setup/postgres-server.ts'
import { audit } from './audit.ts'
import { createScene, type Scene } from './crash-setup.ts'
import { type CrashTest, check, delay, eventually, fact, type Line, type Scale, zero } from './crash-test.ts'
import type { GatewayProcess } from './gateway-process.ts'
import type { Ledger } from './ledger.ts'
import { type Outage, outagesOf } from './outages.ts'
import { keyOf, type Platform, type Update } from './platform.ts'
import { memoryInUse, type VitalSigns, watchVitalSigns } from './process-health.ts'
import { milliseconds } from './timing.ts'

/**
 * The promise is 2.5 s, and back soon after. At ci scale the machine may stand still for seconds: an outage then lasts until
 * its refusals were seen, and times are judged by bars that only a hang would miss.
 */
const sizes = {
  ci: { outageMs: 4500, calmMs: 500, conversations: 8, heavy: 8, answerMs: 20_000, backMs: 60_000 },
  full: { outageMs: 5000, calmMs: 2000, conversations: 40, heavy: 250, answerMs: 2500, backMs: 5000 },
} as const
const maxOutageMs = { ci: 40_000, full: 5000 } as const
const ballast = 128 * 1024
/** At full scale 32 MB come in during an outage. Held as bytes, as text and as a row, all of them are well above this. */
const maxHeldMegabytes = 96

type Size = { readonly [name in keyof (typeof sizes)['ci']]: number }
type Period = { readonly from: number; readonly to: number; readonly backAt: number }

export const outage: CrashTest = async (options) => {
  const { scale } = options
  const size = sizes[scale]
  // Of its own, since it is stopped and frozen, and it waits for the disk.
  const server = await startPostgresServer({ isDurable: true })
  const scene = await createScene(
    { ...options, postgresUrl: server.url },
    {
      connections: [
        { id: 'client-id', sendClass: 'client-id' },
        { id: 'lookup', sendClass: 'lookup' },
        // Nothing that is unknown here is ever found out.
        { id: 'none', sendClass: 'none' },
      ],
      leaseMs: 3000,
      // So that some results are always on their way when it happens.
      toolLatencyMs: 200,
      patienceMs: 30_000,
      retryMs: 200,
      maxInFlight: 256,
    },
  )
  try {
    const gateway = await scene.start()
    const signs = watchVitalSigns(gateway)
    // A process that has just started has not yet grown to its size.
    await (await sendHeavy(scene, 'warm', size))()
    const load = startLoad(scene, size)
    const lines: Line[] = []
    const outages = outagesOf(server, await scene.databaseUrl(), scale)
    const [first] = outages
    // Nor has one that has not yet had to refuse: what is held in addition is judged from the second outage on.
    if (first !== undefined && scale === 'full')
      await suffer({ ...first, slug: 'grown' }, { scene, gateway, signs, size, scale })
    for (const each of outages) {
      options.say(`the database is ${each.name}`)
      lines.push(...(await suffer(each, { scene, gateway, signs, size, scale })))
    }
    load.stop()
    options.say('waiting for the last answers')
    const isQuiet = await scene.settle(120_000)
    await signs.stop()
    const audited = await audit(scene)
    const inHand = await resultsInHand(scene, audited.ledger)
    await gateway.stop()
    return [
      ...lines,
      check('everything came to an end', isQuiet ? 'yes' : 'no', 'yes', isQuiet),
      ...bystanders(scene.platform),
      ...inHand,
      ...audited.lines,
    ]
  } finally {
    // What is frozen cannot be ended.
    await server.thaw()
    await scene.close()
    await server.stop()
  }
}

type Load = { readonly stop: () => void }

/** Every conversation says its next thing soon after the last one was acknowledged. */
function startLoad(scene: Scene, size: Size): Load {
  let isOver = false
  const talk = async (index: number): Promise<void> => {
    for (let number = 1; !isOver; number += 1) {
      await scene.platform.send(updateOf(`c${index}`, number))
      await delay(scene.random.between(50, 150))
    }
  }
  for (let index = 0; index < size.conversations; index += 1) void talk(index)
  return {
    stop() {
      isOver = true
    },
  }
}

function updateOf(conversation: string, number: number): Update {
  const connection = ['client-id', 'lookup', 'none'][number % 3] ?? 'none'
  return {
    connection,
    conversation,
    id: `${conversation}-${String(number).padStart(4, '0')}`,
    from: 'ada',
    wish: 'plain',
  }
}

type Suffering = {
  readonly scene: Scene
  readonly gateway: GatewayProcess
  readonly signs: VitalSigns
  readonly size: Size
  readonly scale: Scale
}

async function suffer(outage: Outage, { scene, gateway, signs, size, scale }: Suffering): Promise<readonly Line[]> {
  await delay(size.calmMs)
  const before = await memoryInUse(gateway)
  await outage.begin()
  const from = performance.now()
  const heavy = sendHeavy(scene, outage.slug, size)
  await delay(size.outageMs)
  await eventually(() => isRefusedSince(scene, signs, from), maxOutageMs[scale] - size.outageMs)
  const to = performance.now()
  const after = await memoryInUse(gateway)
  await outage.end()
  const endedAt = performance.now()
  const isBack = await eventually(() => isBackSince(scene, signs, endedAt), size.backMs + 60_000, 50)
  const period = { from, to, backAt: isBack ? performance.now() : Number.POSITIVE_INFINITY }
  const deliverRest = await heavy
  await deliverRest()
  return [
    ...answers(outage, scene.platform, period, { size, signs }),
    ...readiness(outage, signs, period, size),
    check(
      `${outage.name}: acknowledges and is ready again after`,
      milliseconds(period.backAt - endedAt),
      `<= ${size.backMs} ms`,
      period.backAt - endedAt <= size.backMs,
    ),
    ...memory(outage, before, after, scale),
    check(`${outage.name}: the process outlived it`, gateway.isRunning() ? 'yes' : 'no', 'yes', gateway.isRunning()),
  ]
}

/**
 * Large messages at a steady pace, whether the earlier ones were answered or not, as platforms send them: one try each, and
 * until it is acknowledged when the outage is over.
 */
async function sendHeavy({ platform }: Scene, name: string, size: Size): Promise<() => Promise<void>> {
  const updates: Update[] = []
  const tries: Promise<unknown>[] = []
  for (let number = 0; number < size.heavy; number += 1) {
    const id = `${name}-${number}`
    const update: Update = { connection: 'client-id', conversation: id, id, from: 'bob', wish: 'plain', ballast }
    updates.push(update)
    tries.push(platform.post(update))
    await delay(size.outageMs / size.heavy)
  }
  return async () => {
    await Promise.all(tries)
    await Promise.all(updates.filter((each) => !platform.acknowledged.has(keyOf(each))).map(platform.send))
  }
}

function isRefusedSince({ platform }: Scene, { looks }: VitalSigns, moment: number): boolean {
  const isRed = looks.some((look) => look.askedAt >= moment && look.status === 503)
  return isRed && platform.tries.some((each) => each.startedAt >= moment && each.status === 503)
}

function isBackSince({ platform }: Scene, signs: VitalSigns, moment: number): boolean {
  const isGreen = (signs.looks.at(-1)?.askedAt ?? 0) >= moment && signs.looks.at(-1)?.status === 200
  return isGreen && platform.tries.some((each) => each.startedAt >= moment && each.status === 200)
}

/** What the machine withheld from the gateway and from us while an answer was awaited is not the gateway's time. */
function answers(
  outage: Outage,
  platform: Platform,
  { from, to }: Period,
  { size, signs }: Pick<Suffering, 'size' | 'signs'>,
): readonly Line[] {
  const during = platform.tries.filter((each) => each.startedAt < to && each.startedAt + each.ms > from)
  const refused = during.filter((each) => each.status === 503)
  const slowest = Math.max(0, ...during.map((each) => each.ms))
  const late = during.filter(({ startedAt, ms }) => ms - signs.starvedMs(startedAt, startedAt + ms) > size.answerMs)
  const count = `${refused.length} of ${during.length}`
  return [
    check(`${outage.name}: answered 503`, count, '> 0', refused.length > 0),
    fact(`${outage.name}: slowest answer`, milliseconds(slowest)),
    zero(`${outage.name}: answered after ${size.answerMs} ms, waits for a processor left out`, late.length),
  ]
}

/** Red as soon as a commit would have had to be answered, and until the end. */
function readiness(outage: Outage, signs: VitalSigns, { from, to }: Period, size: Size): readonly Line[] {
  const during = signs.looks.filter((look) => look.askedAt > from && look.askedAt < to)
  const red = during.filter((look) => look.status === 503)
  const lateGreen = during.filter(
    (look) => look.status === 200 && look.askedAt > from + size.answerMs && look.answeredAt < to,
  )
  return [
    check(`${outage.name}: readiness red`, `${red.length} of ${during.length} looks`, '> 0', red.length > 0),
    ...(outage.isTotal ? [zero(`${outage.name}: readiness green after ${size.answerMs} ms`, lateGreen.length)] : []),
  ]
}

function memory(outage: Outage, before: number, after: number, scale: Scale): readonly Line[] {
  const [name, grown] = [`${outage.name}: megabytes held in addition`, after - before]
  if (scale === 'ci') return [fact(name, grown)]
  return [check(name, `${grown}, to ${before}`, `<= ${maxHeldMegabytes}`, grown <= maxHeldMegabytes)]
}

/** What the gateway was told by the tool and the vendors, and what it made of that. */
async function resultsInHand({ platform, tool, operator }: Scene, { deadReason }: Ledger): Promise<readonly Line[]> {
  const acted = new Set(tool.effects.map(keyOf))
  const idle = [...platform.acknowledged].filter((key) => !acted.has(key))
  const because = (code: string) => [...deadReason.values()].filter((reason) => reason === code).length
  const unknown = (await operator.failedDeliveries()).filter(({ state }) => state === 'unknown')
  return [
    zero('results thrown away: tool_outcome_unknown', because('tool_outcome_unknown')),
    zero('results thrown away: delivery_unknown', because('delivery_unknown')),
    zero('results thrown away: deliveries listed as unknown', unknown.length),
    zero('messages that ended dead', deadReason.size),
    zero('messages without their effect', idle.length),
  ]
}

/** Over the whole run: nothing but 2xx and 503, and always an answer. */
function bystanders({ tries, outcomes }: Platform): readonly Line[] {
  const others = tries.filter((each) => each.status !== undefined && each.status !== 503 && each.status >= 300)
  const silent = tries.filter((each) => each.status === undefined)
  const told = [...outcomes].map(([outcome, count]) => `${outcome} ${count}`).join(', ')
  return [
    fact('tries', tries.length),
    fact('told', told),
    zero('answered with anything but 2xx and 503', others.length),
    zero('tries without any answer', silent.length),
  ]
}
