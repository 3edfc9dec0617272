// Commands for the gateway itself: answered beside a busy conversation, and only about one's own.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentDefinition, defineAgent } from '../../src/agents/define-agent.ts'
import { textOf } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { type AtWork, createDoor, putToWork, until } from '../doubles/background-gateway.ts'
import type { LoopbackEvent } from '../doubles/loopback/index.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const fates = nameStatement('test_fates', 'select message_id as id, state, reason from inbox order by seq')
const kinds = nameStatement(
  'test_kinds',
  'select t.kind, (select count(*)::int from runs r where r.id = t.id) as runs from turns t order by t.started_at',
)

const beside = nameStatement('test_beside', 'select purpose, state from outbox where not "primary"')
const expire = nameStatement(
  'test_expire',
  "update lanes set lease_until = now() - interval '1 second', epoch = epoch + 1",
)

describeOnDatabase('a command', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  let work: AtWork
  let door = createDoor()
  const heard: string[] = []
  const start = (changes: Partial<AgentDefinition> = {}) => {
    const run: AgentDefinition['run'] = async (message) => {
      heard.push(textOf(message.parts))
      await door.passed
      return `re: ${textOf(message.parts)}`
    }
    gateway = createTestGateway(database(), {
      agents: [defineAgent({ slug: 'demo', description: 'Echoes.', run, ...changes })],
      connections: loopbackConnections(vendor.origin),
    })
    work = putToWork(gateway)
  }
  const say = (id: string, text: string, more: Partial<LoopbackEvent> = {}) =>
    gateway.deliver({ id, from: 'ada', text, ...more })
  const command = (id: string, name: string, more: Partial<LoopbackEvent> = {}) =>
    say(id, `/${name}`, { command: { name, args: '' }, ...more })
  const texts = () => vendor.messages.map((message) => message.text)
  const fate = async () => {
    const rows = await database().query<{ id: string; state: string; reason: string | null }>(fates, [])
    return Object.fromEntries(
      rows.map(({ id, state, reason }) => [id, reason === null ? state : `${state}(${reason})`]),
    )
  }

  beforeEach(async () => {
    heard.length = 0
    door = createDoor()
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    door.open()
    await work.stop()
    gateway.stop()
    await vendor.close()
  })

  test('/status is answered while the agent works, in words and without an id', async () => {
    start()
    await say('m1', 'hello')
    await until(() => heard.length === 1)
    await say('m2', 'and more')
    await command('c1', 'status')
    await until(() => texts().length === 1)
    expect(texts()[0]).toMatch(
      /^I am working; your message was taken up \d+ s ago\. \/stop ends it\.\n1 message waits behind it\./,
    )
    expect(texts()[0]).not.toMatch(/[0-9a-f]{8}-/)
    door.open()
    await until(async () => Object.values(await fate()).every((state) => state === 'answered'))
    await command('c2', 'status')
    await until(() => texts().length === 4)
    expect(texts()[3]).toMatch(/^Nothing is running here\.\nThis session began/)
    await until(async () => Object.values(await fate()).every((state) => state === 'answered'))
    expect(Object.keys(await fate())).toEqual(['m1', 'm2', 'c1', 'c2'])
    expect(heard).toEqual(['hello', 'and more'])
  })

  test('is no run, and no line of the conversation it is about', async () => {
    start()
    door.open()
    await command('c1', 'status')
    await until(() => texts().length === 1)
    await say('m1', 'hello')
    await until(() => texts().length === 2)
    expect(await database().query(kinds, [])).toEqual([
      { kind: 'control', runs: 0 },
      { kind: 'messages', runs: 1 },
    ])
    expect(texts()[1]).toBe('re: hello')
  })

  test('/help tells the commands, and what the agent says of itself', async () => {
    start({ help: 'Ask me about the weather.' })
    await command('c1', 'help')
    await until(() => texts().length === 1)
    const [help = ''] = texts()
    expect(help.split('\n')[0]).toBe('Ask me about the weather.')
    for (const name of ['/stop', '/status', '/approve', '/reject', '/help', '/new'])
      expect(help).toContain(`${name} - `)
  })

  test('counts by its text where the channel marks none, and only as a whole word', async () => {
    start()
    door.open()
    await say('m1', '/stop')
    await until(() => texts().length === 1)
    expect(texts()[0]).toMatch(/^Nothing is running here\./)
    await say('m2', '/stopwatch please')
    await until(() => texts().length === 2)
    expect(heard).toEqual(['/stopwatch please'])
  })

  test('the gateway does not know is a message for the agent', async () => {
    start()
    door.open()
    await command('c1', 'weather')
    await until(() => texts().length === 1)
    expect(texts()).toEqual(['re: /weather'])
  })

  test('is answered once, however often it is delivered', async () => {
    start()
    for (let times = 0; times < 3; times += 1) await command('c1', 'help')
    await until(() => texts().length === 1)
    await command('c2', 'help')
    await until(() => texts().length === 2)
    await until(async () => Object.values(await fate()).every((state) => state === 'answered'))
    expect(Object.keys(await fate())).toEqual(['c1', 'c2'])
  })

  test('about a thread its sender merely claims tells him nothing and stops nothing', async () => {
    start()
    await say('m1', 'hello', { conversation: 'private', claims: ['private'] })
    await until(() => heard.length === 1)
    const claimed = { from: 'mallory', conversation: 'private', claims: ['private'] }
    await command('c1', 'status', claimed)
    await command('c2', 'stop', claimed)
    await until(() => texts().length === 2)
    expect(texts()).toEqual([
      expect.stringMatching(/^Nothing is running/),
      expect.stringMatching(/^Nothing is running/),
    ])
    await command('c3', 'status', { conversation: 'private', claims: ['private'] })
    await until(() => texts().length === 3)
    expect(texts()[2]).toMatch(/^I am working/)
    door.open()
    await until(() => texts().includes('re: hello'))
  })

  test('is taken also where a second message would be refused because the conversation is busy', async () => {
    start()
    await say('m1', 'hello', { exclusive: true })
    await until(() => heard.length === 1)
    expect(await say('m2', 'more', { exclusive: true })).toMatchObject({ acceptances: [{ kind: 'refused' }] })
    expect(await command('c1', 'status', { exclusive: true })).toMatchObject({ acceptances: [{ kind: 'accepted' }] })
    await until(() => texts().length === 1)
    expect(texts()[0]).toMatch(/^I am working/)
  })

  test('/new stays in its conversation behind what runs there, and is told so at once, once, and not as its answer', async () => {
    start({ receipts: false })
    await say('m1', 'hello')
    await until(() => heard.length === 1)
    await command('c1', 'new')
    await command('c2', 'new')
    await until(() => texts().length === 1)
    expect(texts()).toEqual(['OK. I finish this first, then we start afresh.'])
    expect(await fate()).toEqual({ m1: 'in_turn', c1: 'queued', c2: 'queued' })
    // As after kill -9: the process that takes the turn over says it no second time.
    await database().query(expire, [])
    await until(() => heard.length === 2)
    await until(async () => (await database().query(beside, [])).length === 1)
    door.open()
    await until(() => texts().length === 4)
    const fresh = expect.stringMatching(/^Started a new session/)
    expect(texts()).toEqual(['OK. I finish this first, then we start afresh.', 're: hello', fresh, fresh])
    await until(async () => Object.values(await fate()).every((state) => state === 'answered'))
    expect(await database().query(beside, [])).toEqual([{ purpose: 'notice', state: 'delivered' }])
  }, 30_000)
})
