// fediverse: a gateway killed at every step between a signed post and what comes of it: followers, answers to many inboxes, what a block
// ends. People on other servers do everything at once, and their servers try until they hear 202. Nothing that was taken is lost, and
// nobody sees anything twice: whatever is sent again has the same ids.
import { nameStatement } from '../../src/db/client.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { freePort } from '../doubles/free-port.ts'
import { createScene, type Scene } from './crash-setup.ts'
import {
  type CrashTest,
  type CrashTestOptions,
  check,
  delay,
  equal,
  eventually,
  fact,
  type Line,
  within,
  zero,
} from './crash-test.ts'
import { auditPeople, deliveredTo } from './fediverse-audit.ts'
import { type People, settlePeople } from './fediverse-people.ts'
import type { FailpointPlan } from './subject-settings.ts'

const around = (...names: readonly string[]): readonly string[] =>
  names.flatMap((name) => [`before:${name}`, `after:${name}`])

/**
 * `record_step` is where the words of a post that came by its address are kept, `list_records` where an answer learns its inboxes,
 * `put_record` where a note is kept before anybody is told of it.
 */
const steps = [
  ...around('accept', 'claim_lanes', 'open_turn', 'record_step', 'list_records', 'complete_turn'),
  ...around('claim_sends', 'start_send', 'put_record', 'settle_send'),
  'before:answer',
  'before:deliver',
  'after:deliver',
]
const few = [
  'after:deliver',
  'before:settle_send',
  'after:put_record',
  ...around('accept', 'record_step', 'complete_turn'),
]
const roundsAtFull = 3

const leaseMs = 3000
const stageMs = 15_000
const hourMs = 3_600_000

export const fediverse: CrashTest = async (options) => {
  const lives = livesOf(options)
  const port = await freePort()
  const actor = `http://127.0.0.1:${port}/ap/garden`
  const people = await settlePeople(actor)
  const scene = await createScene(options, {
    connections: [],
    leaseMs,
    toolLatencyMs: 0,
    port,
    fediverse: people.origin,
  })
  const startedAt = Date.now()
  try {
    const reached = new Set<string>()
    const acting: Promise<void>[] = []
    for (const [place, name] of lives.entries()) {
      options.say(`crash at ${name}, ${place} so far`)
      const gateway = await scene.start(plansFor(name))
      if (place === 0) await people.watch()
      const act = await people.company(place, !isWaiting(name))
      gateway.command('arm')
      await eventually(() => gateway.count('armed') > 0, stageMs, 10)
      acting.push(act())
      if (await within(stageMs, gateway.ended)) reached.add(name)
      else await gateway.kill()
    }
    const last = await scene.start()
    await Promise.all(acting)
    const isQuiet = await eventually(scene.operator.isQuiet, 60_000, 200)
    const hours = Math.floor(Date.now() / hourMs) - Math.floor(startedAt / hourMs) + 1
    const lines = [
      ...auditPeople(people, hours),
      equal('followers', await followersAt(actor), people.followers.length),
      ...(await auditBooks(scene, people)),
    ]
    options.say('every server tries again')
    const again = await tryAgain(scene, people, actor)
    await last.stop()
    return [
      equal('steps crashed at', reached.size, new Set(lives).size),
      fact('activities', people.deeds.length),
      fact('tries of the other servers', people.tries()),
      check('nothing is left to do', isQuiet ? 'yes' : 'no', 'yes', isQuiet),
      ...lines,
      ...again,
      zero('transcripts that hold what was deleted', await deletedIn(scene)),
    ]
  } finally {
    await scene.close()
    await people.stop()
  }
}

/** Elsewhere the tries of whoever waits would be what is crashed at. */
const isWaiting = (name: string): boolean => /:(?:accept|answer)$/.test(name)

function livesOf({ scale }: CrashTestOptions): readonly string[] {
  return scale === 'ci' ? few : Array.from({ length: roundsAtFull }, () => steps).flat()
}

/** What changes more than its own row is accepted by a statement of another name. */
function plansFor(step: string): readonly FailpointPlan[] {
  const names = step.endsWith(':accept') ? [step, `${step}_with_more`] : [step]
  return names.map((name) => ({ name, hit: 1, action: 'kill', isArmed: true }))
}

async function followersAt(actor: string): Promise<number> {
  const response = await fetch(`${actor}/followers`, { headers: { accept: 'application/activity+json' } })
  return ((await response.json()) as { readonly totalItems: number }).totalItems
}

async function auditBooks({ operator }: Scene, people: People): Promise<readonly Line[]> {
  const [line] = await operator.books()
  if (line === undefined) return [zero('books that are missing', 1)]
  const { received, answered, merged, refused, dead, inFlight } = line
  const [asked, blocked, deleted] = [people.answerable, people.blockers, people.deleted].map((each) => each.length)
  const open = received - answered - merged - refused - dead - inFlight
  return [
    zero('messages that the books have lost', open),
    equal('received', received, (asked ?? 0) + (blocked ?? 0) + (deleted ?? 0)),
    equal('answered', answered, asked ?? 0),
    equal('not answered, for a block', dead + refused, blocked ?? 0),
  ]
}

/** As servers do that never heard the answer. */
async function tryAgain({ operator }: Scene, people: People, actor: string): Promise<readonly Line[]> {
  const received = async (): Promise<number> => (await operator.books()).reduce((sum, line) => sum + line.received, 0)
  const before = { received: await received(), delivered: deliveredTo(people), followers: await followersAt(actor) }
  await Promise.all(people.deeds.map(people.hand))
  await delay(1000)
  await eventually(operator.isQuiet, 20_000, 200)
  return [
    zero('new messages in the books', (await received()) - before.received),
    zero('new deliveries', deliveredTo(people) - before.delivered),
    zero('new followers', (await followersAt(actor)) - before.followers),
  ]
}

const holding = nameStatement(
  'crash_test_deleted',
  `select count(*)::int as n from messages m where to_jsonb(m)::text like '%me-not-%'`,
)

async function deletedIn({ databaseUrl }: Scene): Promise<number> {
  const database = openPostgres({ url: await databaseUrl() })
  try {
    const [row] = await database.query<{ readonly n: number }>(holding, [])
    return row?.n ?? -1
  } finally {
    await database.close()
  }
}
