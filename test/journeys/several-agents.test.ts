// Three agents behind one account: each message reaches the one it is for, and nobody else's talk is moved by it.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentDefinition, defineAgent } from '../../src/agents/define-agent.ts'
import type { ParleyConfig } from '../../src/config.ts'
import { textOf } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { checkEvidence } from '../../src/identity/evidence.ts'
import type { LoopbackEvent } from '../doubles/loopback/index.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const fates = nameStatement(
  'test_agent_fates',
  `select message_id as id, agent, kind, state || coalesce('(' || reason || ')', '') as fate from inbox order by seq`,
)
const threads = nameStatement('test_threads', 'select external_id as thread, agent from thread_agents order by 1')

describeOnDatabase('of several agents', (database) => {
  let vendor: VendorStub
  let running: TestGateway[]
  let faults: string[]

  /** Says its name, and checks that what it was given is for it. */
  const speaks: AgentDefinition['run'] = (message, { agent, evidence }) => {
    const audience = `@${agent}@parley.localhost`
    if (message.recipient !== audience) faults.push(`${agent} was given a message for ${message.recipient}`)
    for (const each of evidence) {
      const checked = checkEvidence(each, { audience, now: Date.now(), origin: 'in-process' })
      if (!checked.ok) faults.push(`${agent}: ${checked.code}`)
    }
    return `${agent}: ${textOf(message.parts)}`
  }
  const start = (changes: Partial<ParleyConfig> = {}): TestGateway => {
    const gateway = createTestGateway(database(), {
      agents: ['desk', 'billing', 'travel'].map((slug) =>
        defineAgent({ slug, description: `Does ${slug}.`, run: speaks }),
      ),
      connections: loopbackConnections(vendor.origin),
      ...changes,
    })
    running.push(gateway)
    return gateway
  }
  const answers = () => vendor.messages.map((message) => message.text)
  /** Said and answered, one after the other. */
  const say = async (gateway: TestGateway, event: Omit<LoopbackEvent, 'from'> & { readonly from?: string }) => {
    const before = answers().length
    await gateway.deliver({ from: 'ada', ...event })
    await settleUntil(gateway, () => answers().length > before)
    return answers().at(-1)
  }
  const rows = () => database().query<{ id: string; agent: string; kind: string; fate: string }>(fates, [])

  beforeEach(async () => {
    vendor = await startVendorStub()
    running = []
    faults = []
  })
  afterEach(async () => {
    for (const gateway of running) gateway.stop()
    await vendor.close()
    expect(faults).toEqual([])
  })

  test('the one a message begins with answers, then goes on; where nobody was named, the default does', async () => {
    const gateway = start()
    expect(await say(gateway, { id: 'm1', text: 'hello' })).toBe('desk: hello')
    expect(await say(gateway, { id: 'm2', text: '@billing my invoice' })).toBe('billing: @billing my invoice')
    expect(await say(gateway, { id: 'm3', text: 'number 12' })).toBe('billing: number 12')
    expect(await say(gateway, { id: 'm4', text: '@Travel@parley.localhost a train' })).toMatch(/^travel: /)
    expect(await say(gateway, { id: 'm5', text: 'and back' })).toBe('travel: and back')
    expect(await say(gateway, { id: 'm6', text: 'ask @billing about it' })).toMatch(/^travel: /)
    expect(await say(gateway, { id: 'm7', text: 'hello', conversation: 'other' })).toBe('desk: hello')
    expect((await rows()).map((row) => row.agent).join()).toBe('desk,billing,billing,travel,travel,travel,desk')
  })

  test('the default is the one the configuration names', async () => {
    const gateway = start({ defaultAgent: 'travel' })
    expect(await say(gateway, { id: 'm1', text: 'hello' })).toBe('travel: hello')
  })

  test('the one whose account it is answers alone, whoever is named', async () => {
    const gateway = start({ connections: loopbackConnections(vendor.origin, { agent: 'billing' }) })
    expect(await say(gateway, { id: 'm1', text: '@travel hello' })).toBe('billing: @travel hello')
    expect(await database().query(threads, [])).toEqual([])
  })

  test('none answers for one that does not exist at our own domain; a stranger’s name is only a name', async () => {
    const gateway = start()
    const refusal = await say(gateway, { id: 'm1', text: '@sales@parley.localhost hello' })
    expect(refusal).toContain('There is no agent with that name at parley.localhost')
    expect(refusal).toContain('@billing - Does billing.')
    expect(refusal).toContain('There is no agent with that name')
    expect(await say(gateway, { id: 'm2', text: '@sales hello' })).toMatch(/^desk: /)
    expect(await say(gateway, { id: 'm3', text: '@billing@elsewhere.example hello' })).toMatch(/^desk: /)
    expect((await rows())[0]).toEqual({ id: 'm1', agent: 'desk', kind: 'unknown_agent', fate: 'answered' })
  })

  test('the thread’s own goes on after a restart, and in another replica at the same time', async () => {
    const first = start()
    await say(first, { id: 'm1', text: '@billing hello' })
    const second = start()
    expect(await say(second, { id: 'm2', text: 'again' })).toBe('billing: again')
    await Promise.all([
      first.deliver({ id: 'm3', from: 'ada', text: 'one' }),
      second.deliver({ id: 'm4', from: 'ada', text: 'two', conversation: 'new' }),
      second.deliver({ id: 'm5', from: 'ada', text: '@travel three', conversation: 'third' }),
    ])
    await settleUntil(first, () => answers().length === 5)
    expect(answers().slice(2).toSorted()).toEqual(['billing: one', 'desk: two', 'travel: @travel three'])
  })

  test('one that was taken away is no longer a thread’s own', async () => {
    await say(start(), { id: 'm1', text: '@billing hello' })
    const agents = ['desk', 'travel'].map((slug) => defineAgent({ slug, run: speaks }))
    expect(await say(start({ agents }), { id: 'm2', text: 'still there?' })).toBe('desk: still there?')
  })

  test('a room talks with the one somebody in it addressed last; each keeps a talk of its own', async () => {
    const gateway = start()
    await say(gateway, { id: 'm1', text: '@billing how much?' })
    expect(await say(gateway, { id: 'm2', from: 'bob', text: '@travel when?' })).toMatch(/^travel: /)
    expect(await say(gateway, { id: 'm3', text: 'and?' })).toBe('travel: and?')
    expect(await say(gateway, { id: 'm4', text: '@billing and?' })).toBe('billing: @billing and?')
    const sessions = nameStatement(
      'test_sessions',
      'select agent, count(*)::int as count from sessions group by 1 order by 1',
    )
    expect(await database().query(sessions, [])).toEqual([
      { agent: 'billing', count: 1 },
      { agent: 'travel', count: 1 },
    ])
  })

  test('what was said in one breath goes to the one it began with', async () => {
    const gateway = start()
    // One after the other: two at the same time may arrive in either order. Nobody takes a turn in between.
    await gateway.deliver({ id: 'm1', from: 'ada', text: '@billing my invoice' })
    await gateway.deliver({ id: 'm2', from: 'ada', text: 'number 12' })
    await settleUntil(gateway, async () => (await rows()).every(({ fate }) => ['answered', 'merged'].includes(fate)))
    expect((await rows()).map((row) => row.agent)).toEqual(['billing', 'billing'])
  })

  test('a thread id somebody merely claims neither tells nor changes whom another talks with', async () => {
    const gateway = start()
    await say(gateway, { id: 'm1', text: '@billing hello', claims: ['t1'] })
    expect(await say(gateway, { id: 'm2', from: 'eve', text: 'and?', claims: ['t1'] })).toBe('desk: and?')
    await say(gateway, { id: 'm3', from: 'eve', text: '@travel hello', claims: ['t1'] })
    expect(await say(gateway, { id: 'm4', text: 'and?', claims: ['t1'] })).toBe('billing: and?')
    expect(await say(gateway, { id: 'm5', from: 'eve', text: 'and?', claims: ['~12~loopback:ada~t1'] })).toBe(
      'desk: and?',
    )
    const imitated = { from: 'eve', text: 'and?', conversation: '~12~loopback:ada~t1' }
    expect(await say(gateway, { id: 'm6', ...imitated })).toBe('desk: and?')
    expect(await database().query(threads, [])).toEqual([
      { thread: '~12~loopback:ada~t1', agent: 'billing' },
      { thread: '~12~loopback:eve~t1', agent: 'travel' },
    ])
  })

  test('a redelivery changes nothing, also after the talk went on with another', async () => {
    const gateway = start()
    await say(gateway, { id: 'm1', text: '@billing hello' })
    await say(gateway, { id: 'm2', text: '@travel hello' })
    expect(await gateway.deliver({ id: 'm1', from: 'ada', text: '@billing hello' })).toMatchObject({
      acceptances: [{ kind: 'duplicate' }],
    })
    expect(await say(gateway, { id: 'm3', text: 'and?' })).toBe('travel: and?')
  })

  test('an edit goes to the one that has what it amends', async () => {
    const gateway = start()
    await say(gateway, { id: 'm1', text: '@billing invoice 12' })
    await say(gateway, { id: 'm2', text: '@travel a train' })
    const edit = { event: 'edit', target: 'm1', version: '1' } as const
    await gateway.deliver({ id: 'm3', from: 'ada', text: '@desk invoice 13', ...edit })
    await gateway.deliver({ id: 'm4', from: 'eve', text: 'pay eve', ...edit, version: '2' })
    await settleUntil(gateway, async () => (await rows()).every(({ fate }) => !/queued|in_turn/.test(fate)))
    expect((await rows()).slice(2)).toEqual([
      { id: 'm3', agent: 'billing', kind: 'message', fate: 'merged(amendment)' },
      { id: 'm4', agent: 'travel', kind: 'message', fate: 'refused(unknown_target)' },
    ])
    expect(await say(gateway, { id: 'm5', text: 'and?' })).toBe('travel: and?')
  })

  test('a command is about the one the talk is with, or the one it names; /agents tells who there is', async () => {
    const gateway = start()
    await say(gateway, { id: 'm1', text: '@billing hello' })
    expect(await say(gateway, { id: 'c1', text: '/help' })).toMatch(/^Does billing\./)
    expect(await say(gateway, { id: 'c2', text: '/help @travel' })).toMatch(/^Does travel\./)
    const told = await say(gateway, { id: 'c3', text: '/agents' })
    expect(told).toContain('@travel - Does travel.')
    expect(told).toContain('Until you name an agent, @desk answers. You are talking with @billing.')
    expect(await say(gateway, { id: 'm2', text: 'and?' })).toBe('billing: and?')
    expect(await say(gateway, { id: 'm3', text: '/new @travel', command: { name: 'new', args: '@travel' } })).toMatch(
      /^Started a new session/,
    )
    expect(await say(gateway, { id: 'm4', text: 'and?' })).toBe('travel: and?')
  })

  test('/agents where one alone answers names that one', async () => {
    const gateway = start({ connections: loopbackConnections(vendor.origin, { agent: 'billing' }) })
    expect(await say(gateway, { id: 'c1', text: '/agents' })).toBe('Only billing (Does billing.) answers here.')
  })
})
