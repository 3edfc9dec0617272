// approval: consent is asked for, the gateway dies, two clients agree at once: done exactly once, and the person is told.
// Killed between the effect and the commit: a tool with keys gets the same key, any other ends as unknown and is told.
import { nameStatement } from '../../src/db/client.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { createApprovalDesk } from './approval-operator.ts'
import { createScene, type Scene } from './crash-setup.ts'
import { type CrashTest, check, delay, equal, fact, type Line, within, zero } from './crash-test.ts'
import type { GatewayProcess } from './gateway-process.ts'
import type { FailpointPlan } from './subject-settings.ts'

const sizes = { ci: { rounds: 1 }, full: { rounds: 15 } } as const

type Stage = {
  readonly scene: Scene
  readonly desk: ReturnType<typeof createApprovalDesk>
  readonly say: (text: string) => void
}

export const approval: CrashTest = async (options) => {
  const scene = await createScene(options, {
    connections: [{ id: 'shop', sendClass: 'client-id', agent: 'buyer' }],
    // A machine that stands still for seconds must not make a plain tool's call look interrupted.
    leaseMs: 6000,
    toolLatencyMs: 5,
    patienceMs: 20_000,
  })
  try {
    const stage = { scene, desk: createApprovalDesk(scene), say: options.say }
    const lines: Line[] = []
    for (let round = 1; round <= sizes[options.scale].rounds; round += 1) {
      options.say(`round ${round}`)
      lines.push(...(await approvedTwice(stage, `twice-${round}`)), ...(await killedInside(stage, round)))
    }
    lines.push(...(await otherEnds(stage)), ...(await tampered(stage)))
    return [...lines, ...(await otherReplica(stage)), ...(await books(stage))]
  } finally {
    await scene.close()
  }
}

async function approvedTwice(stage: Stage, name: string): Promise<readonly Line[]> {
  const { scene, desk, say } = stage
  say(`${name}: asked, killed, approved by two clients at once`)
  const first = await scene.start()
  const action = await desk.ask(name, 'plain')
  await first.kill()
  const second = await scene.start()
  const isAnswered = await desk.hears(name, 'hello', 'heard hello')
  const effectsBefore = desk.effects(name)
  const answers = await Promise.all([
    desk.resolve(second, action, 'accepted'),
    desk.resolve(second, action, 'accepted'),
  ])
  const isTold = await desk.isTold(name, 'bought')
  await second.stop()
  return [
    check(`${name}: a message while paused is answered`, isAnswered ? 'yes' : 'no', 'yes', isAnswered),
    zero(`${name}: effects before consent`, effectsBefore),
    equal(`${name}: clients that were told yes`, answers.filter((answer) => answer.status === 200).length, 2),
    equal(`${name}: of them told that it had been decided`, answers.filter((answer) => answer.isDuplicate).length, 1),
    equal(`${name}: effects at the tool`, desk.effects(name), 1),
    check(`${name}: the person is told`, isTold ? 'yes' : 'no', 'yes', isTold),
    equal(`${name}: replies about it`, desk.count(name, 'bought'), 1),
  ]
}

/** The first effect is the model's answer, the second the tool's; the first commit pauses the run, the second ends it. */
const crashes: readonly { name: string; kind: 'plain' | 'keyed'; plan: FailpointPlan; says: string }[] = [
  { name: 'keyed-effect', kind: 'keyed', plan: { name: 'after:effect', hit: 2, action: 'kill' }, says: 'bought' },
  {
    name: 'plain-effect',
    kind: 'plain',
    plan: { name: 'after:effect', hit: 2, action: 'kill' },
    says: 'not bought: tool_outcome_unknown',
  },
  { name: 'before-asking', kind: 'plain', plan: { name: 'before:pause_turn', hit: 1, action: 'kill' }, says: 'bought' },
  { name: 'after-asking', kind: 'plain', plan: { name: 'after:pause_turn', hit: 1, action: 'kill' }, says: 'bought' },
  // Keyed: on a slow machine the run may have begun to go on before its process hears that it was decided, and dies.
  { name: 'decision', kind: 'keyed', plan: { name: 'after:resolve_action', hit: 1, action: 'kill' }, says: 'bought' },
  { name: 'plain-commit', kind: 'plain', plan: { name: 'before:pause_turn', hit: 2, action: 'kill' }, says: 'bought' },
  { name: 'after-commit', kind: 'plain', plan: { name: 'after:pause_turn', hit: 2, action: 'kill' }, says: 'bought' },
]

async function killedInside({ scene, desk, say }: Stage, round: number): Promise<readonly Line[]> {
  const lines: Line[] = []
  for (const { name, kind, plan, says } of crashes) {
    const where = `${name}-${round}`
    say(`${where}: killed at ${plan.name}`)
    const doomed = await scene.start([plan])
    const asked = desk.ask(where, kind)
    const isAskedFirst = await Promise.race([asked.then(() => true), doomed.ended.then(() => false)])
    if (isAskedFirst) await desk.resolve(doomed, await asked, 'accepted')
    const hasDied = await within(20_000, doomed.ended)
    if (!hasDied) await doomed.kill()
    const next = await scene.start()
    // Where the decision was lost with the process it is made again; where it was not, this changes nothing.
    await desk.resolve(next, await asked, 'accepted')
    const isTold = await desk.isTold(where, says)
    await next.stop()
    lines.push(
      check(`${where}: killed at ${plan.name}`, hasDied ? 'yes' : 'no', 'yes', hasDied),
      equal(`${where}: effects at the tool`, desk.effects(where), 1),
      check(`${where}: told "${says}"`, isTold ? 'yes' : 'no', 'yes', isTold),
      ...(isTold ? [] : [fact('  told instead', desk.texts(where).slice(1).join(' | ') || 'nothing')]),
    )
  }
  return lines
}

async function otherEnds({ scene, desk, say }: Stage): Promise<readonly Line[]> {
  say('rejected and expired')
  const gateway = await scene.start()
  const refused = await desk.ask('rejected', 'plain')
  await desk.resolve(gateway, refused, 'rejected')
  const isRejected = await desk.isTold('rejected', 'not bought: approval_rejected')
  const late = await desk.ask('expired', 'brief')
  const isExpired = await desk.isTold('expired', 'not bought: approval_expired')
  const afterwards = await desk.resolve(gateway, late, 'accepted')
  await gateway.stop()
  return [
    zero('rejected: effects at the tool', desk.effects('rejected')),
    check('rejected: told', isRejected ? 'yes' : 'no', 'yes', isRejected),
    zero('expired: effects at the tool', desk.effects('expired')),
    check('expired: told', isExpired ? 'yes' : 'no', 'yes', isExpired),
    equal('expired: an approval afterwards is refused with', afterwards.status, 409),
  ]
}

const changes = {
  input: nameStatement(
    'crash_test_change_input',
    `update pending_actions set action = jsonb_set(action, '{apply_input,item}', '"gold"') where status = 'pending'`,
  ),
  hash: nameStatement(
    'crash_test_change_hash',
    `update pending_actions set action_hash = 'sha256:0' where status = 'pending'`,
  ),
} as const

/** Somebody changes the row while nobody looks. */
async function tampered({ scene, desk, say }: Stage): Promise<readonly Line[]> {
  const lines: Line[] = []
  for (const [what, change] of Object.entries(changes)) {
    const name = `tampered-${what}`
    say(`${name}: the stored ${what} is changed`)
    const first = await scene.start()
    const action = await desk.ask(name, 'plain')
    await first.stop()
    const database = openPostgres({ url: await scene.databaseUrl() })
    await database.query(change, [])
    await database.close()
    const second = await scene.start()
    await desk.resolve(second, action, 'accepted')
    const isTold = await desk.isTold(name, 'not bought: approval_tampered')
    const told = second.count('approval_tampered')
    lines.push(
      zero(`${name}: effects at the tool`, desk.effects(name)),
      check(`${name}: told`, isTold ? 'yes' : 'no', 'yes', isTold),
      check(`${name}: told to the operator`, told, '> 0', told > 0),
    )
    await second.stop()
  }
  return lines
}

async function otherReplica({ scene, desk, say }: Stage): Promise<readonly Line[]> {
  say('asked in A, A killed, approved through B')
  const a = await scene.start()
  const action = await desk.ask('replicas', 'plain')
  const b = await scene.start()
  await a.kill()
  await desk.resolve(b, action, 'accepted')
  const isTold = await desk.isTold('replicas', 'bought')
  const both = await atBoth({ scene, desk }, b)
  await b.stop()
  return [
    equal('replicas: effects at the tool', desk.effects('replicas'), 1),
    check('replicas: told by B', isTold ? 'yes' : 'no', 'yes', isTold),
    ...both,
  ]
}

/** One client at each replica, at the same time, with opposite wishes: one of them wins, and that is what happens. */
async function atBoth({ scene, desk }: Pick<Stage, 'scene' | 'desk'>, b: GatewayProcess): Promise<readonly Line[]> {
  const a = await scene.start()
  const action = await desk.ask('opposites', 'plain')
  const [yes, no] = await Promise.all([desk.resolve(a, action, 'accepted'), desk.resolve(b, action, 'rejected')])
  const isAccepted = yes.status === 200
  const says = isAccepted ? 'bought' : 'not bought: approval_rejected'
  const isTold = await desk.isTold('opposites', says)
  await delay(500)
  await a.stop()
  return [
    equal('opposites: decisions that counted', [yes, no].filter((answer) => answer.status === 200).length, 1),
    equal('opposites: effects at the tool', desk.effects('opposites'), isAccepted ? 1 : 0),
    check(`opposites: told "${says}"`, isTold ? 'yes' : 'no', 'yes', isTold),
  ]
}

async function books({ scene, desk }: Stage): Promise<readonly Line[]> {
  const gateway = await scene.start()
  const isQuiet = await scene.settle()
  const [line] = await scene.operator.books()
  const waiting = await desk.pending(gateway)
  await gateway.stop()
  const { received = 0, answered = 0, merged = 0, refused = 0, dead = 0, inFlight = 0 } = line ?? {}
  return [
    check('everything came to an end', isQuiet ? 'yes' : 'no', 'yes', isQuiet),
    equal('received = answered + merged + refused + dead', answered + merged + refused + dead, received),
    zero('in flight', inFlight),
    zero('dead', dead),
    zero('still waiting for consent', waiting),
    zero(
      'secrets in what people were told',
      scene.vendor('shop').messages.filter((each) => each.text.includes('4711')).length,
    ),
  ]
}
