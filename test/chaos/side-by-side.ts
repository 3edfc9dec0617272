// upgrade, first half: an older and a newer release work on one PostgreSQL, and every conversation speaks to both in turn.

import type { Scene } from './crash-setup.ts'
import { check, fact, type Line, type Scale, zero } from './crash-test.ts'
import type { GatewayProcess } from './gateway-process.ts'
import { keyOf } from './platform.ts'
import { createIntake, type Intake, type Pair, trespasses } from './two-releases.ts'

const sizes = { ci: { conversations: 8, messages: 6 }, full: { conversations: 100, messages: 20 } } as const

export async function workSideBySide(scene: Scene, pair: Pair, scale: Scale): Promise<readonly Line[]> {
  const [elder, junior] = await Promise.all([scene.start([], pair.elder), scene.start([], pair.junior)])
  const intake = createIntake(scene)
  const { conversations, messages } = sizes[scale]
  const name = `${pair.elder} beside ${pair.junior}`
  const talk = async (index: number): Promise<void> => {
    for (let number = 1; number <= messages; number += 1)
      await say(intake, `${pair.junior}-${index}`, number, [elder, junior])
  }
  await Promise.all(Array.from({ length: conversations }, (_, index) => talk(index)))
  const isQuiet = await scene.settle(180_000)
  const lines = judge(scene, intake, [elder, junior])
  await Promise.all([elder.stop(), junior.stop()])
  return [check('everything came to an end', isQuiet ? 'yes' : 'no', 'yes', isQuiet), ...lines].map((line) => ({
    ...line,
    name: `${name}: ${line.name}`,
  }))
}

/** In pairs: what the elder can read waits before and behind what it cannot. */
async function say(
  intake: Intake,
  conversation: string,
  number: number,
  gateways: readonly [GatewayProcess, GatewayProcess],
): Promise<void> {
  const id = `${conversation}-${String(number).padStart(3, '0')}`
  const connection = number % 2 === 0 ? 'client-id' : 'lookup'
  const gateway = gateways[Math.floor(number / 2) % 2] ?? gateways[0]
  await intake.tell(gateway, { connection, conversation, id, from: 'ada', wish: 'plain' })
}

function judge(
  scene: Scene,
  intake: Intake,
  [elder, junior]: readonly [GatewayProcess, GatewayProcess],
): readonly Line[] {
  const [elders, juniors] = [new Set([elder.pid]), new Set([junior.pid])]
  const [ofElder, ofJunior] = [intake.storedBy(elders), intake.storedBy(juniors)]
  const ran = (pid: number, keys: ReadonlySet<string>): number =>
    scene.tool.effects.filter((effect) => effect.pid === pid && keys.has(keyOf(effect))).length
  const { turns, calls } = trespasses(scene, ofJunior, elders)
  const [own, taken] = [ran(elder.pid, ofElder), ran(junior.pid, ofElder)]
  return [
    fact('stored by each', `${ofElder.size}, ${ofJunior.size}`),
    zero("the newer one's messages run by the older", turns.length),
    zero("the newer one's replies sent by the older", calls.length),
    check('messages of the older run by itself', own, '> 0', own > 0),
    check('messages of the older run by the newer', taken, '> 0', taken > 0),
  ]
}
