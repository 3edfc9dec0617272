// flood: replies of one to four parts in every class of idempotent sending, to vendors that answer 429 at random and lose
// one answer in five, half of them after they did what was asked; and a few whose second part is refused for good.
import type { SendClass } from '../doubles/loopback/deliver.ts'
import { createScene, type Scene } from './crash-setup.ts'
import { type CrashTest, check, equal, fact, type Line, zero } from './crash-test.ts'
import { type AskedReply, type FloodLedger, readFlood } from './flood-ledger.ts'
import { type FloodedVendor, floodVendor } from './flood-vendor.ts'
import { partLimit } from './part-text.ts'

const classes: readonly SendClass[] = ['client-id', 'lookup', 'edit', 'none']

const sizes = {
  // Nobody dies here, so no call can straggle in after its lease: a lookup need not wait for the lease to be over.
  ci: { replies: 16, conversations: 16, refused: 2, reconcileAfterMs: 500, settleMs: 120_000 },
  full: { replies: 200, conversations: 50, refused: 10, reconcileAfterMs: undefined, settleMs: 300_000 },
} as const

type Size = (typeof sizes)['ci' | 'full']

export const flood: CrashTest = async (options) => {
  const size = sizes[options.scale]
  const scene = await createScene(options, {
    connections: classes.map((sendClass) => ({ id: sendClass, sendClass, maxTextLength: partLimit })),
    leaseMs: 6000,
    ...(size.reconcileAfterMs === undefined ? {} : { reconcileAfterMs: size.reconcileAfterMs }),
    patienceMs: 20_000,
    toolLatencyMs: 0,
  })
  try {
    const gateway = await scene.start()
    const lines: Line[] = []
    const vendors = new Map(classes.map((each) => [each, floodVendor(scene.vendor(each), options.seed, isRefusedPart)]))
    const plans = new Map(classes.map((each) => [each, ask(scene, each, size)]))
    options.say('replies are on their way')
    const isQuiet = await scene.settle(size.settleMs)
    lines.push(check('everything came to an end', isQuiet ? 'yes' : 'no', 'yes', isQuiet))
    for (const each of classes) {
      options.say(`reading what became of ${each}`)
      lines.push(...(await judge(scene, each, plans.get(each) ?? [], vendors.get(each))))
    }
    await gateway.stop()
    return lines
  } finally {
    await scene.close()
  }
}

/** Replies of one conversation follow each other; those to be refused have conversations of their own. */
function ask(scene: Scene, connection: SendClass, size: Size): readonly AskedReply[] {
  const asked: AskedReply[] = []
  for (let index = 0; index < size.replies; index += 1) {
    const conversation = `${connection}-${index % size.conversations}`
    asked.push({ id: `r${index}`, conversation, parts: scene.random.between(1, 4) })
  }
  for (let index = 0; index < size.refused; index += 1) {
    asked.push({ id: `x${index}`, conversation: `${connection}-x${index}`, parts: 4 })
  }
  for (const { id, conversation, parts } of asked) {
    void scene.platform.send({ connection, conversation, id, from: 'ada', wish: `parts ${parts}`, isAlone: true })
  }
  return asked
}

function isRefusedReply({ id }: AskedReply): boolean {
  return id.startsWith('x')
}

function isRefusedPart(text: string): boolean {
  return text.startsWith('part x') && text.includes(' 2/4 ')
}

async function judge(
  scene: Scene,
  connection: SendClass,
  plan: readonly AskedReply[],
  vendor: FloodedVendor | undefined,
): Promise<readonly Line[]> {
  const { operator } = scene
  const asked = plan.filter((reply) => !isRefusedReply(reply))
  const refused = plan.filter(isRefusedReply)
  const dead = (await operator.dead()).filter((line) => line.connection === connection)
  const failed = (await operator.failedDeliveries()).filter((line) => line.connection === connection)
  const unknownTexts: string[] = []
  for (const line of failed.filter((each) => each.state === 'unknown')) {
    unknownTexts.push(String((await operator.delivery(line.id)).call['text']))
  }
  const ledger = readFlood({
    asked,
    refused,
    messages: scene.vendor(connection).messages,
    deadReason: new Map(dead.map((line) => [line.messageId, line.reason])),
    unknownTexts,
  })
  const books = (await operator.books()).find((line) => line.connection === connection)
  const ofRefused = (text: string): boolean => text.startsWith('part x') || !text.startsWith('part ')
  return [
    ...traffic(connection, vendor, unknownTexts),
    ...promises(connection, ledger, asked.length),
    // The first part of such a reply, or its notice, may have had its answer lost like any other.
    equalOrUnknown(`${connection}: broken off with one notice`, ledger, refused.length, unknownTexts.filter(ofRefused)),
    equal(`${connection}: answered in the books`, books?.answered ?? 0, ledger.delivered.length),
    equal(`${connection}: dead in the books`, books?.dead ?? 0, plan.length - ledger.delivered.length),
    zero(`${connection}: in flight in the books`, books?.inFlight ?? 1),
  ]
}

function traffic(
  connection: SendClass,
  vendor: FloodedVendor | undefined,
  unknownTexts: readonly string[],
): readonly Line[] {
  const lost = vendor?.lost ?? []
  const applied = lost.filter((each) => each.wasApplied)
  const unlisted = lost.filter((each) => !unknownTexts.includes(each.text))
  return [
    fact(`${connection}: answered 429`, vendor?.rateLimited() ?? 0),
    check(`${connection}: answers lost`, `${lost.length}, ${applied.length} after applying`, '> 0', lost.length > 0),
    fact(`${connection}: calls shown as unknown`, unknownTexts.length),
    ...(connection === 'none' ? [zero('none: lost answers not shown as unknown', unlisted.length)] : []),
  ]
}

function promises(connection: SendClass, ledger: FloodLedger, asked: number): readonly Line[] {
  const { delivered, unknown, doubled, truncated, outOfOrder } = ledger
  const both = delivered.filter((id) => unknown.includes(id))
  return [
    equal(`${connection}: delivered + shown as unknown`, delivered.length + unknown.length, asked),
    fact(`${connection}: delivered`, delivered.length),
    connection === 'none'
      ? fact('none: shown as unknown', unknown.length)
      : zero(`${connection}: unknown`, unknown.length),
    zero(`${connection}: delivered and unknown at once`, both.length),
    zero(`${connection}: doubled`, doubled.length),
    zero(`${connection}: truncated`, truncated.length),
    zero(`${connection}: out of order`, outOfOrder.length),
    ...[...doubled, ...truncated, ...outOfOrder].slice(0, 5).map((text) => fact('  such as', text.slice(0, 40))),
  ]
}

function equalOrUnknown(name: string, { brokenOff }: FloodLedger, expected: number, unknown: readonly string[]): Line {
  const isRight = brokenOff.length <= expected && brokenOff.length + unknown.length >= expected
  const excuse = unknown.length === 0 ? '' : ` (${unknown.length} of their calls unknown)`
  return check(name, `${brokenOff.length}${excuse}`, String(expected), isRight)
}
