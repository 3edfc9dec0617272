// burst: twenty messages of three people into one conversation while a turn is under way, one of them poison in the company
// of others, one person not admitted. Then a lane with a huge backlog beside lanes that must not feel it.
import { createAnswers } from './answers.ts'
import { audit } from './audit.ts'
import { measureBacklog } from './backlog.ts'
import { createScene, type Scene } from './crash-setup.ts'
import { type CrashTest, check, equal, eventually, fact, type Line, zero } from './crash-test.ts'
import { keyOf, type Update } from './platform.ts'
import type { Wish } from './subject-settings.ts'

const room = 'room'
const stranger = 'eve'

export const burst: CrashTest = async (options) => {
  const answers = createAnswers()
  const scene = await createScene(options, {
    connections: [
      { id: room, sendClass: 'client-id', allow: ['loopback:ada', 'loopback:bob'] },
      { id: 'hot', sendClass: 'client-id' },
      { id: 'calm', sendClass: 'client-id' },
    ],
    // Nobody dies or freezes here: a lease that no standstill of a busy machine outlasts.
    leaseMs: 9000,
    toolLatencyMs: 0,
    onMessage: answers.onMessage,
  })
  const expected = {
    isRefused: (update: Update) => update.from === stranger,
    isOrdered: (update: Update) => update.connection !== 'hot',
  }
  try {
    const gateway = await scene.start()
    options.say('twenty messages while a turn is under way')
    const said = await sayTwenty(scene)
    await scene.settle()
    const twenty = await judgeTwenty(scene, said)
    const backlog = await measureBacklog(scene, answers, options)
    await scene.settle(120_000)
    const audited = await audit(scene, expected)
    await gateway.stop()
    return [...twenty, ...backlog, ...audited.lines]
  } finally {
    await scene.close()
  }
}

/**
 * The order of speakers is the seed's; the poison is somewhere in the middle, with messages of the same person before and
 * after it, so that it is sure to share a turn with the innocent. The turn under way ends when all twenty wait.
 */
async function sayTwenty(scene: Scene): Promise<readonly Update[]> {
  const people = ['ada', 'ada', 'bob', 'bob', stranger]
  const poisonAt = scene.random.between(6, 14)
  const update = (number: number, from: string, wish: Wish): Update => ({
    connection: room,
    conversation: 'burst',
    id: `b-${String(number).padStart(2, '0')}`,
    from,
    wish,
  })
  await scene.platform.send(update(0, 'ada', 'gate'))
  const isUnderWay = () => scene.tool.effects.some((effect) => effect.id === 'b-00')
  await eventually(isUnderWay, 5000, 5)
  const said: Update[] = []
  for (let number = 1; number <= 20; number += 1) {
    const isNearPoison = Math.abs(number - poisonAt) <= 1
    const from = isNearPoison ? 'bob' : number === 1 ? stranger : scene.random.pick(people)
    const next = update(number, from, number === poisonAt ? 'poison' : 'plain')
    said.push(next)
    await scene.platform.send(next)
  }
  scene.tool.openGate('burst')
  return said
}

async function judgeTwenty(scene: Scene, said: readonly Update[]): Promise<readonly Line[]> {
  const effects = scene.tool.effects.filter((effect) => effect.conversation === 'burst' && effect.id !== 'b-00')
  const admitted = said.filter((update) => update.from !== stranger)
  const author = new Map(scene.platform.updates.map((update) => [update.id, update.from]))
  const wrongEvidence = effects.filter(
    (effect) => effect.evidence !== `loopback:${author.get(effect.id)}` || effect.sender !== author.get(effect.id),
  )
  const mixed = effects.filter((effect) => effect.members.some((id) => author.get(id) !== author.get(effect.id)))
  const dead = (await scene.operator.dead()).map((line) => keyOf({ ...line, id: line.messageId }))
  const sharing = effects.filter((effect) => effect.members.length > 2 && said.some(isPoisonIn(effect.members)))
  // The agent had acted for all of them when it failed: they end together, and no other message with them.
  const company = new Set(sharing.flatMap((effect) => effect.members.map((id) => keyOf({ connection: room, id }))))
  const expectedDead = [...company].toSorted().join(' ')
  const order = effects.map((effect) => effect.id).join(' ')
  const isInOrder = order === admitted.map((update) => update.id).join(' ')
  return [
    fact('burst: who spoke', said.map((update) => `${update.from}${update.wish === 'poison' ? '!' : ''}`).join(' ')),
    equal('burst: seen by the agent', effects.length, admitted.length),
    check('burst: seen once each, in the order sent', isInOrder ? 'yes' : order, 'yes', isInOrder),
    zero('burst: seen of the person not admitted', effects.filter((effect) => effect.sender === stranger).length),
    zero('burst: messages with other evidence than their own', wrongEvidence.length),
    zero('burst: turns of two people', mixed.length),
    check(
      'burst: largest turn',
      Math.max(...effects.map((effect) => effect.members.length)),
      '> 1',
      hasMerged(effects),
    ),
    check('burst: effects of the turn that held the poison and others', sharing.length, '> 2', sharing.length > 2),
    check(
      'burst: dead',
      dead.toSorted().join(' '),
      `the turn that held the poison: ${expectedDead}`,
      dead.toSorted().join(' ') === expectedDead,
    ),
  ]
}

function isPoisonIn(members: readonly string[]): (update: Update) => boolean {
  return (update) => update.wish === 'poison' && members.includes(update.id)
}

function hasMerged(effects: readonly { readonly members: readonly string[] }[]): boolean {
  return effects.some((effect) => effect.members.length > 1)
}
