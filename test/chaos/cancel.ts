// cancel: runs with long lists of tool calls are stopped by a command that reached the other replica. What counts is the tool:
// after the stop was acknowledged it hears of at most the one call that was under way.
import { shortList, startCancelModel } from './cancel-model.ts'
import { createScene, type Scene } from './crash-setup.ts'
import { type CrashTest, type CrashTestOptions, check, equal, eventually, fact, type Line, zero } from './crash-test.ts'
import type { GatewayProcess } from './gateway-process.ts'
import type { Update } from './platform.ts'
import type { Wish } from './subject-settings.ts'

const waitMs = 90_000
const sizes = { ci: { long: 3, killed: 1 }, full: { long: 20, killed: 5 } } as const

type Stage = {
  readonly scene: Scene
  readonly gateways: GatewayProcess[]
  /** When the vendor was told something that begins like this, in a conversation; undefined: never. */
  readonly toldAt: (conversation: string, start: string) => number | undefined
  readonly say: CrashTestOptions['say']
}

export const cancel: CrashTest = async (options) => {
  const model = await startCancelModel()
  const told: { conversation: string; text: string; at: number }[] = []
  const scene = await createScene(options, {
    connections: [{ id: 'steps', sendClass: 'client-id', agent: 'steps' }],
    leaseMs: 5_000,
    toolLatencyMs: 100,
    modelUrl: model.baseUrl,
    onMessage: (_connection, { conversation, text }) => void told.push({ conversation, text, at: Date.now() }),
  })
  try {
    const toldAt: Stage['toldAt'] = (conversation, start) =>
      told.find((each) => each.conversation === conversation && each.text.startsWith(start))?.at
    const stage: Stage = { scene, gateways: [], toldAt, say: options.say }
    for (let count = 0; count < 2; count += 1) stage.gateways.push(await scene.start())
    const size = sizes[options.scale]
    const lines = [
      fact('processes', stage.gateways.length),
      ...(await each(size.long, (index) => stopped(stage, `long-${index}`))),
      ...(await foreign(stage)),
      ...(await silent(stage)),
      zero('the model was asked again after its run was stopped', askedAgain(model.requests)),
      ...(await paused(stage)),
      ...(await each(size.killed, (index) => stoppedAndKilled(stage, `killed-${index}`))),
    ]
    options.say('waiting for the last answers')
    const isQuiet = await scene.settle()
    return [
      ...lines,
      check('everything came to an end', isQuiet ? 'yes' : 'no', 'yes', isQuiet),
      ...(await books(scene)),
    ]
  } finally {
    await scene.close()
    await model.close()
  }
}

/** A run whose owner says stop at the replica that does not run it. */
async function stopped(stage: Stage, id: string): Promise<readonly Line[]> {
  const { scene, toldAt } = stage
  await begin(stage, id)
  await scene.platform.post(update(id, 'stop', '/stop'), otherThan(stage, runnerOf(stage, id)).url)
  await eventually(() => toldAt(id, 'Stopping.') !== undefined, waitMs)
  await eventually(() => toldAt(id, 'Stopped.') !== undefined, waitMs)
  return judged(stage, id)
}

/** The same, and the replica that runs it is killed with -9 as soon as the stop was acknowledged. */
async function stoppedAndKilled(stage: Stage, id: string): Promise<readonly Line[]> {
  const { scene, toldAt, gateways } = stage
  await begin(stage, id)
  const runner = runnerOf(stage, id)
  await scene.platform.post(update(id, 'stop', '/stop'), otherThan(stage, runner).url)
  await eventually(() => toldAt(id, 'Stopping.') !== undefined, waitMs)
  await runner.kill()
  gateways.splice(gateways.indexOf(runner), 1, await scene.start())
  await eventually(() => toldAt(id, 'Stopped.') !== undefined, waitMs)
  return judged(stage, id)
}

function judged({ scene, toldAt }: Stage, id: string): readonly Line[] {
  const acknowledgedAt = toldAt(id, 'Stopping.') ?? Number.POSITIVE_INFINITY
  const calls = scene.tool.calls.filter((call) => call.id.startsWith(`${id} `))
  const late = calls.filter((call) => call.at > acknowledgedAt).length
  const said = saidIn(scene, id)
  return [
    fact(`${id}: calls the tool heard`, calls.length),
    check(`${id}: calls after the stop was acknowledged`, late, '<= 1', late <= 1),
    zero(`${id}: calls made twice`, calls.length - new Set(calls.map((call) => call.id)).size),
    equal(`${id}: told that it stops`, said.filter((text) => text.startsWith('Stopping.')).length, 1),
    equal(`${id}: told that it stopped`, said.filter((text) => text.startsWith('Stopped.')).length, 1),
    equal(`${id}: told in all`, said.length, 2),
  ]
}

async function foreign(stage: Stage): Promise<readonly Line[]> {
  const { scene, toldAt } = stage
  const id = 'foreign'
  await begin(stage, id)
  const stop = { ...update(id, 'stop', '/stop'), from: 'mallory' }
  await scene.platform.post(stop, otherThan(stage, runnerOf(stage, id)).url)
  await eventually(() => toldAt(id, 'saw') !== undefined && toldAt(id, 'What runs here') !== undefined, waitMs)
  const calls = scene.tool.calls.filter((call) => call.id.startsWith(`${id} `)).length
  const said = saidIn(scene, id).map((text) => text.split(' ').slice(0, 3).join(' '))
  return [
    equal('foreign: calls made although somebody else said stop', calls, shortList),
    check(
      'foreign: told',
      said.toSorted().join(' | '),
      'What runs here | saw foreign',
      said.length === 2 && said.includes('saw foreign'),
    ),
  ]
}

async function silent(stage: Stage): Promise<readonly Line[]> {
  const { scene, toldAt } = stage
  const id = 'stream'
  stage.say('stream: its model falls silent')
  await scene.platform.post(update(id, 'm', `steps plain ${id}`))
  const isWriting = await eventually(() => scene.operator.hasShown(), waitMs)
  await scene.platform.post(update(id, 'stop', '/stop'))
  const isTold = await eventually(() => toldAt(id, 'Stopped.') !== undefined, waitMs)
  return [
    check('stream: its words were seen as they came', isWriting ? 'yes' : 'no', 'yes', isWriting),
    check('stream: stopped in the middle of a sentence', isTold ? 'yes' : 'no', 'yes', isTold),
    equal('stream: told in all', saidIn(scene, id).length, 2),
  ]
}

/** It waits for consent; after a stop no consent brings it back. */
async function paused(stage: Stage): Promise<readonly Line[]> {
  const { scene, toldAt } = stage
  const id = 'paused'
  stage.say('paused: asks for consent')
  await scene.platform.post(update(id, 'm', `steps asked ${id}`))
  await eventually(() => toldAt(id, 'I need an approval') !== undefined, waitMs)
  await scene.platform.post(update(id, 'stop', '/stop'))
  const isTold = await eventually(() => toldAt(id, 'Stopped.') !== undefined, waitMs)
  await scene.platform.post(update(id, 'late', '/approve'))
  const isRefused = await eventually(() => toldAt(id, 'Nothing waits') !== undefined, waitMs)
  await scene.settle()
  return [
    check('paused: over at once', isTold ? 'yes' : 'no', 'yes', isTold),
    check('paused: a later consent finds nothing', isRefused ? 'yes' : 'no', 'yes', isRefused),
    zero('paused: calls made', scene.tool.calls.filter((call) => call.id.startsWith(`${id} `)).length),
    equal('paused: told in all', saidIn(scene, id).length, 3),
  ]
}

/** Sends the message and waits until its run has used its tool at least twice. */
async function begin({ scene, say }: Stage, id: string): Promise<void> {
  say(`${id}: at work`)
  await scene.platform.post(update(id, 'm', `steps plain ${id}`))
  await eventually(() => scene.tool.calls.filter((call) => call.id.startsWith(`${id} `)).length >= 2, waitMs)
}

function update(conversation: string, suffix: string, wish: Wish): Update {
  return { connection: 'steps', conversation, id: `${conversation}-${suffix}`, from: 'ada', wish }
}

function runnerOf({ scene, gateways }: Stage, id: string): GatewayProcess {
  const pid = scene.tool.calls.findLast((call) => call.id.startsWith(`${id} `))?.pid
  const found = gateways.find((gateway) => gateway.pid === pid) ?? gateways[0]
  if (found === undefined) throw new RangeError('no gateway is up')
  return found
}

function otherThan({ gateways }: Stage, runner: GatewayProcess): GatewayProcess {
  const found = gateways.find((gateway) => gateway !== runner)
  if (found === undefined) throw new RangeError('only one gateway is up')
  return found
}

function saidIn(scene: Scene, conversation: string): readonly string[] {
  const { messages } = scene.vendor('steps')
  return messages.filter((message) => message.conversation === conversation).map((message) => message.text)
}

/** Once per message, but twice for the foreign one, which is answered. */
function askedAgain(requests: readonly { readonly messages: readonly { readonly content?: unknown }[] }[]): number {
  const asked = new Map<string, number>()
  for (const { messages } of requests) {
    const text = String(messages.findLast(({ content }) => String(content).startsWith('steps '))?.content)
    asked.set(text, (asked.get(text) ?? 0) + 1)
  }
  return [...asked].filter(([text, count]) => count > (text.includes('foreign') ? 2 : 1)).length
}

async function each(count: number, story: (index: number) => Promise<readonly Line[]>): Promise<readonly Line[]> {
  const lines: Line[] = []
  for (let index = 1; index <= count; index += 1) lines.push(...(await story(index)))
  return lines
}

async function books(scene: Scene): Promise<readonly Line[]> {
  const [line] = await scene.operator.books()
  const messages = scene.platform.acknowledged.size
  if (line === undefined) return [equal('books: received', 0, messages)]
  const { received, answered, merged, refused, dead, inFlight } = line
  return [
    equal('books: received', received, messages),
    equal('books: answered', answered, messages),
    zero('books: anything else', merged + refused + dead + inFlight),
  ]
}
