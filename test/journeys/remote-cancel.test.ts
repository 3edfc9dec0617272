// A run is stopped, and its process dies before the agent elsewhere is told: whoever takes the turn up calls the task off.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { a2aAgent } from '../../adapters/a2a/client/remote-agent.ts'
import { type Agent, defineAgent } from '../../src/agents/define-agent.ts'
import { textOf } from '../../src/contract/index.ts'
import { type Database, nameStatement } from '../../src/db/client.ts'
import { cancelRun } from '../../src/db/runs.ts'
import { type RemotePeerStub, startRemotePeer, taskOf, withResult, withStream } from '../doubles/remote-peer.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { watchedDatabase } from '../doubles/watched-database.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const steps = nameStatement('test_recall_steps', 'select step, state from journal order by step')
const runs = nameStatement('test_recall_runs', 'select id, status from runs')
/** As if its holder had died and its lease had run out: whatever it still writes is fenced off. */
const orphan = nameStatement(
  'test_recall_orphan',
  'update lanes set holder = null, lease_until = null, epoch = epoch + 1, next_at = now() where holder is not null',
)

describeOnDatabase('a stop whose process dies', (database) => {
  let vendor: VendorStub
  let peer: RemotePeerStub
  let running: TestGateway[]

  beforeEach(async () => {
    vendor = await startVendorStub()
    peer = await startRemotePeer()
    running = []
  })
  afterEach(async () => {
    for (const gateway of running) gateway.stop()
    await Promise.all([vendor.close(), peer.close()])
    expect(peer.unexpected).toEqual([])
  })

  const far = (): Agent => defineAgent({ slug: 'far', model: a2aAgent(peer.origin) })
  const start = (
    agents: readonly Agent[],
    changes: Parameters<typeof createTestGateway>[2] = {},
    on: Database = database(),
  ) => {
    const gateway = createTestGateway(on, { agents, connections: loopbackConnections(vendor.origin) }, changes)
    running.push(gateway)
    return gateway
  }
  const asked = (method: string) => peer.calls.filter((call) => call.method === method)

  /** Dies once `isUnderWay`; then the run is stopped, and only then somebody takes the turn up. */
  const dieAndStop = async (agents: readonly Agent[], isUnderWay: () => Promise<boolean>): Promise<void> => {
    let isDead = false
    let underWay = 0
    const buried = Promise.withResolvers<void>()
    // The dead make no request and no statement. One that was under way is over before another process goes on: a claim above all.
    const itsDatabase = watchedDatabase(database(), async (moment) => {
      if (moment.startsWith('after:')) underWay -= 1
      else {
        if (isDead) await buried.promise
        underWay += 1
      }
    })
    const dying = start(
      agents,
      { fetch: (input, init) => (isDead ? Promise.reject(new TypeError('dead')) : fetch(input, init)) },
      itsDatabase,
    )
    const deadline = new AbortController()
    await dying.deliver({ id: 'm1', from: 'ada', text: 'hello' })
    const working = dying.gateway.drain({ deadline: deadline.signal, untilIdle: true })
    await expect.poll(isUnderWay, { timeout: 15_000 }).toBe(true)
    isDead = true
    deadline.abort()
    await expect.poll(() => underWay, { timeout: 5_000 }).toBe(0)
    await database().query(orphan, [])
    const [run] = await database().query<{ id: string }>(runs, [])
    const next = start(agents)
    expect(await cancelRun(next.gateway.db, run?.id ?? '', 'ada')).toMatchObject({ kind: 'stopping' })
    expect(asked('CancelTask')).toEqual([])
    await settleUntil(next, () => vendor.messages.length > 0)
    peer.hangUp()
    buried.resolve()
    await working
  }
  const stateOf = async (name: string) => {
    const rows = await database().query<{ step: string; state: string }>(steps, [])
    return rows.find(({ step }) => step.includes(name))?.state
  }

  test('has the task called off that the peer had named', async () => {
    peer.on('SendStreamingMessage', withStream([taskOf('WORKING')]))
    peer.on('CancelTask', withResult(taskOf('CANCELED').task))
    await dieAndStop([far()], async () => (await stateOf('remote message')) === 'finished')
    expect(asked('CancelTask').map(({ params }) => params['id'])).toEqual(['t1'])
    expect(vendor.messages.map(({ text }) => text)).toEqual([expect.stringContaining('Stopped')])
    expect(await database().query(runs, [])).toMatchObject([{ status: 'cancelled' }])
  })

  test('has the task looked up and called off where the peer had not named it yet', async () => {
    peer.on('SendStreamingMessage', () => undefined)
    const contextId = () =>
      (asked('SendStreamingMessage')[0]?.params['message'] as { contextId?: string } | undefined)?.contextId
    const found = () => ({ ...taskOf('WORKING').task, contextId: contextId() })
    peer.on('ListTasks', (response, call) =>
      withResult({ tasks: [found()], nextPageToken: '', pageSize: 20, totalSize: 1 })(response, call),
    )
    peer.on('GetTask', (response, call) => withResult(found())(response, call))
    peer.on('CancelTask', withResult(taskOf('CANCELED').task))
    await dieAndStop([far()], async () => asked('SendStreamingMessage').length === 1)
    expect(asked('CancelTask').map(({ params }) => params['id'])).toEqual(['t1'])
    expect(asked('SendStreamingMessage')).toHaveLength(1)
  })

  test('has the task of a called remote agent called off, and its asker is not run again', async () => {
    let begun = 0
    const desk = defineAgent({
      slug: 'desk',
      async run(message, { agents }) {
        begun += 1
        return textOf((await agents.call('far', textOf(message.parts)))?.parts ?? [])
      },
    })
    peer.on('SendStreamingMessage', withStream([taskOf('WORKING')]))
    peer.on('CancelTask', withResult(taskOf('CANCELED').task))
    await dieAndStop([desk, far()], async () => (await stateOf('remote message')) === 'finished')
    expect(asked('CancelTask').map(({ params }) => params['id'])).toEqual(['t1'])
    expect(begun).toBe(1)
  })
})
