// The second half of burst: calm lanes are timed without a backlog, beside one that waits, and beside one that drains.
import type { Answers } from './answers.ts'
import type { Scene } from './crash-setup.ts'
import { type CrashTestOptions, check, equal, eventually, fact, type Line, within } from './crash-test.ts'
import type { Update } from './platform.ts'
import { median, spread } from './timing.ts'

const sizes = { ci: { backlog: 200, rounds: 5 }, full: { backlog: 10_000, rounds: 40 } } as const
const lanes = 8
const mergeCap = 20
/** While the backlog drains the machine has one more busy lane to serve, which is work and not a queue. */
const bars = {
  // A few dozen samples beside other tests: this only finds what is badly wrong. The figure is the one of full scale.
  ci: { waiting: 3, draining: 5 },
  full: { waiting: 1.5, draining: 2 },
} as const

export async function measureBacklog(
  scene: Scene,
  answers: Answers,
  options: CrashTestOptions,
): Promise<readonly Line[]> {
  const { backlog, rounds } = sizes[options.scale]
  const bar = bars[options.scale]
  const hot = (number: number, wish: Update['wish']): Update => ({
    connection: 'hot',
    conversation: 'hot',
    id: `h-${number}`,
    from: 'ada',
    wish,
  })
  options.say('calm lanes, warming up')
  await timeLanes(scene, answers, rounds, 'warm')
  options.say('calm lanes without a backlog')
  const without = await timeLanes(scene, answers, rounds, 'without')
  await scene.platform.send(hot(0, 'gate'))
  await eventually(() => scene.tool.effects.some((effect) => effect.id === 'h-0'), 5000, 10)
  await fill(
    scene,
    Array.from({ length: backlog }, (_, index) => hot(index + 1, 'plain')),
    options,
  )
  options.say('calm lanes beside a waiting backlog')
  const waiting = await timeLanes(scene, answers, rounds, 'waiting')
  const taken = scene.tool.effects.filter((effect) => effect.conversation === 'hot').length
  scene.tool.openGate('hot')
  options.say('calm lanes beside a draining backlog')
  const draining = await timeLanes(scene, answers, rounds, 'draining')
  const left = backlog + 1 - scene.tool.effects.filter((effect) => effect.conversation === 'hot').length
  options.say('the backlog drains')
  await Promise.all(
    Array.from({ length: backlog }, (_, index) => within(120_000, answers.answered('hot', `h-${index + 1}`))),
  )
  const turns = scene.tool.effects.filter((effect) => effect.conversation === 'hot' && effect.id !== 'h-0')
  const largest = Math.max(...turns.map((effect) => effect.members.length))
  return [
    equal('backlog: waiting in one lane, taken while its turn is held', taken, 1),
    equal('backlog: seen by the agent in the end', new Set(turns.map((effect) => effect.id)).size, backlog),
    fact('backlog: turns it took', new Set(turns.map((effect) => effect.turn)).size),
    check('backlog: largest turn', largest, `1 < n <= ${mergeCap}`, largest > 1 && largest <= mergeCap),
    fact('calm lanes, without', spread(without)),
    ...ratio('beside the waiting backlog', waiting, without, bar.waiting),
    fact('backlog left when the calm lanes were done', left),
    ...ratio('beside the draining backlog', draining, without, bar.draining),
  ]
}

function ratio(name: string, values: readonly number[], base: readonly number[], bar: number): readonly Line[] {
  const found = median(values) / median(base)
  return [
    fact(`calm lanes, ${name}`, spread(values)),
    check(`calm lanes, ${name}, median to median`, found.toFixed(2), `<= ${bar}`, found <= bar),
  ]
}

/** Each lane sends when it was answered; the times from sending to the answer at the vendor. */
async function timeLanes(scene: Scene, answers: Answers, rounds: number, name: string): Promise<readonly number[]> {
  const times: number[] = []
  const run = async (lane: number): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) {
      const id = `${name}-${lane}-${round}`
      const sentAt = performance.now()
      await scene.platform.send({ connection: 'calm', conversation: `calm-${lane}`, id, from: 'bob', wish: 'plain' })
      const answer = answers.answered('calm', id)
      if (!(await within(30_000, answer))) throw new Error(`no answer to ${id}`)
      times.push((await answer) - sentAt)
    }
  }
  await Promise.all(Array.from({ length: lanes }, (_, lane) => run(lane)))
  return times
}

/** Side by side, unlike everything else: what waits in one lane need not have come one by one. */
async function fill(scene: Scene, updates: readonly Update[], options: CrashTestOptions): Promise<void> {
  const waiting = [...updates]
  const sender = async (): Promise<void> => {
    for (let update = waiting.shift(); update !== undefined; update = waiting.shift()) {
      if (waiting.length % 100 === 0) options.say(`backlog: ${waiting.length} to send`)
      if ((await scene.platform.post(update)) === undefined) waiting.push(update)
    }
  }
  await Promise.all(Array.from({ length: 32 }, sender))
}
