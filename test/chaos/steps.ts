// steps: a turn in which a model takes ten steps with a tool, one after the other, killed with -9 again and again. Steps of the
// turn are counted from 1: the odd ones are the model's answers, the even ones its tool calls, the last is its final answer.
// What was finished is read from the journal: neither the model nor the tool hears of it a second time.
import { nameStatement } from '../../src/db/client.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import type { ScriptedModelServer } from '../doubles/scripted-model-server.ts'
import { createScene, type Scene } from './crash-setup.ts'
import {
  type CrashTest,
  type CrashTestOptions,
  check,
  equal,
  eventually,
  fact,
  type Line,
  within,
  zero,
} from './crash-test.ts'
import { finalText, startStepsModel, stepCount } from './steps-model.ts'
import type { FailpointPlan } from './subject-settings.ts'

const tools = Array.from({ length: stepCount }, (_, index) => 2 * (index + 1))
const answers = [...tools.map((step) => step - 1), 2 * stepCount + 1]
const answerMs = 60_000

type Place = 'after:step' | 'after:effect' | 'before:effect'

type Story = {
  readonly name: string
  readonly kind: 'keyed' | 'plain'
  readonly place: Place
  readonly kills: readonly number[]
}

/** At ci scale two of the places: the first and the last. */
function stories(isFull: boolean): readonly Told[] {
  const some = (steps: readonly number[]): readonly number[] => (isFull ? steps : [steps[0] ?? 0, steps.at(-1) ?? 0])
  const all: readonly Story[] = [
    { name: 'killed after each tool call', kind: 'plain', place: 'after:step', kills: some(tools) },
    { name: 'killed after each answer of the model', kind: 'plain', place: 'after:step', kills: some(answers) },
    { name: 'killed before a keyed call was finished', kind: 'keyed', place: 'after:effect', kills: some(tools) },
    { name: 'killed before a plain call was finished', kind: 'plain', place: 'after:effect', kills: some(tools) },
    { name: 'killed before a plain call left', kind: 'plain', place: 'before:effect', kills: some(tools) },
    { name: 'killed before an answer was finished', kind: 'plain', place: 'after:effect', kills: some(answers) },
  ]
  return all.map((story, index) => ({ ...story, id: `m-${index + 1}` }))
}

export const steps: CrashTest = async (options) => {
  const model = await startStepsModel()
  const scene = await createScene(options, {
    connections: [{ id: 'steps', sendClass: 'client-id', agent: 'steps' }],
    // Longer than this machine ever stands still: a process that doubts its own lease rightly asks the model again.
    leaseMs: 30_000,
    toolLatencyMs: 0,
    modelUrl: model.baseUrl,
  })
  try {
    const told = stories(options.scale === 'full')
    const killed = new Map<string, number>()
    for (const story of told) killed.set(story.id, await tell(scene, story, options))
    const last = await scene.start()
    const isQuiet = await scene.settle()
    const books = await booksLines(scene, told.length)
    await last.stop()
    const lines = told.flatMap((story) => judge(scene, model, story, killed.get(story.id) ?? 0))
    return [check('everything came to an end', isQuiet ? 'yes' : 'no', 'yes', isQuiet), ...lines, ...books]
  } finally {
    await scene.close()
    await model.close()
  }
}

type Told = Story & { readonly id: string }

/** How often it was killed where it was meant to be. */
async function tell(scene: Scene, story: Told, options: CrashTestOptions): Promise<number> {
  let killed = 0
  for (const [index, plan] of plansOf(story).entries()) {
    options.say(`${story.name}: ${index + 1} of ${story.kills.length}`)
    const gateway = await scene.start([plan])
    if (index === 0) void scene.platform.send(updateOf(story))
    if (await within(answerMs, gateway.ended)) killed += gateway.count('failpoint')
    else await gateway.kill()
    await dropLeases(scene)
  }
  const last = await scene.start()
  await eventually(() => saidIn(scene, story).length > 0, answerMs)
  await last.stop()
  return killed
}

/** Its holder is dead, and we know it; it was not the turn that killed it. */
export async function dropLeases({ databaseUrl }: Scene): Promise<void> {
  const database = openPostgres({ url: await databaseUrl() })
  await database.query(
    nameStatement('crash_test_drop_leases', 'update lanes set lease_until = null, holder = null'),
    [],
  )
  await database.close()
}

function saidIn(scene: Scene, { id }: Told): readonly string[] {
  return scene
    .vendor('steps')
    .messages.filter((message) => message.conversation === id)
    .map((message) => message.text)
}

/**
 * A process goes on behind the last finished step. One whose effect was made, or only begun, counts again if it may be
 * repeated; else it is unknown and passed over.
 */
function plansOf({ kind, place, kills }: Story): readonly FailpointPlan[] {
  const isRepeated = (step: number): boolean => place !== 'after:step' && (step % 2 === 1 || kind === 'keyed')
  return kills.map((step, index) => {
    const previous = kills[index - 1]
    const done = previous === undefined ? 0 : isRepeated(previous) ? previous - 1 : previous
    return { name: place, hit: step - done, action: 'kill', isFromStart: true }
  })
}

function judge(scene: Scene, model: ScriptedModelServer, story: Told, killed: number): readonly Line[] {
  const { tool } = scene
  const { id, kind, place, kills } = story
  const effects = tool.effects.filter((effect) => effect.id.startsWith(`${id} `))
  const calls = tool.calls.filter((call) => call.id.startsWith(`${id} `))
  const isBetween = place !== 'after:step'
  const unfinished = isBetween ? kills.length : 0
  const isOfModel = kills.every((step) => step % 2 === 1)
  const askedAgain = isOfModel ? unfinished : 0
  const calledAgain = !isOfModel && kind === 'keyed' ? unfinished : 0
  const unknown = isBetween && !isOfModel && kind === 'plain' ? kills.map((step) => step / 2) : []
  const neverLeft = place === 'before:effect' ? unknown.length : 0
  const keys = new Map(calls.map((call) => [call.id, new Set<string>()]))
  for (const call of calls) keys.get(call.id)?.add(call.key)
  const expected = finalText(id, unknown)
  const said = saidIn(scene, story)
  const requests = model.requests.filter(({ messages }) =>
    messages.some(({ role, content }) => role === 'user' && content === `steps ${kind} ${id}`),
  ).length
  return [
    equal('kills', killed, kills.length),
    equal('answers of the model asked for', requests, answers.length + askedAgain),
    zero('  of finished ones, asked for again', requests - answers.length - askedAgain),
    equal('steps that had their effect', new Set(effects.map((effect) => effect.id)).size, stepCount - neverLeft),
    zero('  effects made twice', effects.length - new Set(effects.map((effect) => effect.id)).size),
    equal('calls the tool heard', calls.length, stepCount - neverLeft + calledAgain),
    zero('  steps under more than one key', [...keys.values()].filter((each) => each.size > 1).length),
    check('said', said.join(' | '), expected, said.length === 1 && said[0] === expected),
  ].map((line) => ({ ...line, name: `${story.name}: ${line.name}` }))
}

async function booksLines(scene: Scene, messages: number): Promise<readonly Line[]> {
  const [line] = await scene.operator.books()
  if (line === undefined) return [equal('books: received', 0, messages)]
  const { received, answered, merged, refused, dead, inFlight } = line
  return [
    fact('books', `received ${received}, answered ${answered}, dead ${dead}`),
    equal('books: received', received, messages),
    equal('books: answered', answered, messages),
    zero('books: anything else', merged + refused + dead + inFlight),
  ]
}

function updateOf({ id, kind }: Told) {
  return { connection: 'steps', conversation: id, id, from: 'ada', wish: `steps ${kind} ${id}` } as const
}
