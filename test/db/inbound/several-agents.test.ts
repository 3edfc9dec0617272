// What came in one arrival is stored in one commit: all of it, or nothing.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import type { InboundEvent } from '../../../src/contract/index.ts'
import { type Database, nameStatement } from '../../../src/db/client.ts'
import { GatewayError } from '../../../src/lib/errors.ts'
import { judgedChannel } from '../../doubles/loopback/judged.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const rows = nameStatement('test_rows', 'select message_id as id, state, reason from inbox order by seq')

/** To three at once, of whom the second is given what `second` says. */
const toThree =
  (second: object) =>
  ([arrived]: readonly InboundEvent[]): readonly InboundEvent[] =>
    ['a', 'b', 'c'].map((name): InboundEvent => {
      if (arrived?.kind !== 'message') throw new Error('no message')
      const message = { ...arrived.message, id: `${arrived.message.id}-${name}` }
      const thread = { ...arrived.thread, candidates: [name], newThreadKey: name }
      return { ...arrived, message, thread, semanticId: message.id, ...(name === 'b' ? second : {}) }
    })

describeOnDatabase('one arrival for several', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  const start = (on: Database, second: object): void => {
    const [connection] = loopbackConnections(vendor.origin)
    gateway = createTestGateway(
      on,
      {
        agents: [defineAgent({ slug: 'demo', run: () => 'yes' })],
        connections: connection === undefined ? [] : [connection],
      },
      {},
      [judgedChannel({ change: toThree(second) })],
    )
  }

  beforeEach(async () => {
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  test('is stored with one statement, and again as copies', async () => {
    let statements = 0
    const real = database()
    const counted: Database['accepting'] = {
      ...real.accepting,
      query(...asked) {
        statements += 1
        return real.accepting.query(...asked)
      },
    }
    start({ ...real, accepting: counted }, {})
    expect(await gateway.deliver({ id: 'm', from: 'ada', text: 'hello' })).toMatchObject({
      acceptances: [{ kind: 'accepted' }, { kind: 'accepted' }, { kind: 'accepted' }],
    })
    expect(statements).toBe(1)
    expect(await gateway.deliver({ id: 'm', from: 'ada', text: 'hello' })).toMatchObject({
      acceptances: [{ kind: 'duplicate' }, { kind: 'duplicate' }, { kind: 'duplicate' }],
    })
    expect(await database().query(rows, [])).toHaveLength(3)
  })

  test('leaves nothing of any of them where the second one fails, and all of them when it comes again', async () => {
    let faults = 1
    const real = database()
    const broken: Database['accepting'] = {
      ...real.accepting,
      async query<Row>(...asked: Parameters<Database['query']>) {
        if (String(asked[1][0]).includes('m-b') && faults > 0) {
          faults -= 1
          throw new GatewayError('storage_unavailable', 'planted')
        }
        return real.accepting.query<Row>(...asked)
      },
    }
    start({ ...real, accepting: broken }, {})
    await expect(gateway.deliver({ id: 'm', from: 'ada', text: 'hello' })).rejects.toMatchObject({
      code: 'storage_unavailable',
    })
    expect(await database().query(rows, [])).toEqual([])
    await gateway.deliver({ id: 'm', from: 'ada', text: 'hello' })
    expect(await database().query(rows, [])).toMatchObject([
      { state: 'queued' },
      { state: 'queued' },
      { state: 'queued' },
    ])
  })

  test('keeps a receipt of the one whose content the database refuses, and the others whole', async () => {
    start(database(), { platformAt: 'no time at all' })
    await gateway.deliver({ id: 'm', from: 'ada', text: 'hello' })
    expect(await database().query(rows, [])).toEqual([
      { id: 'm-a', state: 'queued', reason: null },
      { id: 'm-b', state: 'dead', reason: 'unstorable' },
      { id: 'm-c', state: 'queued', reason: null },
    ])
  })
})
