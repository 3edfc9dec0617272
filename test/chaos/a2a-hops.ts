// a2a-hops: two gateways whose agents pass everything on to each other over A2A. A person asks one of them; the chain ends by rule,
// on both the books balance, and the person is told why.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createScene, type Scene } from './crash-setup.ts'
import { type CrashTest, type CrashTestOptions, check, equal, eventually, fact, type Line, zero } from './crash-test.ts'
import type { GatewayProcess } from './gateway-process.ts'

const questions = { ci: 3, full: 20 } as const
const answerMs = 60_000
/** Either rule is a rule: too far, or back where it came from. Nothing else explains why nobody answered. */
const why = /got no answer: .*(as many agents as it may|in a circle)/
/** How many agents a chain passes at most. */
const mostHops = 4

export const a2aHops: CrashTest = async (options) => {
  const [one, other] = [await freePort(), await freePort()]
  const first = await scene(options, one, other)
  const second = await scene(options, other, one)
  try {
    return await tell(options, first, second)
  } finally {
    await first.close()
    await second.close()
  }
}

function scene(options: CrashTestOptions, port: number, peer: number): Promise<Scene> {
  const peerUrl = `http://127.0.0.1:${peer}`
  return createScene(options, { connections: [], leaseMs: 15_000, toolLatencyMs: 0, port, peerUrl })
}

async function tell(options: CrashTestOptions, first: Scene, second: Scene): Promise<readonly Line[]> {
  const count = questions[options.scale]
  const gateway = await first.start()
  const peer = await second.start()
  options.say('two agents ask each other')
  const asked = Array.from({ length: count }, (_, index) => ask(gateway, `q${index}`))
  const answers = await Promise.all(asked)
  const kept = [await booksOf('first', first), await booksOf('second', second)]
  const received = kept.reduce((all, each) => all + each.received, 0)
  await gateway.stop()
  await peer.stop()
  const slowest = Math.max(...answers.map(({ ms }) => ms))
  return [
    fact('asked', count),
    fact('the answer', answers[0]?.text ?? ''),
    equal('answered', answers.filter(({ status }) => status === 200).length, count),
    equal('told why it ended', answers.filter(({ text }) => why.test(text)).length, count),
    check('slowest answer', `${(slowest / 1000).toFixed(1)} s`, `${answerMs / 1000} s`, slowest < answerMs),
    check('messages per question, on both', received / count, `<= ${mostHops + 1}`, received <= count * (mostHops + 1)),
    ...kept.flatMap((each) => each.lines),
  ]
}

type Answer = { readonly status: number; readonly text: string; readonly ms: number }

/** As a person's program does, over the run API. */
async function ask({ url }: GatewayProcess, id: string): Promise<Answer> {
  const startedAt = performance.now()
  const response = await fetch(`${url}/api/v1/agent/run`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      threadId: id,
      runId: id,
      messages: [{ id: `m-${id}`, role: 'user', content: 'Who knows?' }],
    }),
    signal: AbortSignal.timeout(answerMs),
  })
  return { status: response.status, text: await response.text(), ms: performance.now() - startedAt }
}

type Kept = { readonly received: number; readonly lines: readonly Line[] }

async function booksOf(name: string, { operator }: Scene): Promise<Kept> {
  const isQuiet = await eventually(operator.isQuiet, answerMs, 100)
  const all = await operator.books()
  const sum = (field: 'received' | 'answered' | 'merged' | 'refused' | 'dead' | 'inFlight'): number =>
    all.reduce((total, line) => total + line[field], 0)
  const [received, answered, refused] = [sum('received'), sum('answered'), sum('refused')]
  return {
    received,
    lines: [
      fact(`books of the ${name}`, `received ${received}, answered ${answered}, refused ${refused}`),
      check(`books of the ${name}: at an end`, isQuiet ? 'yes' : 'no', 'yes', isQuiet),
      equal(`books of the ${name}: answered, merged or refused`, answered + sum('merged') + refused, received),
      zero(`books of the ${name}: dead or in flight`, sum('dead') + sum('inFlight')),
    ],
  }
}

/** Both must know where the other will be before either is up. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
