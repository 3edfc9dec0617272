// mail: a gateway killed at every step between DATA and the reply that is handed over, while people write and their servers try again
// until they hear 250. Nothing that was taken is lost, and nobody sees a second reply: every copy of one has the same Message-ID.
import { draftMail } from '../doubles/signed-mails.ts'
import { startSmtpSink, type TakenMail } from '../doubles/smtp-sink.ts'
import { submit } from '../doubles/submit-mail.ts'
import { createScene, type Scene } from './crash-setup.ts'
import { type CrashTest, check, delay, equal, eventually, fact, type Line, within, zero } from './crash-test.ts'

const statements = [
  'accept_with_more',
  'claim_lanes',
  'open_turn',
  'complete_turn',
  'claim_sends',
  'start_send',
  'settle_send',
]
const steps = [
  ...statements.flatMap((name) => [`before:${name}`, `after:${name}`]),
  'before:answer',
  'before:deliver',
  'after:deliver',
]

/** How often every step is gone through. */
const sizes = { ci: { rounds: 1, lostAnswers: 1 }, full: { rounds: 5, lostAnswers: 5 } } as const
const leaseMs = 3000
const stageMs = 15_000
const giveUpMs = 300_000

type Writer = {
  /** Hands the mail over until it is taken. */
  readonly write: (name: string) => Promise<void>
  /** Once more, as a server does that never heard the answer. */
  readonly again: (name: string) => Promise<string>
  readonly names: readonly string[]
  readonly answerMs: readonly number[]
  readonly tries: () => number
}

export const mail: CrashTest = async (options) => {
  const size = sizes[options.scale]
  const sink = await startSmtpSink((address) => address.endsWith('.example'))
  const scene = await createScene(options, { connections: [], leaseMs, toolLatencyMs: 0, mailUrl: sink.url })
  const writer = createWriter(() => scene.mailPort)
  try {
    const reached: string[] = []
    const writing: Promise<void>[] = []
    for (let round = 0; round < size.rounds; round += 1) {
      for (const name of steps) {
        options.say(`crash at ${name}, ${reached.length} so far`)
        const gateway = await scene.start([{ name, hit: 1, action: 'kill' }])
        writing.push(writer.write(`${round}-${name.replace(/[^a-z]/g, '-')}`))
        if (await within(stageMs, gateway.ended)) reached.push(name)
        else await gateway.kill()
      }
    }
    const last = await scene.start()
    await Promise.all(writing)
    // What is sent a second time because of the crashes is over, so that the lost answer is that of its own mail.
    await eventually(scene.operator.isQuiet, 60_000, 200)
    options.say('the agent thinks, and the next server does not answer')
    for (let lost = 0; lost < size.lostAnswers; lost += 1) {
      sink.loseAnswerOnce()
      await writer.write(`lost-${lost}`)
      await eventually(() => repliesTo(sink.mails, `lost-${lost}`).length > 1, 20_000)
    }
    const whileThinking = await thinking(writer, sink.mails)
    const isAnswered = await eventually(
      () => writer.names.every((name) => repliesTo(sink.mails, name).length > 0),
      60_000,
    )
    const isQuiet = await eventually(scene.operator.isQuiet, 60_000, 200)
    const lines = audit(writer, sink.mails)
    options.say('every server tries again')
    const again = await tryAgain(scene, writer, () => sink.mails.length)
    await last.stop()
    return [
      equal('steps crashed at', new Set(reached).size, steps.length),
      fact('mails', writer.names.length),
      fact('tries of the senders’ servers', writer.tries()),
      ...whileThinking,
      check('every mail is answered', isAnswered ? 'yes' : 'no', 'yes', isAnswered),
      check('nothing is left to do', isQuiet ? 'yes' : 'no', 'yes', isQuiet),
      ...lines,
      ...again,
      zero('mails to anybody else', sink.unexpected.filter((each) => each.startsWith('RCPT')).length),
    ]
  } finally {
    await scene.close()
    await sink.close()
  }
}

const addressOf = (name: string): string => `ada@${name}.example`
const idOf = (name: string): string => `question@${name}.example`

function createWriter(port: () => number): Writer {
  const names: string[] = []
  const answerMs: number[] = []
  let tries = 0
  const hand = async (name: string): Promise<string> => {
    const to = 'post@parley.localhost'
    const from = addressOf(name)
    const head = [`Message-ID: <${idOf(name)}>`, `Date: ${new Date().toUTCString()}`]
    const text = draftMail({
      from: `Ada <${from}>`,
      to,
      subject: 'A question',
      head,
      body: `${name.startsWith('patient') ? 'Think. ' : ''}How is ${name}?`,
    })
    tries += 1
    return submit(port(), [`MAIL FROM:<${from}>`, `RCPT TO:<${to}>`], text)
  }
  return {
    names,
    answerMs,
    tries: () => tries,
    async write(name) {
      names.push(name)
      const until = performance.now() + giveUpMs
      for (let answer = ''; performance.now() < until; ) {
        const started = performance.now()
        // Nobody listens while there is no process.
        answer = await hand(name).catch(() => '')
        if (answer.startsWith('250 ')) return void answerMs.push(performance.now() - started)
        if (answer.startsWith('5')) throw new Error(`${name} was refused: ${answer}`)
        await delay(500)
      }
      throw new Error(`${name} was never taken`)
    },
    again: (name) => hand(name).catch(() => ''),
  }
}

function repliesTo(mails: readonly TakenMail[], name: string): readonly TakenMail[] {
  return mails.filter(({ raw }) => raw.includes(`In-Reply-To: <${idOf(name)}>`))
}

const messageId = ({ raw }: TakenMail): string => /^Message-ID:\s+(\S+)/im.exec(raw)?.[1] ?? ''

/** an agent that thinks keeps no server waiting. */
async function thinking(writer: Writer, mails: readonly TakenMail[]): Promise<readonly Line[]> {
  const before = writer.answerMs.length
  for (let at = 0; at < 5; at += 1) await writer.write(`patient-${at}`)
  const early = writer.names.filter((name) => name.startsWith('patient')).flatMap((name) => repliesTo(mails, name))
  const times = writer.answerMs.slice(before).toSorted((one, other) => one - other)
  const median = Math.round(times[Math.floor(times.length / 2)] ?? 0)
  return [
    check('median milliseconds to 250 while the agent thinks', median, 'at most 1000', median <= 1000),
    zero('replies before the agent has thought', early.length),
  ]
}

function audit(writer: Writer, mails: readonly TakenMail[]): readonly Line[] {
  const replies = writer.names.map((name) => repliesTo(mails, name))
  const ids = replies.map((copies) => new Set(copies.map(messageId)))
  const differing = replies.filter((copies) => new Set(copies.map(saidBy)).size > 1)
  return [
    zero('mails without a reply', ids.filter((each) => each.size === 0).length),
    zero('mails with a second reply', ids.filter((each) => each.size > 1).length),
    zero('copies of a reply that say anything else', differing.length),
    ...differing.flatMap(([one, ...others]) =>
      others.slice(0, 1).map((other) => fact('  differs', differenceOf(one, other))),
    ),
    fact('copies under the same Message-ID', mails.length - new Set(mails.map(messageId)).size),
    check(
      'lost answers were followed by a copy',
      copiesOfLost(writer, mails),
      'all',
      copiesOfLost(writer, mails) === 'all',
    ),
  ]
}

/** Every try says when it was made, and draws its own lines between parts. */
const saidBy = ({ raw }: TakenMail): string => raw.replace(/^Date: .*\r\n/m, '').replace(/--_NmP-[0-9a-f]+/g, '')

function differenceOf(one: TakenMail | undefined, other: TakenMail): string {
  const lines = new Set(one === undefined ? [] : saidBy(one).split('\r\n'))
  return (
    saidBy(other)
      .split('\r\n')
      .find((line) => !lines.has(line)) ?? 'a line is missing'
  )
}

function copiesOfLost(writer: Writer, mails: readonly TakenMail[]): string {
  const lost = writer.names.filter((name) => name.startsWith('lost'))
  return lost.every((name) => repliesTo(mails, name).length > 1) ? 'all' : 'not all'
}

async function tryAgain(scene: Scene, writer: Writer, count: () => number): Promise<readonly Line[]> {
  const received = async (): Promise<number> =>
    (await scene.operator.books()).reduce((sum, line) => sum + line.received, 0)
  const before = { mails: count(), received: await received() }
  const answers: string[] = []
  for (const name of writer.names) answers.push(await writer.again(name))
  await delay(1000)
  await eventually(scene.operator.isQuiet, 20_000, 200)
  return [
    equal('tried again and told 250', answers.filter((each) => each.startsWith('250 ')).length, writer.names.length),
    zero('new messages in the books', (await received()) - before.received),
    zero('new replies', count() - before.mails),
  ]
}
