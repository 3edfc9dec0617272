// What an operator asks of a channel as it runs: one row, one commit, once by its name; and nothing at all where it cannot be.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import type { IgnoredEvent, Operations } from '../../../src/contract/index.ts'
import type { Operation } from '../../../src/contract/optional-verbs.ts'
import { readAuditPage } from '../../../src/db/audit.ts'
import { nameStatement } from '../../../src/db/client.ts'
import { createRecordStore } from '../../../src/db/records.ts'
import { createGroupCommit } from '../../../src/inbound/group-commit.ts'
import { GatewayError } from '../../../src/lib/errors.ts'
import { judgedChannel } from '../../doubles/loopback/judged.ts'
import { createTestApp, operatorToken } from '../../doubles/test-app.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const channel = 'loopback-client-id'
const key = `${channel}/${channel}`
const rows = nameStatement(
  'test_rows',
  'select id, kind, state, reason, raw, subject, delivery_id as "deliveryId" from inbox order by seq',
)
const calls = nameStatement('test_operation_calls', 'select state, purpose, origin from outbox order by seq')

/** Lets somebody in whose name is given, and tells them so. */
const admit: Operation = async ({ name, round = 1, many = 1 }, { at }) => {
  if (typeof name !== 'string') throw new GatewayError('bad_request', 'give the name of somebody')
  return {
    value: { admitted: name },
    change: {
      reason: 'admitted',
      deliveryId: `admit ${name} ${String(round)}`,
      subject: name,
      recordWrites: [{ kind: 'put', family: 'guest', key: name, value: { at }, subject: name }],
      protocolReplies: Array.from({ length: Number(many) }, (_, index) => ({
        call: { conversation: name, text: `welcome ${name}` },
        orderKey: name,
        clientId: `admit:${name}:${index}`,
      })),
    },
  }
}
const operations: Operations = {
  'guests.admit': admit,
  'guests.look': async (input) => ({ value: { input } }),
  'guests.none': async () => {
    throw new GatewayError('not_found', 'nobody waits; see the list')
  },
}

/** Whatever arrives goes by the name of an operation. */
const namesake: IgnoredEvent = {
  kind: 'ignored',
  reason: 'ping',
  isNoise: false,
  deliveryId: 'admit ada 1',
  raw: {},
}

describeOnDatabase('what an operator asks of a channel', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  let app: ReturnType<typeof createTestApp>
  let failing: 'before' | 'after' | undefined

  beforeEach(async () => {
    vendor = await startVendorStub()
    failing = undefined
    const connections = loopbackConnections(vendor.origin).slice(0, 1)
    const reread = async () => ({ kind: 'read', events: [namesake] }) as const
    const channels = [judgedChannel({ change: () => [namesake], adapter: () => ({ admin: operations, reread }) })]
    const lost = (): never => {
      throw new GatewayError('storage_unavailable', 'the answer of the database was lost')
    }
    gateway = createTestGateway(
      database(),
      { agents: [defineAgent({ slug: 'demo', run: () => 'yes' })], connections },
      {
        committer(store) {
          const real = createGroupCommit(store)
          return {
            isAnswered: real.isAnswered,
            async commit(drafts) {
              if (failing === 'before') lost()
              const outcomes = await real.commit(drafts)
              return failing === 'after' ? lost() : outcomes
            },
          }
        },
      },
      channels,
    )
    app = createTestApp(gateway, database())
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  const ask = async (name: string, input: unknown, at = key, token = operatorToken) => {
    const response = await app.request(`/admin/connections/${at}/operations/${name}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: typeof input === 'string' ? input : JSON.stringify(input),
    })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  const guests = async () =>
    (await createRecordStore(database(), { tenant: 'default', connection: key }).list('guest', { limit: 10 })).map(
      (each) => each.key,
    )
  const stored = () => database().query<Record<string, unknown>>(rows, [])
  const audited = async () => (await readAuditPage(gateway.deps.db, { action: 'channel.operate' }, { limit: 10 })).lines

  test('is done in one commit, sent like an answer of its protocol, and written down with who asked', async () => {
    const { status, body } = await ask('guests.admit', { name: 'ada', token: 'xyz-secret' })
    expect({ status, body }).toMatchObject({ status: 200, body: { value: { admitted: 'ada' }, isRepeat: false } })
    expect(await guests()).toEqual(['ada'])
    expect(await stored()).toMatchObject([
      {
        id: body['id'],
        kind: 'operation',
        state: 'ignored',
        reason: 'admitted',
        subject: 'ada',
        raw: { operation: 'guests.admit', by: 'operator:first token', input: { name: 'ada', token: '[redacted]' } },
      },
    ])
    await gateway.settle()
    expect(vendor.messages.map(({ text }) => text)).toEqual(['welcome ada'])
    expect(await database().query(calls, [])).toEqual([{ state: 'delivered', purpose: 'protocol', origin: body['id'] }])
    expect(await audited()).toMatchObject([
      { outcome: 'done', actor: 'operator:first token', connection: key, inboxId: body['id'], person: null },
    ])
  })

  test('is explained by the id of its row and by its own name', async () => {
    const { body } = await ask('guests.admit', { name: 'ada' })
    for (const id of [String(body['id']), 'admit ada 1']) {
      const response = await app.request(`/admin/explain/${encodeURIComponent(id)}`, {
        headers: { authorization: `Bearer ${operatorToken}` },
      })
      const { explanation } = (await response.json()) as { explanation: { story: { headline: string } } }
      expect(explanation.story.headline).toBe('Done: an operator asked it of the channel (admitted).')
    }
  })

  test('is done once by its name, by however many at once, and again under another', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => ask('guests.admit', { name: 'ada' })))
    expect(new Set(answers.map(({ body }) => body['id']))).toHaveLength(1)
    expect(answers.map(({ body }) => body['isRepeat']).toSorted()).toEqual([false, true, true])
    await ask('guests.admit', { name: 'ada', round: 2 })
    expect(await stored()).toHaveLength(2)
    expect(await database().query(calls, [])).toHaveLength(1)
  })

  test('leaves nothing where its commit failed, and is there once where only the answer was lost', async () => {
    failing = 'before'
    expect(await ask('guests.admit', { name: 'ada' })).toMatchObject({ status: 503 })
    expect([await guests(), await stored(), await database().query(calls, [])]).toEqual([[], [], []])
    failing = 'after'
    expect(await ask('guests.admit', { name: 'ada' })).toMatchObject({ status: 503 })
    failing = undefined
    expect(await ask('guests.admit', { name: 'ada' })).toMatchObject({ status: 200, body: { isRepeat: true } })
    expect([await guests(), (await stored()).length]).toEqual([['ada'], 1])
    expect((await audited()).map(({ outcome }) => outcome)).toEqual(['repeated', 'refused', 'refused'])
  })

  test('leaves no row and no line of the log where it only looked', async () => {
    expect((await ask('guests.look', { of: 1 })).body).toEqual({
      value: { input: { of: 1 } },
      id: null,
      isRepeat: false,
    })
    expect([await stored(), await audited()]).toEqual([[], []])
  })

  test.each([
    ['no such operation', 'toString', {}, key, 404, 'guests.admit, guests.look'],
    ['no such connection', 'guests.look', {}, `${channel}/other`, 404, `there are ${key}`],
    ['nobody there', 'guests.none', {}, key, 404, 'see the list'],
    ['no JSON', 'guests.look', '{', key, 400, 'as a JSON object'],
    ['no object', 'guests.look', [1], key, 400, 'as a JSON object'],
    ['something else', 'guests.admit', { name: 7 }, key, 400, 'give the name'],
    ['too much to say', 'guests.look', { text: 'x'.repeat(1024 * 1024) }, key, 400, 'at most 1048576 bytes'],
    ['too much to do', 'guests.admit', { name: 'ada', many: 5000 }, key, 400, 'more than 5000 things'],
  ])('is refused with what to do: %s', async (_, name, input, at, status, remedy) => {
    const answer = await ask(name, input, at)
    expect(answer).toMatchObject({ status, body: { error: { remedy: expect.stringContaining(remedy) } } })
    expect(await stored()).toEqual([])
  })

  test('is for operators alone, and no arrival takes its place', async () => {
    expect((await ask('guests.look', {}, key, 'wrong')).status).toBe(401)
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'hello' })
    expect(await stored()).toMatchObject([{ kind: 'rejected_event', deliveryId: 'admit ada 1' }])
    expect(await ask('guests.admit', { name: 'ada' })).toMatchObject({ status: 200, body: { isRepeat: false } })
  })

  test('is never read again as an arrival', async () => {
    const { body } = await ask('guests.admit', { name: 'ada' })
    expect(await gateway.gateway.resubmit(String(body['id']), 'operator:first token')).toBe(false)
    expect(await stored()).toHaveLength(1)
  })

  test('reaches many at once', async () => {
    expect(await ask('guests.admit', { name: 'ada', many: 2000 })).toMatchObject({ status: 200 })
    expect(await database().query(calls, [])).toHaveLength(2000)
  })
})
