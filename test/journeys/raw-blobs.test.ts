// Originals too large for a row: kept once, before the row that refers to them, as long as their message and no longer.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import type { RawBlobs } from '../../src/contract/channel.ts'
import type { Adapter, ChannelDefinition, InboundEvent } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { createEraseStore } from '../../src/db/erase-person.ts'
import { createSweepStore } from '../../src/db/retention.ts'
import { erasePerson } from '../../src/identity/erase.ts'
import { judgedChannel } from '../doubles/loopback/judged.ts'
import { memoryBlobs } from '../doubles/memory-blobs.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const kept = nameStatement(
  'test_kept',
  'select id, owner, inbox_id is not null as "isUsed", mime_type as mime from attachments order by created_at',
)
const older = nameStatement(
  'test_older',
  `with a as (update attachments set created_at = created_at - interval '25 hours', used_at = used_at - interval '25 hours')
   update inbox set ended_at = ended_at - interval '91 days'`,
)

describeOnDatabase('an original', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  let originals: RawBlobs
  let files: ReturnType<typeof memoryBlobs>
  const refs: string[] = []

  const raw = (text: string): Uint8Array => new TextEncoder().encode(text)
  const keep = (text: string, id = text) => originals.keep(raw(text), { id, mime: 'message/rfc822' })
  const read = async (ref: string): Promise<string | undefined> => {
    const stream = await originals.open(ref)
    return stream === undefined ? undefined : new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).text()
  }
  const say = async (id: string): Promise<void> => {
    await gateway.deliver({ id, from: 'ada', text: id })
    await gateway.settle()
  }
  const rows = () => database().query<{ id: string; owner: string; isUsed: boolean }>(kept, [])
  const sweep = () => gateway.deps.attachments.sweep()
  const policy = { contentDays: 90, refusedHours: 24, receiptDays: 120, auditDays: 400, batch: 10 }

  beforeEach(async () => {
    vendor = await startVendorStub()
    files = memoryBlobs()
    refs.length = 0
    const change = (arrivals: readonly InboundEvent[]): readonly InboundEvent[] =>
      arrivals.map((each) => (each.kind === 'message' ? { ...each, rawBlobs: [...refs, 'no ref at all'] } : each))
    const judged = judgedChannel({ change })
    const create = (...[settings, deps]: Parameters<ChannelDefinition['create']>): Adapter => {
      if (deps.rawBlobs === undefined) throw new Error('no originals')
      originals = deps.rawBlobs
      return judged.create(settings, deps)
    }
    const [connection] = loopbackConnections(vendor.origin)
    gateway = createTestGateway(
      database(),
      { agents: [defineAgent({ slug: 'demo', run: () => 'yes' })], connections: connection ? [connection] : [] },
      { files },
      [{ ...judged, create }],
    )
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  test('is stored once, however often it comes, as bytes or as a stream', async () => {
    const first = await keep('From: ada')
    const again = await originals.keep(new Blob(['From: ada']).stream(), { id: 'From: ada', mime: 'message/rfc822' })
    expect(again).toBe(first)
    expect(await keep('From: bob')).not.toBe(first)
    expect(files.objects.size).toBe(2)
    expect(await read(first)).toBe('From: ada')
    expect(await read('0192f1c2-7d5e-7abc-8def-0123456789ab')).toBeUndefined()
    expect(await rows()).toMatchObject([{ isUsed: false, mime: 'message/rfc822' }, { isUsed: false }])
  })

  test('that no message refers to is swept like an upload that nobody mentioned', async () => {
    const ref = await keep('turned away')
    await sweep()
    expect(await read(ref)).toBe('turned away')
    await database().query(older, [])
    // It comes again: it is given its time anew.
    await keep('turned away')
    await sweep()
    expect(await read(ref)).toBe('turned away')
    await database().query(older, [])
    await sweep()
    expect(await read(ref)).toBeUndefined()
    expect(files.objects.size).toBe(0)
  })

  test('belongs to its message from the commit on, and goes when the content of that goes', async () => {
    refs.push(await keep('From: ada'))
    await say('m1')
    expect(await rows()).toMatchObject([{ owner: 'loopback:ada', isUsed: true }])
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'm1' })
    await database().query(older, [])
    await sweep()
    expect(await read(refs[0] ?? '')).toBe('From: ada')
    await createSweepStore(database(), 'default').sweep(policy)
    await sweep()
    expect(await rows()).toEqual([])
    expect(files.objects.size).toBe(0)
  })

  test('goes with a message that its author deletes', async () => {
    refs.push(await keep('From: ada'))
    await say('m1')
    refs.length = 0
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'm1', event: 'delete', target: 'm1', version: '1' })
    await gateway.settle()
    await sweep()
    expect(await rows()).toEqual([])
    expect(files.objects.size).toBe(0)
  })

  test('goes with whoever sent it, and nobody else’s does', async () => {
    refs.push(await keep('From: ada'))
    await say('m1')
    refs.splice(0, 1, await keep('From: bob'))
    await gateway.deliver({ id: 'm2', from: 'bob', text: 'm2', conversation: 'c2' })
    await gateway.settle()
    const means = { store: createEraseStore(database(), 'default'), monotonicMs: () => performance.now() }
    await erasePerson(means, { principal: 'loopback:ada', actor: 'operator', budgetMs: 10_000, from: null })
    await sweep()
    expect(await rows()).toMatchObject([{ owner: 'loopback:bob' }])
    expect([...files.objects.values()].map((bytes) => new TextDecoder().decode(bytes))).toEqual(['From: bob'])
  })
})
