// What became of a reply after it was delivered: the name its vendor gave it, and that it came back.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { emailReasons } from '../../adapters/email/reasons.ts'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { explainById } from '../../src/api/explain/explain.ts'
import type { Bounce } from '../../src/contract/inbound-event.ts'
import type { Adapter, DeliveryResult, InboundEvent, InboundMessage } from '../../src/contract/index.ts'
import { textOf } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { listDeliveries, listMessageCountsByConnection } from '../../src/db/receipts.ts'
import { createRejectionLog } from '../../src/identity/rejected-requests.ts'
import { judgedChannel } from '../doubles/loopback/judged.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'
import { openTenantDb } from '../setup/tenant-db.ts'

const sent = nameStatement('test_sent', 'select client_id as id, state from outbox order by seq')
const fates = nameStatement('test_fates', 'select state from inbox where kind <> $1 order by seq')
const conversations = nameStatement('test_conversations', 'select distinct conversation_id from inbox where kind <> $1')

describeOnDatabase('a reply', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  let bounce: Bounce | undefined
  let claim: InboundMessage['thread'] | undefined

  /** What is said is a message, unless a bounce is due. */
  const change = ([arrived]: readonly InboundEvent[]): readonly InboundEvent[] => {
    if (arrived?.kind !== 'message') return []
    if (bounce === undefined) return [claim === undefined ? arrived : { ...arrived, thread: claim }]
    const deliveryId = arrived.message.id
    return [{ kind: 'ignored', reason: 'bounce', isNoise: true, deliveryId, bounce, raw: { id: deliveryId } }]
  }
  const renaming = (adapter: Adapter): Partial<Adapter> => ({
    async deliver(call, attempt): Promise<DeliveryResult> {
      const outcome = await adapter.deliver(call, attempt)
      return outcome.kind === 'delivered' ? { ...outcome, name: 'v:renamed' } : outcome
    },
  })
  const clientIds = async () => (await database().query<{ id: string }>(sent, [])).map(({ id }) => id)
  const said = async (id: string, from = 'ada'): Promise<void> => {
    await gateway.deliver({ id, from, text: id })
    await settleUntil(gateway, async () =>
      (await database().query<{ state: string }>(fates, ['remains'])).every(({ state }) => state === 'answered'),
    )
  }
  const comesBack = async (id: string, told: Bounce): Promise<void> => {
    bounce = told
    await gateway.deliver({ id, from: 'postmaster', text: id })
    bounce = undefined
  }
  const store = () => openTenantDb(database(), 'default')
  const bounced = () => listDeliveries(store(), ['bounced'], { limit: 10, before: null, connection: null })
  const at = '2026-11-17T10:00:00.000Z'

  beforeEach(async () => {
    vendor = await startVendorStub()
    claim = undefined
    const [connection] = loopbackConnections(vendor.origin)
    gateway = createTestGateway(
      database(),
      {
        agents: [defineAgent({ slug: 'demo', run: (message) => `re: ${textOf(message.parts)}` })],
        connections: connection === undefined ? [] : [connection],
      },
      {},
      [judgedChannel({ change, adapter: renaming })],
    )
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  test('that its vendor named is found under that name by whoever takes part, and by nobody else', async () => {
    await said('m1')
    claim = { candidates: ['v:renamed'], platformVerified: false, newThreadKey: 'other' }
    await said('m2')
    expect(await database().query(conversations, ['remains'])).toHaveLength(1)
    await said('m3', 'mallory')
    expect(await database().query(conversations, ['remains'])).toHaveLength(2)
  })

  test('that came back is marked, stays delivered, and is shown to whoever asks', async () => {
    await said('m1')
    const [clientId = ''] = await clientIds()
    await comesBack('b1', { clientId, kind: 'delayed', reason: '4.4.1', at })
    await comesBack('b2', { clientId, kind: 'failed', reason: '5.1.1', at })
    // What was said before and comes late changes nothing any more.
    await comesBack('b3', { clientId, kind: 'delayed', reason: '4.4.7', at })
    expect(await bounced()).toMatchObject([{ state: 'delivered', bounceKind: 'failed', bounceReason: '5.1.1' }])
    expect(await listMessageCountsByConnection(openTenantDb(database(), 'default'))).toMatchObject([
      { received: 1, answered: 1, dead: 0, inFlight: 0, ignored: 3 },
    ])
    const facts = {
      db: openTenantDb(database(), 'default'),
      agents: ['demo'],
      channels: [{ channel: 'loopback-client-id', reasons: emailReasons }],
      rejections: createRejectionLog(),
    }
    const explained = await explainById(facts, 'm1')
    const story = JSON.stringify(explained)
    expect(story).toContain(
      'The reply is late on its way, as a server there says: no way there was found in time (4.4.1)',
    )
    expect(story).toContain('The reply was taken and came back: the address is not known there (5.1.1)')
    expect(story).not.toContain('4.4.7')
    expect(explained.kind === 'explained' && explained.explanation.story.headline).toMatch(
      /^Came back: the reply was taken .+, and sent back later: the address is not known there \(5\.1\.1\)\.$/,
    )
  })

  test.each(['nobody', '0192f1c2-7d5e-7abc-8def-0123456789ab:0', "'; drop table outbox; --", '\u0000'])(
    'is not touched by a bounce of %j, which is kept as what it is',
    async (clientId) => {
      await said('m1')
      await comesBack('b1', { clientId, kind: 'failed', reason: 'mailbox of ada@mail.test is full', at: 'never' })
      expect(await bounced()).toEqual([])
      expect(await database().query(sent, [])).toMatchObject([{ state: 'delivered' }])
      expect(await listMessageCountsByConnection(openTenantDb(database(), 'default'))).toMatchObject([{ ignored: 1 }])
    },
  )

  test('that came back keeps a code and no words of whoever sent it back', async () => {
    await said('m1')
    const [clientId = ''] = await clientIds()
    await comesBack('b1', { clientId, kind: 'failed', reason: 'mailbox of ada@mail.test is full', at: 'never' })
    expect(await bounced()).toMatchObject([{ bounceReason: 'unspecified' }])
  })
})
