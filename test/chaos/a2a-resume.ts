// a2a-resume: streams of numbered words over A2A, the gateway killed with -9 in the middle, again and again; its model says other
// words in every life. Clients go on behind the last event they saw. In the end everybody shows the artifact as it is stored, and
// has seen every event of the log once and nothing else.
import { type ResumingClient, startClient } from './a2a-client.ts'
import { auditStreams } from './a2a-stream-audit.ts'
import { createScene, type Scene } from './crash-setup.ts'
import { type CrashTest, type CrashTestOptions, check, equal, eventually, fact, type Line, zero } from './crash-test.ts'
import type { GatewayProcess } from './gateway-process.ts'
import { dropLeases } from './steps.ts'
import { startWordsModel, type WordsModel, wordsWish } from './words-model.ts'

const sizes = { ci: { streams: 20, kills: 1 }, full: { streams: 100, kills: 3 } } as const
const wordMs = 80
const giveUpMs = 240_000
const startMs = 60_000

export const a2aResume: CrashTest = async (options) => {
  const model = await startWordsModel(wordMs)
  const scene = await createScene(options, {
    connections: [],
    leaseMs: 15_000,
    toolLatencyMs: 0,
    wordsUrl: model.baseUrl,
  })
  try {
    return await tell(options, scene, model)
  } finally {
    await scene.close()
    await model.close()
  }
}

type Asked = { readonly client: ResumingClient; readonly wish: string }

async function tell(options: CrashTestOptions, scene: Scene, model: WordsModel): Promise<readonly Line[]> {
  const { streams, kills } = sizes[options.scale]
  let gateway: GatewayProcess | undefined = await scene.start()
  const asked = Array.from({ length: streams }, (_, index) => ask(scene, model, index, () => gateway?.url))
  const inTheMiddle: number[] = []
  for (let kill = 1; kill <= kills; kill += 1) {
    options.say(`waiting for words before kill ${kill} of ${kills}`)
    const marks = asked.map(({ client }) => client.seen.length)
    const underWay = (): number => asked.filter(({ client }, index) => isUnderWay(client, marks[index] ?? 0)).length
    await eventually(() => underWay() >= streams / 3, startMs)
    const running = gateway
    gateway = undefined
    inTheMiddle.push(underWay())
    await running.kill()
    await dropLeases(scene)
    model.nextLife()
    gateway = await scene.start()
  }
  options.say('waiting for the last words')
  const clients = asked.map(({ client }) => client)
  await Promise.all(clients.map(({ done }) => done))
  const shown = await Promise.all(
    asked.map(async ({ client, wish }) => ({ client, wish, artifact: await client.artifact() })),
  )
  const books = await bookLines(scene, streams)
  await gateway.stop()
  const sum = (count: (client: ResumingClient) => number): number => clients.reduce((all, each) => all + count(each), 0)
  const unlike = shown.filter(({ client, artifact }) => client.shown() !== artifact)
  const strange = shown.filter(({ wish, artifact }) => !model.texts(wish).includes(artifact))
  const refusals = clients.flatMap((client) => client.refusals)
  return [
    fact('streams', `${streams}, over HTTP+JSON ${clients.filter(({ binding }) => binding !== 'JSONRPC').length}`),
    fact('in the middle of their words at each kill', inTheMiddle.join(' ')),
    fact(
      'streams taken up again',
      sum((client) => client.resumed()),
    ),
    fact('came back when all was over', clients.filter((client) => client.wasLate()).length),
    fact(
      'events seen',
      sum((client) => client.seen.length),
    ),
    zero('refused', refusals.length),
    ...refusals.slice(0, 3).map((text) => fact('  refusal', text)),
    zero('clients that show anything but the artifact', unlike.length),
    zero('artifacts that are not one answer of the model', strange.length),
    atLeastOne(
      'clients whose words of another life were replaced',
      clients.filter((client) => client.replaced() > 0),
    ),
    zero(
      'streams that began with another picture than the one left behind',
      sum((client) => client.jumps()),
    ),
    zero(
      'pictures that were not the beginning of one answer',
      sum((client) => client.mixtures()),
    ),
    ...(await auditStreams(scene, clients)),
    ...books,
  ]
}

function ask(scene: Scene, model: WordsModel, index: number, url: () => string | undefined): Asked {
  const wish = wordsWish(scene.random.between(10, 50), `s${index}`)
  const binding = index % 4 === 3 ? 'HTTP+JSON' : 'JSONRPC'
  const back = index % 2 === 0 ? 'subscribe' : 'resend'
  const isOneAnswer = (shown: string): boolean => model.texts(wish).some((text) => text.startsWith(shown))
  return { wish, client: startClient({ name: `s${index}`, binding, back, url, text: wish, isOneAnswer, giveUpMs }) }
}

/** Has seen words since then, and not the last of them. */
function isUnderWay({ seen }: ResumingClient, since: number): boolean {
  const words = seen.slice(since).filter(({ kind }) => kind === 'words').length
  return words >= 2 && !seen.some(({ kind, text }) => kind === 'state' && text !== 'TASK_STATE_WORKING')
}

function atLeastOne(name: string, found: readonly unknown[]): Line {
  return check(name, found.length, '> 0', found.length > 0)
}

async function bookLines(scene: Scene, messages: number): Promise<readonly Line[]> {
  const isQuiet = await eventually(scene.operator.isQuiet, startMs, 100)
  const lines = await scene.operator.books()
  const sum = (name: 'received' | 'answered' | 'dead' | 'inFlight'): number =>
    lines.reduce((all, line) => all + line[name], 0)
  return [
    check('everything came to an end', isQuiet ? 'yes' : 'no', 'yes', isQuiet),
    equal('books: received', sum('received'), messages),
    equal('books: answered', sum('answered'), messages),
    zero('books: dead or in flight', sum('dead') + sum('inFlight')),
  ]
}
