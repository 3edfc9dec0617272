// What an interruption costs: steps whose outcome is unknown, a stop between steps, a lane that moves on.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentDefinition, defineAgent } from '../../src/agents/define-agent.ts'
import { type Database, nameStatement } from '../../src/db/client.ts'
import { until } from '../doubles/background-gateway.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const turns = nameStatement('test_turns', 'select state, attempt, failures, reason from turns order by started_at')
const expire = nameStatement(
  'test_expire',
  "update lanes set lease_until = now() - interval '1 second' where lease_until is not null",
)
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

describeOnDatabase('an interrupted turn', (database) => {
  let vendor: VendorStub
  const open: TestGateway[] = []
  const ends = new Map<TestGateway, AbortController>()
  const start = (run: AgentDefinition['run'], changes: Parameters<typeof createTestGateway>[1] = {}) => {
    const gateway = createTestGateway(database(), {
      agents: [defineAgent({ slug: 'demo', run })],
      connections: loopbackConnections(vendor.origin),
      ...changes,
    })
    open.push(gateway)
    return gateway
  }
  /** In the background until the test ends: a gateway that goes on would take the next test's lanes. */
  const work = (gateway: TestGateway) => {
    const deadline = new AbortController()
    ends.set(gateway, deadline)
    gateway.gateway.drain({ deadline: deadline.signal }).catch(() => {})
  }
  const retire = (gateway: TestGateway) => {
    ends.get(gateway)?.abort()
    gateway.stop()
    open.splice(open.indexOf(gateway), 1)
  }
  const texts = () => vendor.messages.map((message) => message.text)

  beforeEach(async () => {
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    for (const gateway of open.splice(0)) {
      ends.get(gateway)?.abort()
      gateway.stop()
    }
    await vendor.close()
  })

  test('does not repeat a step that may have happened; the person is told, and so is the agent', async () => {
    let effects = 0
    const errors: unknown[] = []
    const run: AgentDefinition['run'] = async (_message, { step, attempt }) => {
      const act = async () => {
        effects += 1
        // The first holder vanishes in the middle of the effect.
        if (attempt === 1) await new Promise(() => {})
        return 'done'
      }
      return step('effect', act).catch((error: unknown) => {
        errors.push((error as { code?: string }).code)
        throw error
      })
    }
    const first = start(run)
    await first.deliver({ id: 'm1', from: 'ada', text: 'go' })
    work(first)
    while (effects === 0) await sleep(5)
    retire(first)
    await database().query(expire, [])
    const second = start(run)
    await settleUntil(second, () => texts().length > 0)
    expect(effects).toBe(1)
    expect(errors).toContain('tool_outcome_unknown')
    expect(texts()[0]).toContain('cannot tell whether this took effect: effect.')
    expect(await database().query(turns, [])).toMatchObject([{ state: 'dead', reason: 'tool_outcome_unknown' }])
  })

  test('repeats an interrupted step that declares itself idempotent, under the same key', async () => {
    const keys: string[] = []
    const run: AgentDefinition['run'] = async (_message, { step, attempt }) => {
      const act = async ({ key }: { key: string }) => {
        keys.push(key)
        if (attempt === 1) await new Promise(() => {})
        return 'done'
      }
      return step('effect', act, { idempotent: true })
    }
    const first = start(run)
    await first.deliver({ id: 'm1', from: 'ada', text: 'go' })
    work(first)
    while (keys.length === 0) await sleep(5)
    retire(first)
    await database().query(expire, [])
    const second = start(run)
    await settleUntil(second, () => texts().length > 0)
    expect(texts()).toEqual(['done'])
    expect(new Set(keys).size).toBe(1)
    expect(keys).toHaveLength(2)
  })

  test('stops at its next step when asked to, and the next holder goes on from there', async () => {
    const effects: string[] = []
    const deadline = new AbortController()
    const run: AgentDefinition['run'] = async (_message, { step }) => {
      await step('one', async () => effects.push('one'))
      deadline.abort()
      await step('two', async () => effects.push('two'))
      return effects.join(' ')
    }
    const first = start(run)
    await first.deliver({ id: 'm1', from: 'ada', text: 'go' })
    await first.gateway.drain({ deadline: deadline.signal })
    expect(effects).toEqual(['one'])
    expect(await database().query(turns, [])).toMatchObject([{ state: 'running', attempt: 0, failures: 0 }])
    const second = start(run)
    await settleUntil(second, () => texts().length > 0)
    expect(texts()).toEqual(['one two'])
  })

  test('a holder that wakes up late writes nothing and does nothing: its successor has the word', async () => {
    const effects: string[] = []
    const held: (() => void)[] = []
    const agent =
      (name: string): AgentDefinition['run'] =>
      async (_message, { step }) => {
        await step('first', async () => effects.push(`${name} first`))
        if (name === 'late') await new Promise<void>((resolve) => held.push(resolve))
        await step('second', async () => effects.push(`${name} second`))
        return `${name} done`
      }
    // The late one never hears its timers, as if it had been stopped by a signal; its only slot is taken, so that it does not
    // become its own successor.
    const late = start(agent('late'), { turns: { leaseMs: 600_000, slots: 1 } })
    await late.deliver({ id: 'm1', from: 'ada', text: 'go' })
    work(late)
    while (held.length === 0) await sleep(5)
    await database().query(expire, [])
    const successor = start(agent('next'))
    await settleUntil(successor, () => texts().length > 0)
    held[0]?.()
    await until(() => late.logged.some((line) => line.event === 'turn_fenced'))
    expect(effects).toEqual(['late first', 'next second'])
    expect(texts()).toEqual(['next done'])
  })

  test('an agent that never returns loses its turn at the deadline and keeps no lane', async () => {
    const gateway = start(() => new Promise(() => {}), { turns: { deadlineMs: 30, maxFailures: 2 } })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'go' })
    await settleUntil(gateway, () => texts().length > 0)
    expect(await database().query(turns, [])).toMatchObject([{ state: 'dead', reason: 'turn_deadline' }])
  })

  test('never spends more than one statement on accepting, however many arrive at once', async () => {
    let statements = 0
    const accepting = database().accepting
    const counting: Database = {
      ...database(),
      accepting: {
        script: accepting.script,
        query(...args) {
          statements += 1
          return accepting.query(...args)
        },
      },
    }
    const counted = createTestGateway(counting, {
      agents: [defineAgent({ slug: 'demo', run: () => 'ok' })],
      connections: loopbackConnections(vendor.origin),
    })
    open.push(counted)
    await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        counted.deliver({ id: `m${index}`, from: 'ada', text: 'hi', conversation: `c${index}` }),
      ),
    )
    expect(statements).toBeLessThanOrEqual(200)
    expect(statements).toBeGreaterThan(0)
  })
})
