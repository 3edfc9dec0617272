// What is said in a room: answered where the place and the address say so, otherwise ended by rule, at no cost and in
// silence.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { explainById } from '../../src/api/explain/explain.ts'
import type { ReplyPolicySettings } from '../../src/contract/channel.ts'
import { type Database, nameStatement } from '../../src/db/client.ts'
import { listMessageCountsByConnection } from '../../src/db/receipts.ts'
import type { LoopbackEvent } from '../doubles/loopback/index.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'
import { openTenantDb } from '../setup/tenant-db.ts'

const fates = nameStatement('test_fates', 'select message_id as id, state, reason from inbox order by seq')
const decisions = nameStatement(
  'test_decisions',
  `select count(*)::int as lines from audit_log where action = 'message.admit'`,
)

type Fate = { readonly id: string; readonly state: string; readonly reason: string | null }

describeOnDatabase('the reply policy in rooms', (database: () => Database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  let runs: string[]
  beforeEach(async () => {
    vendor = await startVendorStub()
    runs = []
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  const start = (replyPolicy?: ReplyPolicySettings, slugs: readonly string[] = ['desk']) => {
    const agents = slugs.map((slug) =>
      defineAgent({
        slug,
        run(message) {
          runs.push(`${slug}:${message.id}`)
          return `seen ${message.id}`
        },
      }),
    )
    const access = { mode: 'public', allow: [] } as const
    const connections = loopbackConnections(vendor.origin, {
      access,
      ...(replyPolicy === undefined ? {} : { replyPolicy }),
    })
    gateway = createTestGateway(database(), { agents, connections })
  }
  const say = async (id: string, event: Partial<LoopbackEvent> = {}) => {
    await gateway.deliver({ id, text: `words of ${id}`, from: 'ada', conversation: 'room', ...event })
    await gateway.settle()
  }
  const inRoom = { room: 'group', addressed: 'none' } as const
  const fateOf = async (id: string) => {
    const rows = await database().query<Fate>(fates, [])
    const row = rows.find((each) => each.id === id)
    return row === undefined ? undefined : row.reason === null ? row.state : `${row.state}: ${row.reason}`
  }

  test('by default leaves alone what addresses nobody, and answers direct messages, names, replies and commands', async () => {
    start()
    await say('m1', inRoom)
    await say('m2', { ...inRoom, room: 'channel' })
    expect(runs).toEqual([])
    expect(vendor.messages).toEqual([])
    expect(await fateOf('m1')).toBe('refused: not_addressed')
    expect(await fateOf('m2')).toBe('refused: not_addressed')
    const [audited] = await database().query<{ lines: number }>(decisions, [])
    expect(audited?.lines).toBe(0)
    await say('m3', { ...inRoom, addressed: 'mention' })
    await say('m4', { ...inRoom, addressed: 'reply' })
    await say('m5', {
      ...inRoom,
      addressed: 'command',
      command: { name: 'weather', args: '' },
      mustReplyIndividually: 'command',
    })
    await say('m6', { room: 'dm', addressed: 'dm', conversation: 'alone' })
    expect(runs).toEqual(['desk:m3', 'desk:m4', 'desk:m5', 'desk:m6'])
    await say('m7', { ...inRoom, addressed: 'thread' })
    expect(await fateOf('m7')).toBe('refused: not_addressed')
  })

  test('`always` answers everything that may be said', async () => {
    start({ mode: 'always' })
    await say('m1', inRoom)
    expect(runs).toEqual(['desk:m1'])
    expect(vendor.messages.map(({ text }) => text)).toEqual(['seen m1'])
  })

  test('`thread` follows a thread from its first answer on, and no thread before', async () => {
    start({ mode: 'thread' })
    await say('m1', { ...inRoom, addressed: 'thread' })
    expect(await fateOf('m1')).toBe('refused: not_addressed')
    await say('m2', { ...inRoom, addressed: 'mention' })
    await say('m3', { ...inRoom, addressed: 'thread', from: 'bob' })
    await say('m4', { ...inRoom, addressed: 'thread', conversation: 'another thread' })
    await say('m5', inRoom)
    expect(runs).toEqual(['desk:m2', 'desk:m3'])
    expect(await fateOf('m4')).toBe('refused: not_addressed')
    expect(await fateOf('m5')).toBe('refused: not_addressed')
  })

  test('`thread` follows also what came before its first answer was given', async () => {
    start({ mode: 'thread' })
    const here = { text: 'x', from: 'ada', conversation: 'room', ...inRoom } as const
    await gateway.deliver({ ...here, id: 'm1', addressed: 'mention' })
    await gateway.deliver({ ...here, id: 'm2', from: 'bob', addressed: 'thread' })
    await gateway.settle()
    expect(runs).toEqual(['desk:m1', 'desk:m2'])
  })

  test('`ambient` answers nothing, by whatever name, except commands for the gateway itself', async () => {
    start({ mode: 'ambient' })
    await say('m1', { ...inRoom, addressed: 'mention' })
    await say('m2', {
      ...inRoom,
      addressed: 'command',
      command: { name: 'weather', args: '' },
      mustReplyIndividually: 'command',
    })
    expect(runs).toEqual([])
    expect(vendor.messages).toEqual([])
    expect(await fateOf('m1')).toBe('refused: ambient')
    expect(await fateOf('m2')).toBe('refused: ambient')
    await say('m3', {
      ...inRoom,
      addressed: 'command',
      command: { name: 'help', args: '' },
      mustReplyIndividually: 'command',
    })
    await say('m4', { ...inRoom, text: '/status' })
    expect(vendor.messages.map(({ text }) => text)).toEqual([
      expect.stringContaining('/stop'),
      expect.stringContaining('othing'),
    ])
    await say('m5', { room: 'dm', addressed: 'dm', conversation: 'alone' })
    expect(runs).toEqual(['desk:m5'])
  })

  test('a place has a mode of its own, by its own id alone', async () => {
    start({ mode: 'mention', rooms: { lobby: 'ambient', support: 'always' } })
    await say('m1', { ...inRoom, conversation: 'support' })
    await say('m2', { ...inRoom, conversation: 'lobby', addressed: 'mention' })
    await say('m3', { ...inRoom, conversation: 'constructor', addressed: 'none' })
    expect(runs).toEqual(['desk:m1'])
    expect(await fateOf('m2')).toBe('refused: ambient')
    expect(await fateOf('m3')).toBe('refused: not_addressed')
  })

  test('where several agents answer, the name of one is an address', async () => {
    start({}, ['desk', 'billing'])
    await say('m1', { ...inRoom, text: '@billing how much?' })
    await say('m2', { ...inRoom, text: '@bob how much?' })
    expect(runs).toEqual(['billing:m1'])
    expect(await fateOf('m2')).toBe('refused: not_addressed')
  })

  test('an edit of what nobody answered wakes nobody; its deletion erases it and makes no thread of it', async () => {
    start({ mode: 'thread' })
    await say('m1', { ...inRoom, addressed: 'thread' })
    await say('e1', { ...inRoom, addressed: 'mention', event: 'edit', target: 'm1', text: 'better words' })
    expect(await fateOf('e1')).toBe('refused: not_addressed')
    await say('d1', { ...inRoom, event: 'delete', target: 'm1' })
    const kept = nameStatement(
      'test_kept',
      `select count(*)::int as kept from inbox where message_id = 'm1' and message is not null`,
    )
    expect((await database().query<{ kept: number }>(kept, []))[0]?.kept).toBe(0)
    await say('m2', { ...inRoom, addressed: 'thread' })
    expect(runs).toEqual([])
    expect(vendor.messages).toEqual([])
    expect(await fateOf('m2')).toBe('refused: not_addressed')
  })

  test('the words of one who may not speak end for that reason, addressed or not', async () => {
    start({ mode: 'ambient' })
    gateway.stop()
    const connections = loopbackConnections(vendor.origin, { access: { mode: 'allow_list', allow: [] } })
    const agents = [defineAgent({ slug: 'desk', run: () => 'seen' })]
    gateway = createTestGateway(database(), { agents, connections })
    await say('m1', inRoom)
    expect(await fateOf('m1')).toBe('refused: not_on_allow_list')
    expect(vendor.messages).toEqual([])
  })

  test('the books balance, and the story says in plain words why nobody answered', async () => {
    start({ rooms: { lobby: 'ambient' } })
    await say('m1', inRoom)
    await say('m2', { ...inRoom, conversation: 'lobby' })
    await say('m3', { ...inRoom, addressed: 'mention' })
    const [books] = await listMessageCountsByConnection(openTenantDb(database(), 'default'))
    expect(books).toMatchObject({ received: 3, answered: 1, refused: 2, inFlight: 0, dead: 0 })
    const told = async (id: string) =>
      JSON.stringify(await explainById({ db: openTenantDb(database(), 'default'), agents: ['desk'] }, id))
    expect(await told('m1')).toContain('said in a room and not to the agent')
    expect(await told('m2')).toContain('only listens in that room')
  })
})
