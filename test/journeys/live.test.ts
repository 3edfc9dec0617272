// A reply that grows on the platform while the agent speaks: one message, whatever happens on the way.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentDefinition, defineAgent } from '../../src/agents/define-agent.ts'
import { type Database, nameStatement } from '../../src/db/client.ts'
import { findStoredTurnForReplay } from '../../src/db/replay.ts'
import { cancelRun, listRuns } from '../../src/db/runs.ts'
import { createDoor, until } from '../doubles/background-gateway.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { watchedDatabase } from '../doubles/watched-database.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'
import { openTenantDb } from '../setup/tenant-db.ts'

const rows = nameStatement('test_rows', `select ordinal, purpose, "primary", state from outbox order by seq`)
const fates = nameStatement('test_fates', 'select state, reason from inbox order by seq')
const lanes = nameStatement('test_send_lanes', 'select pending from send_lanes where pending <> 0')
const expire = nameStatement(
  'test_expire',
  "update lanes set lease_until = now() - interval '1 second' where lease_until is not null",
)

type Changes = {
  readonly on?: Database
  readonly settings?: object
  readonly turns?: Parameters<typeof createTestGateway>[1]['turns']
  readonly fetch?: typeof fetch
}

describeOnDatabase('a live message', (database) => {
  let vendor: VendorStub
  const open: { readonly gateway: TestGateway; readonly deadline: AbortController }[] = []
  const start = (run: AgentDefinition['run'], { on, settings, turns, fetch }: Changes = {}) => {
    const gateway = createTestGateway(
      on ?? database(),
      {
        agents: [defineAgent({ slug: 'demo', run })],
        connections: loopbackConnections(vendor.origin, { settings: { liveEveryMs: 20, ...settings } }),
        turns: { liveAfterMs: 20, ...turns },
      },
      fetch === undefined ? {} : { fetch },
    )
    const deadline = new AbortController()
    open.push({ gateway, deadline })
    gateway.gateway.drain({ deadline: deadline.signal }).catch(() => {})
    return gateway
  }
  /** As a kill does it: nothing of it is heard again. */
  const kill = async () => {
    for (const { gateway, deadline } of open.splice(0)) {
      deadline.abort()
      gateway.stop()
    }
    await database().query(expire, [])
  }
  const texts = () => vendor.messages.map((message) => message.text)
  const isEnded = async () => {
    const ended = await database().query<{ state: string }>(fates, [])
    return ended.length > 0 && ended.every(({ state }) => !['queued', 'in_turn'].includes(state))
  }
  const frames = () => vendor.calls.filter(({ body }) => (body as { frame?: boolean }).frame === true)
  const outbox = () => database().query<{ purpose: string; state: string }>(rows, [])

  beforeEach(async () => {
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    for (const { gateway, deadline } of open.splice(0)) {
      deadline.abort()
      gateway.stop()
    }
    expect(vendor.unexpected).toEqual([])
    await vendor.close()
  })

  test.each(['loopback-client-id', 'loopback-lookup', 'loopback-edit', 'loopback-none'])(
    'is opened, grows and becomes the answer, as one message (%s)',
    async (connection) => {
      const door = createDoor()
      const gateway = start(async (_message, { show }) => {
        show('Once upon')
        await until(() => texts().length > 0)
        show(' a time')
        await until(() => texts()[0] === 'Once upon a time')
        await door.passed
        return 'Once upon a time there was an end.'
      })
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'tell' }, connection)
      await until(() => texts()[0] === 'Once upon a time')
      expect(await database().query(fates, [])).toMatchObject([{ state: 'in_turn' }])
      door.open()
      await until(isEnded)
      expect(texts()).toEqual(['Once upon a time there was an end.'])
      expect(await database().query(fates, [])).toEqual([{ state: 'answered', reason: null }])
      expect(await outbox()).toEqual([
        { ordinal: 0, purpose: 'live', primary: false, state: 'delivered' },
        { ordinal: 1, purpose: 'reply', primary: true, state: 'delivered' },
      ])
      await until(async () => (await database().query(lanes, [])).length === 0)
    },
  )

  test('is told again by a replay as the one answer it became', async () => {
    const gateway = start(async (_message, { show, step }) => {
      show('words')
      await step('seen', async () => until(() => texts().length > 0).then(() => 'seen'))
      return 'all the words'
    })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'go' })
    await until(isEnded)
    const [turn] = await listRuns(gateway.gateway.db, { limit: 1, before: null, status: null })
    const stored = await findStoredTurnForReplay(openTenantDb(database(), 'default'), turn?.id ?? '', 2, 20)
    expect(stored).toMatchObject({ hasLive: true, calls: [{ purpose: 'reply', primary: true }] })
  })

  test('is not opened by an answer that is there soon enough', async () => {
    const gateway = start(
      (_message, { show }) => {
        show('quick')
        return 'quick'
      },
      { turns: { liveAfterMs: 10_000 } },
    )
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'go' })
    await until(isEnded)
    expect(texts()).toEqual(['quick'])
    expect(await outbox()).toMatchObject([{ ordinal: 0, purpose: 'reply' }])
  })

  test('that nobody began to send when the turn ends is not sent any more', async () => {
    const door = createDoor()
    let isOpened = false
    const gateway = start(
      async (_message, { show }) => {
        show('never seen')
        await until(() => isOpened)
        return 'the whole answer'
      },
      {
        on: watchedDatabase(database(), async (name) => {
          if (name === 'after:open_live') isOpened = true
          if (name === 'before:start_send') await door.passed
          if (name === 'after:complete_live_turn') door.open()
        }),
      },
    )
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'go' }, 'loopback-none')
    await until(isEnded)
    expect(texts()).toEqual(['the whole answer'])
    expect(await outbox()).toMatchObject([
      { purpose: 'live', state: 'cancelled' },
      { purpose: 'reply', state: 'delivered' },
    ])
    await until(async () => (await database().query(lanes, [])).length === 0)
  })

  test('that was opened by a process that died is the answer of the next one', async () => {
    const run: AgentDefinition['run'] = async (_message, { show, attempt }) => {
      show(attempt === 1 ? 'first try' : 'second')
      if (attempt === 1) await new Promise(() => {})
      await until(() => texts()[0] === 'second')
      return 'second try, whole'
    }
    const first = start(run)
    await first.deliver({ id: 'm1', from: 'ada', text: 'go' }, 'loopback-none')
    await until(() => texts().length > 0)
    await kill()
    start(run)
    await until(isEnded)
    expect(texts()).toEqual(['second try, whole'])
    expect(await outbox()).toMatchObject([
      { purpose: 'live', state: 'delivered' },
      { purpose: 'reply', state: 'delivered' },
      { purpose: 'assertion', state: 'queued' },
    ])
  })

  test('has its final text also after a late frame of a holder that was replaced', async () => {
    const late = createDoor()
    const turns = { leaseMs: 1_500 }
    const settings = { callTimeoutMs: 200 }
    let held = 0
    const slow: typeof fetch = async (input, init) => {
      const isFrame = typeof init?.body === 'string' && init.body.includes('"frame"')
      if (!isFrame) return fetch(input, init)
      held += 1
      await late.passed
      return fetch(input, { ...init, signal: null })
    }
    const run: AgentDefinition['run'] = async (_message, { show, attempt }) => {
      if (attempt > 1) return 'the final text'
      show('old words')
      await until(() => texts().length > 0)
      show(' and more')
      return new Promise<string>(() => {})
    }
    const first = start(run, { fetch: slow, settings, turns })
    await first.deliver({ id: 'm1', from: 'ada', text: 'go' })
    await until(() => held > 0)
    await kill()
    start(run, { settings, turns })
    await until(() => texts()[0] === 'the final text')
    late.open()
    await until(() => texts()[0] === 'old words and more')
    await until(() => texts()[0] === 'the final text')
    expect(texts()).toHaveLength(1)
  })

  test('whose frames are limited or refused is finished all the same, and the platform is left alone', async () => {
    const gateway = start(async (_message, { show }) => {
      show('a')
      await until(() => texts().length > 0)
      const until300 = Date.now() + 300
      while (Date.now() < until300) {
        show('b')
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
      return 'whole'
    })
    const isFrame = (body: unknown) => (body as { frame?: boolean }).frame === true
    vendor.failBy('edit', ({ body }) =>
      isFrame(body) ? { kind: 'answer', status: 429, body: '{}', headers: { 'retry-after': '60' } } : undefined,
    )
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'go' })
    await until(isEnded)
    expect(frames()).toHaveLength(1)
    vendor.failBy('edit', ({ body }) => (isFrame(body) ? { kind: 'answer', status: 400, body: '{}' } : undefined))
    await gateway.deliver({ id: 'm2', from: 'bob', text: 'go', conversation: 'c2' })
    await until(isEnded)
    expect(frames()).toHaveLength(2)
    expect(texts()).toEqual(['whole', 'whole'])
  })

  test.each([
    ['refused', { kind: 'answer', status: 403, body: '{}' } as const],
    ['unknown', { kind: 'drop', when: 'before' } as const],
  ])('that could not be opened (%s) leaves the answer to be posted', async (state, fault) => {
    vendor.failNext('send', fault)
    const gateway = start(async (_message, { show }) => {
      show('words')
      await until(async () => (await outbox())[0]?.state === state)
      return 'whole'
    })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'go' }, 'loopback-none')
    await until(isEnded)
    expect(texts()).toEqual(['whole'])
    expect(frames()).toEqual([])
    expect(await outbox()).toMatchObject([
      { purpose: 'live', state },
      { purpose: 'reply', state: 'delivered' },
    ])
  })

  test('of a run that is stopped keeps what was read, and says so', async () => {
    const gateway = start(async (_message, { show, stop }) => {
      show('I begin')
      await new Promise((_resolve, reject) => stop.addEventListener('abort', () => reject(stop.reason)))
    })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'go' })
    await until(() => texts().length > 0)
    const [run] = await listRuns(gateway.gateway.db, { limit: 1, before: null, status: null })
    await cancelRun(gateway.gateway.db, run?.id ?? '', 'operator')
    await until(isEnded)
    expect(texts()).toHaveLength(1)
    expect(texts()[0]).toMatch(/^I begin\n.*stopp/is)
  })

  test('of a turn that dies carries the apology', async () => {
    const gateway = start(
      async (_message, { show }) => {
        show('I begin')
        await until(() => texts().length > 0)
        throw new Error('broken')
      },
      { turns: { maxFailures: 1 } },
    )
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'go' })
    await until(async () =>
      (await outbox()).some(({ purpose, state }) => purpose === 'apology' && state === 'delivered'),
    )
    expect(texts()).toHaveLength(1)
    expect(texts()[0]).toContain('Sorry')
  })

  test('of a turn that is split says that its messages are answered one by one', async () => {
    const door = createDoor()
    const gateway = start(async (message, { show, members }) => {
      if (message.id === 'm0') await door.passed
      if (members.length === 1) return `re: ${message.id}`
      show('both of you')
      await until(() => texts().includes('both of you'))
      throw new Error('too much')
    })
    await gateway.deliver({ id: 'm0', from: 'ada', text: 'zero' })
    await until(async () => (await database().query<{ state: string }>(fates, []))[0]?.state === 'in_turn')
    for (const id of ['m1', 'm2']) await gateway.deliver({ id, from: 'ada', text: id })
    door.open()
    await until(isEnded)
    const notice = 'I was interrupted, and answer your messages one by one.'
    expect(texts()).toEqual(['re: m0', notice, 're: m1', 're: m2'])
  })

  test('of a turn that says nothing in the end stays as it was shown', async () => {
    const gateway = start(async (_message, { show }) => {
      show('thinking aloud')
      await until(() => texts().length > 0)
      return undefined
    })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'go' })
    await until(isEnded)
    await until(async () => (await outbox()).every(({ state }) => state === 'delivered'))
    expect(texts()).toEqual(['thinking aloud'])
    expect(await database().query(fates, [])).toEqual([{ state: 'refused', reason: 'silent' }])
  })
})
