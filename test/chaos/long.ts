// long: one conversation, one message after the other, each sent when the one before it was answered.
// The time to accept and the time to answer must not grow with the length of the conversation. Between its messages go
// messages of conversations without a past: what the machine does to both is not the conversation's length.
// Rows read per message are counted beside the times: they are the same on every machine, and tell at any scale.
import { createAnswers } from './answers.ts'
import { audit } from './audit.ts'
import { createScene } from './crash-setup.ts'
import { type CrashTest, check, equal, fact, type Line, type Scale, within } from './crash-test.ts'
import { median, milliseconds } from './timing.ts'
import type { Effect } from './tool-stub.ts'

const sizes = {
  ci: { messages: 110, part: 30, controlEvery: 2 },
  full: { messages: 10_000, part: 1000, controlEvery: 5 },
} as const
const maxRatio = 1.5
/** From here on the window of the history is full. */
const settledAfter = 20
/** A renewal or a wake in between; a conversation read whole has a hundred more. */
const spareRows = 10
const answerMs = 30_000

type Times = { readonly accepts: number[]; readonly turns: number[] }

export const long: CrashTest = async (options) => {
  const { messages, part, controlEvery } = sizes[options.scale]
  const answers = createAnswers()
  const scene = await createScene(options, {
    connections: [{ id: 'one', sendClass: 'client-id' }],
    leaseMs: 3000,
    toolLatencyMs: 0,
    onMessage: answers.onMessage,
  })
  const say = async (conversation: string, number: number, times: Times): Promise<boolean> => {
    const id = `${conversation}-${String(number).padStart(5, '0')}`
    const sentAt = performance.now()
    await scene.platform.send({ connection: 'one', conversation, id, from: 'ada', wish: 'plain' })
    times.accepts.push(performance.now() - sentAt)
    const answer = answers.answered('one', id)
    if (!(await within(answerMs, answer))) return false
    times.turns.push((await answer) - sentAt)
    return true
  }
  try {
    const gateway = await scene.start()
    const [warm, measured, control] = [newTimes(), newTimes(), newTimes()]
    // A process that has just started is slower than later on, which would flatter the ratio.
    for (let number = 1; number <= part; number += 1) await say('warm', number, warm)
    for (let number = 1; number <= messages; number += 1) {
      if (number % 20 === 0) options.say(`message ${number} of ${messages}`)
      if (!(await say('long', number, measured))) break
      if (number % controlEvery === 0) await say(`short-${number}`, number, control)
    }
    await scene.settle()
    const audited = await audit(scene)
    await gateway.stop()
    const { length } = measured.turns
    const controlPart = Math.floor(part / controlEvery)
    return [
      check('answered one after the other', length, String(messages), length === messages),
      ...rowGrowth(scene.tool.effects, part),
      ...growth('time to accept', { values: measured.accepts, part }, control.accepts, controlPart, options.scale),
      ...growth('time to answer', { values: measured.turns, part }, control.turns, controlPart, options.scale),
      ...audited.lines,
    ]
  } finally {
    await scene.close()
  }
}

function rowGrowth(effects: readonly Effect[], part: number): readonly Line[] {
  const rows: number[] = []
  const lines: number[] = []
  effects.forEach((effect, index) => {
    const before = effects[index - 1]
    if (effect.conversation !== 'long') return
    lines.push(effect.historyLines)
    if (before !== undefined) rows.push(effect.rowsRead - before.rowsRead)
  })
  const [first, last] = [median(rows.slice(settledAfter, settledAfter + part)), median(rows.slice(-part))]
  const [firstLines, lastLines] = [lines[settledAfter] ?? 0, lines.at(-1) ?? 0]
  return [
    equal('lines of history given to the agent: at the end, as with a full window', lastLines, firstLines),
    check(
      `rows read for a message: median of the last ${part}`,
      last,
      `<= ${first + spareRows}, a full window and a few`,
      last <= first + spareRows,
    ),
  ]
}

function newTimes(): Times {
  return { accepts: [], turns: [] }
}

function growth(
  name: string,
  { values, part }: { readonly values: readonly number[]; readonly part: number },
  control: readonly number[],
  controlPart: number,
  scale: Scale,
): readonly Line[] {
  const ends = (all: readonly number[], size: number) => [median(all.slice(0, size)), median(all.slice(-size))] as const
  const [first, last] = ends(values, part)
  const [firstShort, lastShort] = ends(control, controlPart)
  const raw = last / first
  const corrected = raw / (lastShort / firstShort)
  return [
    fact(`${name}: median of the first ${part}, of the last`, `${milliseconds(first)}, ${milliseconds(last)}`),
    fact(`${name}: in new conversations, then and then`, `${milliseconds(firstShort)}, ${milliseconds(lastShort)}`),
    judged(`${name}: last to first`, raw, scale),
    judged(`${name}: last to first, against new conversations`, corrected, scale),
  ]
}

/** A few dozen samples beside other tests say nothing about time: at ci scale the rows are counted, the times only told. */
function judged(name: string, ratio: number, scale: Scale): Line {
  if (scale === 'ci') return fact(name, ratio.toFixed(2))
  return check(name, ratio.toFixed(2), `<= ${maxRatio}`, ratio <= maxRatio)
}
