// upgrade, second half: the newer release dies with a turn open, messages waiting and a reply on its way. An older one on the
// same database leaves all that alone, with everything that comes behind it, and does the rest; then the newer one is back.

import type { Scene } from './crash-setup.ts'
import { check, delay, equal, eventually, type Line, zero } from './crash-test.ts'
import type { GatewayProcess } from './gateway-process.ts'
import { keyOf, type Update } from './platform.ts'
import type { Wish } from './subject-settings.ts'
import { createIntake, type Intake, type Pair, trespasses } from './two-releases.ts'

const patienceMs = 30_000

export async function handOver(scene: Scene, pair: Pair): Promise<readonly Line[]> {
  const intake = createIntake(scene)
  const name = `${pair.junior} dies, ${pair.elder} is there`
  const room = (kind: string): string => `${kind}-${pair.junior}`
  const junior = await scene.start([], pair.junior)
  const isReady = await leaveWorkBehind(scene, intake, junior, room)
  const elder = await scene.start([], pair.elder)
  scene.vendor('held').failAlways('send', undefined)
  await speakToElder(intake, elder, room)
  const isAnswered = await eventually(() => hasSeen(scene, room('fresh'), 3), patienceMs)
  // Longer than the dead one's lease, so that the older one could have taken its lanes if it wanted to.
  await delay(scene.leaseMs * 2)
  const touched = scene.tool.effects.filter(
    (effect) => effect.conversation === room('open') && effect.pid === elder.pid,
  )
  const sent = scene.vendor('held').messages.filter((message) => message.conversation === room('reply'))
  const dead = (await scene.operator.dead()).filter((line) => line.messageId.startsWith(room('open')))
  const successor = await scene.start([], pair.junior)
  scene.tool.openGate(room('open'))
  const isQuiet = await scene.settle(60_000)
  const { turns, calls } = trespasses(scene, intake.storedBy(new Set([junior.pid])), new Set([elder.pid]))
  await Promise.all([successor.stop(), elder.stop()])
  return [
    check('an open turn, waiting messages and a reply are left', isReady ? 'yes' : 'no', 'yes', isReady),
    check('the older one works elsewhere', isAnswered ? 'yes' : 'no', 'yes', isAnswered),
    zero('messages the older one took behind them', touched.length),
    zero('messages the older one declared dead', dead.length),
    zero('replies the older one sent', sent.length),
    check('the newer one brought all to an end', isQuiet ? 'yes' : 'no', 'yes', isQuiet),
    equal('the reply arrived, and the one behind it', repliesIn(scene, room('reply')), 2),
    zero("the newer one's messages run by the older", turns.length),
    zero("the newer one's replies sent by the older", calls.length),
  ].map((line) => ({ ...line, name: `${name}: ${line.name}` }))
}

type Room = (kind: string) => string

/** A turn at its gate with two messages behind it, and a reply the vendor puts off; then kill -9. */
async function leaveWorkBehind(scene: Scene, intake: Intake, junior: GatewayProcess, room: Room): Promise<boolean> {
  const [open, reply] = [room('open'), room('reply')]
  scene.vendor('held').failAlways('send', { kind: 'answer', status: 429, body: '{}', headers: { 'retry-after': '2' } })
  await intake.tell(junior, updateOf('client-id', open, 1, 'gate'))
  await intake.tell(junior, updateOf('held', reply, 1, 'plain'))
  const isUnderWay = await eventually(() => hasSeen(scene, open, 1), patienceMs)
  for (const number of [2, 3]) await intake.tell(junior, updateOf('client-id', open, number, 'plain'))
  const isPutOff = await eventually(
    () => scene.vendor('held').calls.some((call) => textOf(call.body).includes(reply)),
    patienceMs,
  )
  await junior.kill()
  return isUnderWay && isPutOff
}

async function speakToElder(intake: Intake, elder: GatewayProcess, room: Room): Promise<void> {
  for (const number of [4, 5]) await intake.tell(elder, updateOf('client-id', room('open'), number, 'plain'))
  await intake.tell(elder, updateOf('held', room('reply'), 2, 'plain'))
  for (const number of [1, 2, 3]) await intake.tell(elder, updateOf('client-id', room('fresh'), number, 'plain'))
}

function updateOf(connection: string, conversation: string, number: number, wish: Wish): Update {
  return { connection, conversation, id: `${conversation}-${number}`, from: 'ada', wish }
}

function hasSeen(scene: Scene, conversation: string, count: number): boolean {
  return new Set(scene.tool.effects.filter((effect) => effect.conversation === conversation).map(keyOf)).size >= count
}

function repliesIn(scene: Scene, conversation: string): number {
  const here = scene.vendor('held').messages.filter((message) => message.conversation === conversation)
  return new Set(here.flatMap((message) => message.text.split(' ').slice(1))).size
}

function textOf(body: unknown): string {
  return typeof body === 'object' && body !== null && 'text' in body ? String(body.text) : ''
}
