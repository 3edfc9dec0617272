// What happens between invocations: an isolate that dies in the middle, a wake that is lost, a retry that is due later.
import {
  createExecutionContext,
  createMessageBatch,
  createScheduledController,
  waitOnExecutionContext,
} from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AgentDefinition, defineAgent } from '../../../src/agents/define-agent.ts'
import { textOf } from '../../../src/contract/index.ts'
import { type Database, type Failpoint, nameStatement } from '../../../src/db/client.ts'
import { openHyperdrive } from '../../../src/db/hyperdrive.ts'
import { GatewayError } from '../../../src/lib/errors.ts'
import type { WorkerEnv } from '../../../src/worker/settings.ts'
import { createWorker, type Worker } from '../../../src/worker.ts'
import { newChat, textUpdate, webhook } from '../journey.ts'
import { describeInWorkerd, sentTo } from './harness.ts'

const turns = nameStatement(
  'test_turns',
  `select t.state, t.attempt, t.reason from turns t join inbox x on x.turn_id = t.id where x.subject = $1`,
)
const sends = nameStatement(
  'test_sends',
  `select o.state from outbox o join inbox x on x.turn_id = o.turn_id where x.subject = $1`,
)
const lockInbox = nameStatement('test_lock', 'lock table inbox in exclusive mode')
const expireTurns = nameStatement(
  'test_expire',
  "update lanes set lease_until = now() - interval '1 second' where holder is not null",
)
const expireSends = nameStatement(
  'test_expire_sends',
  "update send_lanes set lease_until = now() - interval '1 second' where holder is not null",
)

/** An isolate that dies here: from then on not a statement leaves it, renewals of its leases included. */
function deathAt(name: string): { readonly failpoint: Failpoint; readonly died: Promise<void> } {
  const death = Promise.withResolvers<void>()
  let isDead = false
  const failpoint: Failpoint = (at) => {
    if (at === name) {
      isDead = true
      death.resolve()
    }
    return isDead ? new Promise<void>(() => {}) : undefined
  }
  return { failpoint, died: death.promise }
}

describeInWorkerd('an invocation in workerd', () => {
  let database: Database
  const wakes: unknown[] = []
  const recording: WorkerEnv = {
    ...env,
    HYPERDRIVE: env.SECOND,
    WAKE: {
      send: async (body: object, options: unknown) => void wakes.push(options ?? body),
    } as unknown as WorkerEnv['WAKE'],
  }

  beforeAll(() => {
    database = openHyperdrive({ connectionString: env.SECOND.connectionString, maxConnections: 1 })
  })
  afterAll(() => database.close())

  const say = async (worker: Worker, chat: number, text: string, at = recording) => {
    const context = createExecutionContext()
    const request = new Request('https://parley.example/hooks/telegram/default', webhook(textUpdate(chat, 1, text)))
    const response = await worker.fetch(request, at, context)
    await waitOnExecutionContext(context)
    return response
  }
  const wake = async (worker: Worker, ...bodies: readonly object[]) => {
    const context = createExecutionContext()
    const all = bodies.length === 0 ? [{ v: 1 }] : bodies
    await worker.queue(
      createMessageBatch(
        'parley-wake',
        all.map((body, index) => ({ id: String(index), timestamp: new Date(), attempts: 1, body })),
      ),
      recording,
      context,
    )
    await waitOnExecutionContext(context)
  }
  const tick = async (worker: Worker) => {
    const context = createExecutionContext()
    await worker.scheduled(createScheduledController(), recording, context)
    await waitOnExecutionContext(context)
  }
  const die = async (worker: Worker, died: Promise<void>) => {
    void wake(worker).catch(() => {})
    await died
    await database.query(expireTurns, [])
    await database.query(expireSends, [])
  }
  const workerWith = (run: AgentDefinition['run'], failpoint?: Failpoint) =>
    createWorker({ agents: [defineAgent({ slug: 'demo', run })] }, failpoint === undefined ? {} : { failpoint })
  const subject = (chat: number) => `telegram:${chat}`

  test('that dies between an effect and its commit is resumed by the next wake: the effect once, the answer once', async () => {
    const chat = newChat()
    const effects: string[] = []
    const run: AgentDefinition['run'] = async (_message, { step }) => {
      const order = await step('order', async ({ key }) => effects.push(key))
      return `order ${order}`
    }
    const { failpoint, died } = deathAt('before:complete_turn')
    expect((await say(workerWith(run), chat, 'tea please')).status).toBe(200)
    await die(workerWith(run, failpoint), died)
    expect(await sentTo(chat)).toEqual([])
    await wake(workerWith(run))
    expect(effects).toHaveLength(1)
    expect(await sentTo(chat)).toEqual(['order 1'])
    expect(await database.query(turns, [subject(chat)])).toMatchObject([{ state: 'answered', attempt: 2 }])
  })

  test('that dies in the middle of a step repeats it only if it may, under the same key', async () => {
    for (const idempotent of [true, false]) {
      const chat = newChat()
      const keys: string[] = []
      const run: AgentDefinition['run'] = async (_message, { step }) => {
        await step('order', async ({ key }) => keys.push(key), { idempotent })
        return 'ordered'
      }
      const { failpoint, died } = deathAt('after:effect')
      await say(workerWith(run), chat, 'tea please')
      await die(workerWith(run, failpoint), died)
      await wake(workerWith(run))
      expect(keys).toHaveLength(idempotent ? 2 : 1)
      expect(new Set(keys).size).toBe(1)
      const answers = await sentTo(chat)
      expect(answers).toEqual([
        idempotent ? 'ordered' : expect.stringContaining('cannot tell whether this took effect'),
      ])
    }
  })

  test('that dies after a send does not send again what the platform cannot recognise, and shows it', async () => {
    const chat = newChat()
    const { failpoint, died } = deathAt('after:deliver')
    await say(
      workerWith(() => 'once'),
      chat,
      'hello',
    )
    await die(
      workerWith(() => 'once', failpoint),
      died,
    )
    await wake(workerWith(() => 'once'))
    expect(await sentTo(chat)).toEqual(['once'])
    expect(await database.query(sends, [subject(chat)])).toEqual([{ state: 'unknown' }])
  })

  test('that died twice on a turn is followed by one for that turn alone; what it dies of again is dead after four', async () => {
    const [guilty, other] = [newChat(), newChat()]
    const running = new Set<string>()
    const seen: string[][] = []
    const run =
      (how?: Promise<never>): AgentDefinition['run'] =>
      async (message) => {
        const text = textOf(message.parts)
        running.add(text)
        seen.push([...running])
        if (text === 'poison') await how
        await new Promise((resolve) => setTimeout(resolve, 50))
        running.delete(text)
        return `saw ${text}`
      }
    // The invocation never comes to an end, and renews nothing any more: it is dead.
    const dieOnce = async (...bodies: object[]) => {
      const death = Promise.withResolvers<void>()
      let isDead = false
      const how = new Promise<never>(() => {})
      const worker = workerWith(
        async (message, context) => {
          if (textOf(message.parts) === 'poison') {
            isDead = true
            death.resolve()
          }
          return run(how)(message, context)
        },
        () => (isDead ? new Promise<void>(() => {}) : undefined),
      )
      void wake(worker, ...bodies).catch(() => {})
      await death.promise
      running.clear()
      await database.query(expireTurns, [])
      await database.query(expireSends, [])
    }
    const suspects = { v: 1, suspects: true }
    await say(workerWith(run()), guilty, 'poison')
    await dieOnce()
    await dieOnce()
    await say(workerWith(run()), other, 'tea')
    wakes.length = 0
    seen.length = 0
    await wake(workerWith(run()))
    expect(seen).toEqual([['tea']])
    expect(await sentTo(other)).toEqual(['saw tea'])
    expect(wakes).toContainEqual(suspects)
    // Woken along with others, it still has an invocation to itself, and the others are woken again.
    wakes.length = 0
    await dieOnce(suspects, { v: 1 })
    expect(wakes).toEqual([{ v: 1 }])
    await dieOnce(suspects)
    await wake(workerWith(run()))
    expect(await sentTo(guilty)).toHaveLength(1)
    expect(await database.query(turns, [subject(guilty)])).toMatchObject([
      { state: 'dead', reason: 'interrupted_too_often' },
    ])
  })

  test('whose wake is lost is made good by the clock', async () => {
    const chat = newChat()
    const broken = async () => {
      throw new Error('the queue is down')
    }
    const worker = workerWith(() => 'late, but here')
    const response = await say(worker, chat, 'anybody?', { ...recording, WAKE: { send: broken } })
    expect(response.status).toBe(200)
    expect(await sentTo(chat)).toEqual([])
    await tick(worker)
    expect(await sentTo(chat)).toEqual(['late, but here'])
  })

  test('does not keep a platform waiting for a database that hangs, and takes what is delivered again once', async () => {
    const chat = newChat()
    const worker = workerWith(() => 'here')
    const status = await database.transaction(async (sql) => {
      await sql.query(lockInbox, [])
      return (await say(worker, chat, 'hello')).status
    })
    expect(status).toBe(503)
    expect((await say(worker, chat, 'hello')).status).toBe(200)
    await wake(worker)
    expect(await sentTo(chat)).toEqual(['here'])
  })

  test('tells the queue after the commit and only then, and once for what is due later', async () => {
    const chat = newChat()
    // Long enough that a slow machine does not try it again within the same invocation.
    const worker = workerWith(async () => {
      throw new GatewayError('provider_unavailable', 'not yet', { retryable: true, details: { retryAfterSeconds: 40 } })
    })
    wakes.length = 0
    await say(worker, chat, 'hello')
    expect(wakes).toEqual([{ v: 1 }])
    const refused = new Request('https://parley.example/hooks/telegram/default', webhook({}, 'x'.repeat(40)))
    expect((await worker.fetch(refused, recording, createExecutionContext())).status).toBe(401)
    expect(wakes).toHaveLength(1)
    await wake(worker)
    const [, later, ...more] = wakes as readonly { readonly delaySeconds?: number }[]
    expect(more).toEqual([])
    expect(later?.delaySeconds).toBeGreaterThan(20)
  })
})
