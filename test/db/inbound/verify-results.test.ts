// What cannot be judged now comes again; what is turned away for good is kept with its reason and never driven again.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { waitingCallerRefusalAnswer } from '../../../src/api/http-answers.ts'
import { acknowledgementAnswer } from '../../../src/api/webhook.ts'
import { type Adapter, textOf } from '../../../src/contract/index.ts'
import { nameStatement } from '../../../src/db/client.ts'
import { createNodePollingSources } from '../../../src/node/ingress.ts'
import { until } from '../../doubles/background-gateway.ts'
import { type Judge, judgedChannel } from '../../doubles/loopback/judged.ts'
import { createPulledPlatform } from '../../doubles/loopback/source.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const rows = nameStatement(
  'test_rows',
  'select state, reason, subject, delivery_id as "deliveryId", raw, conversation_id as conversation from inbox order by seq',
)
const ids = nameStatement('test_ids', 'select id from inbox order by seq')

const later: Judge = (event) =>
  event.id.startsWith('later') ? { kind: 'later', reason: 'dns_unavailable' } : undefined
const turnedAway: Judge = (event) =>
  event.id.startsWith('spoof')
    ? {
        kind: 'rejected_event',
        reason: 'spoofed',
        remedy: 'send it from where it is from',
        deliveryId: event.id,
        ...(event.id === 'spoof-2' ? { subject: 'mailto:eve@mail.test' } : {}),
      }
    : undefined

/** Reads what was kept of an arrival that was turned away as if it were one. */
const readingAgain = ({ reread }: Adapter): Partial<Adapter> => ({
  async reread(arrival, connection, kept) {
    const { rejected_event: text } = JSON.parse(new TextDecoder().decode(arrival.bytes)) as { rejected_event?: string }
    return reread?.(
      text === undefined ? arrival : { ...arrival, bytes: new TextEncoder().encode(text) },
      connection,
      kept,
    )
  },
})

describeOnDatabase('an arrival', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  const start = (judge: Judge): void => {
    const [connection] = loopbackConnections(vendor.origin)
    gateway = createTestGateway(
      database(),
      {
        agents: [defineAgent({ slug: 'demo', run: (message) => `re: ${textOf(message.parts)}` })],
        connections: connection === undefined ? [] : [connection],
      },
      {},
      [judgedChannel({ judge, adapter: readingAgain })],
    )
  }
  const at = () => {
    const [connection] = gateway.gateway.connections
    if (connection === undefined) throw new Error('no connection')
    return connection
  }

  beforeEach(async () => {
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  test('that cannot be judged now leaves nothing and is asked for again', async () => {
    start(later)
    const received = await gateway.deliver({ id: 'later-1', from: 'ada', text: 'hello' })
    expect(received).toMatchObject({ kind: 'later', reason: 'dns_unavailable' })
    expect(await database().query(rows, [])).toEqual([])
    const answer = acknowledgementAnswer(at(), received)
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '30' } })
    expect(JSON.parse(answer.body ?? '')).toMatchObject({ code: 'dns_unavailable' })
    expect(waitingCallerRefusalAnswer(received)).toMatchObject({ status: 503 })
    expect(gateway.logged).toContainEqual(expect.objectContaining({ event: 'request_postponed', level: 'warn' }))
  })

  test('that is turned away is kept once as ignored with its reason, and answered as taken', async () => {
    start(turnedAway)
    const received = await gateway.deliver({ id: 'spoof-1', from: 'ada', text: 'wire me money' })
    const again = await gateway.deliver({ id: 'spoof-1', from: 'ada', text: 'wire me money' })
    expect(received).toMatchObject({ kind: 'rejected_event', reason: 'spoofed', acceptances: [{ kind: 'accepted' }] })
    expect(again).toMatchObject({ kind: 'rejected_event', acceptances: [{ kind: 'duplicate' }] })
    await gateway.deliver({ id: 'spoof-2', from: 'ada', text: 'and more' })
    expect(await database().query(rows, [])).toMatchObject([
      {
        state: 'ignored',
        reason: 'spoofed',
        subject: null,
        deliveryId: 'spoof-1',
        conversation: null,
        raw: { rejected_event: expect.stringContaining('wire me money') },
      },
      { state: 'ignored', subject: 'mailto:eve@mail.test', deliveryId: 'spoof-2' },
    ])
    const answer = acknowledgementAnswer(at(), received)
    expect([answer.status, JSON.parse(answer.body ?? '')]).toEqual([
      200,
      { ok: true, outcomes: ['ignored'], reason: 'spoofed' },
    ])
    expect(waitingCallerRefusalAnswer(received)).toMatchObject({ status: 422 })
  })

  test('that was turned away is never driven again, though its channel could read it', async () => {
    start(turnedAway)
    await gateway.deliver({ id: 'spoof-1', from: 'ada', text: 'wire me money' })
    const [kept] = await database().query<{ id: string }>(ids, [])
    expect(await gateway.gateway.resubmit(kept?.id ?? '', 'ops')).toBe(false)
    expect(await database().query(rows, [])).toHaveLength(1)
  })

  test('pulled from a source that cannot be judged now keeps its place; one that is turned away does not', async () => {
    const platform = createPulledPlatform(1)
    let isDown = true
    const [connection] = loopbackConnections(vendor.origin, { settings: { callTimeoutMs: 100 } })
    const judge: Judge = (event) => (isDown && event.id === 'later-2' ? later(event) : turnedAway(event))
    const judged = judgedChannel({ judge })
    const create: typeof judged.create = (settings, deps) => {
      const { ingress, capabilities } = platform.definition.create(settings, deps)
      return { ...judged.create(settings, deps), capabilities, ingress }
    }
    gateway = createTestGateway(
      database(),
      { agents: [defineAgent({ slug: 'demo', run: () => 'yes' })], connections: connection ? [connection] : [] },
      {},
      [{ ...judged, create }],
    )
    const sources = createNodePollingSources(gateway)
    sources.start()
    for (const id of ['m1', 'later-2', 'spoof-1', 'm4']) platform.say({ id, from: 'ada', text: id })
    await until(() => sources.states()[0]?.state === 'failing')
    expect(sources.states()).toMatchObject([{ state: 'failing', code: 'request_postponed' }])
    expect(platform.acknowledged.map(({ cursor }) => cursor)).toEqual(['1'])
    isDown = false
    await until(() => platform.acknowledged.at(-1)?.cursor === '4')
    await sources.stop()
    expect(await database().query(rows, [])).toMatchObject([
      { state: 'queued' },
      { state: 'queued' },
      { state: 'ignored', reason: 'spoofed' },
      { state: 'queued' },
    ])
  })
})
