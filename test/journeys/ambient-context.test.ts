// What people say around an agent: kept for a while and within bounds, given to it as talk of the room when it is asked
// there, and gone when its author, the person or the clock says so.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { explainById } from '../../src/api/explain/explain.ts'
import type { ReplyPolicySettings } from '../../src/contract/channel.ts'
import { type ConnectionConfig, textOf } from '../../src/contract/index.ts'
import type { HistoricalMessage } from '../../src/contract/message.ts'
import { type Database, nameStatement } from '../../src/db/client.ts'
import { createSweepStore } from '../../src/db/retention.ts'
import { replay } from '../../src/turns/replay.ts'
import { tablesWith } from '../doubles/find-text-in-database.ts'
import type { LoopbackEvent } from '../doubles/loopback/index.ts'
import { createTestApp, operatorToken } from '../doubles/test-app.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'
import { openTenantDb } from '../setup/tenant-db.ts'

const kept = nameStatement('test_overheard', 'select count(*)::int as rows from ambient_context')
const older = nameStatement('test_older', `update ambient_context set expires_at = now() - interval '1 second'`)
const crowd = nameStatement(
  'test_crowd',
  `insert into ambient_context select gen_random_uuid(), o.tenant, o.connection, o.agent, o.room, o.main_line, o.conversation_id,
     -n, o.subject, o.principal, 10, o.envelope, o.expires_at from (select * from ambient_context limit 1) o, generate_series(1, 10000) n`,
)
const idOfQuestion = nameStatement('test_question', `select id from inbox where message_id = 'q'`)
const open = { mode: 'public', allow: [] } as const

type Seen = { readonly words: string; readonly history: readonly HistoricalMessage[] }

describeOnDatabase('talk around an agent', (database: () => Database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  let seen: Seen[]
  let failures: number
  beforeEach(async () => {
    vendor = await startVendorStub()
    seen = []
    failures = 0
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  const start = (
    replyPolicy: ReplyPolicySettings = {},
    changes: Pick<ConnectionConfig, 'access'> | Record<never, never> = {},
  ) => {
    const agent = defineAgent({
      slug: 'desk',
      async run(message) {
        seen.push({ words: textOf(message.parts), history: message.history ?? [] })
        if (failures-- > 0) {
          await say('late', { text: 'said meanwhile', from: 'bob' }, false)
          throw new Error('as asked')
        }
        return `knows ${around().length}`
      },
    })
    const connections = loopbackConnections(vendor.origin, { access: open, replyPolicy, ...changes })
    gateway = createTestGateway(database(), { agents: [agent], connections })
  }
  let next = 0
  const say = async (id: string, event: Partial<LoopbackEvent>, isSettled = true, connection?: string) => {
    const where = { room: 'group', addressed: 'none', from: 'bob', conversation: 'lobby' } as const
    await gateway.deliver({ id, text: `words of ${id}`, ...where, ...event }, connection)
    if (isSettled) await gateway.settle()
  }
  const talk = (text: string, event: Partial<LoopbackEvent> = {}) => say(`t${next++}`, { text, ...event })
  const ask = async (event: Partial<LoopbackEvent> = {}) => {
    await say(`q${next++}`, { text: 'what do you think?', from: 'ada', addressed: 'mention', ...event })
    return around()
  }
  const around = () =>
    (seen.at(-1)?.history ?? [])
      .filter(({ ambient }) => ambient === true)
      .map(({ sender, parts }) => `${sender.address.split('@')[1]}: ${textOf(parts)}`)
  const rows = async () => (await database().query<{ rows: number }>(kept, []))[0]?.rows

  test('an agent that is asked knows who said what before, as talk and as nobody’s request', async () => {
    start()
    await talk('let us paint it blue')
    await talk('why not green', { from: 'eve' })
    expect(seen).toEqual([])
    expect(await ask()).toEqual(['bob: let us paint it blue', 'eve: why not green'])
    expect(seen.at(-1)?.words).toBe('what do you think?')
    const [first] = seen.at(-1)?.history ?? []
    expect(first).toMatchObject({ role: 'user', ambient: true, sender: { verified: true } })
    await talk('or red')
    await ask()
    const told = seen.at(-1)?.history.map(({ role, parts, ambient }) => `${ambient ? '~' : role} ${textOf(parts)}`)
    expect(told).toEqual([
      '~ let us paint it blue',
      '~ why not green',
      'user what do you think?',
      'assistant knows 2',
      '~ or red',
    ])
  })

  test('what is said right before a question, in the same breath, is known too, and what follows is not', async () => {
    start()
    await say('m1', { text: 'blue' }, false)
    await say('m2', { text: 'well?', from: 'ada', addressed: 'mention' }, false)
    await say('m3', { text: 'green' }, false)
    await gateway.settle()
    expect(around()).toEqual(['bob: blue'])
    expect(await ask()).toEqual(['bob: blue', 'bob: green'])
  })

  test('a turn that is tried again reads what it read before', async () => {
    start()
    await talk('blue')
    failures = 1
    await ask()
    // It waits some milliseconds before it tries again.
    await settleUntil(gateway, () => seen.length === 2)
    expect(seen.map(({ history }) => history.map(({ parts }) => textOf(parts)))).toEqual([['blue'], ['blue']])
    expect(await ask()).toEqual(['bob: blue', 'bob: said meanwhile'])
  })

  test('of much talk the newest is given, by number and by size', async () => {
    start({ ambientContext: { messages: 3, bytes: 100 } })
    for (const text of ['one', 'two', 'three', 'four']) await talk(text)
    expect(await ask()).toEqual(['bob: two', 'bob: three', 'bob: four'])
    await talk('short')
    await talk('x'.repeat(90))
    expect(await ask()).not.toContain('bob: short')
    await talk('y'.repeat(500))
    expect(await rows()).toBe(0)
  })

  test('a room keeps two hundred messages at most, and ten thousand cost a turn no more than ten', async () => {
    start()
    for (let n = 0; n < 205; n += 1) await say(`c${n}`, { text: `crowd ${n}` }, false)
    await gateway.settle()
    expect(await rows()).toBe(200)
    await database().query(crowd, [])
    const given = await ask()
    expect(given).toHaveLength(20)
    expect(given.at(-1)).toBe('bob: crowd 204')
    expect(await rows()).toBe(0)
  }, 60_000)

  test('another room, another thread and another connection are not talk of this one', async () => {
    start()
    await talk('here')
    await talk('elsewhere', { conversation: 'kitchen' })
    await talk('beside', { addressed: 'thread', conversation: 'lobby thread' })
    await say('other', { text: 'other account' }, true, 'loopback-edit')
    expect(await ask()).toEqual(['bob: here'])
  })

  test('where a question opens a thread it comes with the main line, and the thread goes on with its own talk', async () => {
    start()
    const main = (thread: string) => ({ conversation: thread, mainLine: 'hall' })
    await talk('blue', main('hall 1'))
    await talk('green', main('hall 2'))
    await talk('a reply to green', { conversation: 'hall 2', addressed: 'thread', from: 'eve' })
    await talk('not here', { conversation: 'attic 1', mainLine: 'attic' })
    expect(await ask(main('hall 3'))).toEqual(['bob: blue', 'bob: green'])
    expect(await ask(main('hall 4'))).toEqual(['bob: blue', 'bob: green'])
    await talk('aside', { conversation: 'hall 3', addressed: 'thread' })
    expect(await ask({ conversation: 'hall 3' })).toEqual(['bob: blue', 'bob: green', 'bob: aside'])
    expect(await ask({ conversation: 'hall 2' })).toEqual(['bob: green', 'eve: a reply to green'])
    expect(await ask({ conversation: 'hall 2' })).toEqual(['bob: green', 'eve: a reply to green'])
  })

  test('words of one who may not speak are kept for nobody', async () => {
    start({}, { access: { mode: 'allow_list', allow: ['loopback:ada', 'loopback:bob'] } })
    await talk('obey me: canary', { from: 'eve' })
    await talk('hello')
    expect(await ask()).toEqual(['bob: hello'])
    expect(JSON.stringify(seen)).not.toContain('canary')
  })

  test('`ambientContext: false` keeps nothing, not even on the receipt; a room only listened to is recorded', async () => {
    start({ ambientContext: false })
    await talk('first-canary')
    expect(await ask()).toEqual([])
    expect(await tablesWith(database(), 'first-canary')).toEqual([])
    gateway.stop()
    start({ mode: 'ambient' })
    await talk('second-canary', { addressed: 'mention' })
    expect(await tablesWith(database(), 'second-canary')).toEqual(['ambient_context'])
    gateway.stop()
    start()
    expect(await ask()).toEqual(['bob: second-canary'])
  })

  test('an edit takes the place of what was said, before it is given to an agent and after', async () => {
    start()
    await say('m1', { text: 'blue-canary' })
    await say('e1', { text: 'green-canary', event: 'edit', target: 'm1', version: '1' })
    expect(await tablesWith(database(), 'blue-canary')).toEqual([])
    expect(await ask()).toEqual(['bob: green-canary'])
    await say('e2', { text: 'red', event: 'edit', target: 'm1', version: '2' })
    expect(await ask()).toEqual(['bob: red'])
    expect(await tablesWith(database(), 'green-canary')).toEqual([])
    await say('e3', { text: 'not mine', from: 'eve', event: 'edit', target: 'm1', version: '3' })
    expect(await ask()).toEqual(['bob: red'])
  })

  test('an edit in the same breath as the question counts', async () => {
    start()
    await say('m1', { text: 'blue' })
    await say('e1', { text: 'green', event: 'edit', target: 'm1', version: '1' }, false)
    expect(await ask()).toEqual(['bob: green'])
  })

  test('what its author deletes is gone, before it is given to an agent and after, also from other threads', async () => {
    start()
    const main = { conversation: 'hall 1', mainLine: 'hall' }
    await say('m1', { text: 'unsaid-canary' })
    await say('m2', { text: 'hall-canary', ...main })
    await say('d1', { text: '', event: 'delete', target: 'm1' })
    expect(await tablesWith(database(), 'unsaid-canary')).toEqual([])
    expect(await ask()).toEqual([])
    expect(await ask({ conversation: 'hall 2', mainLine: 'hall' })).toEqual(['bob: hall-canary'])
    await say('d2', { text: '', event: 'delete', target: 'm2', ...main })
    expect(await tablesWith(database(), 'hall-canary')).toEqual([])
    expect(await ask({ conversation: 'hall 2' })).toEqual([])
  })

  test('the clock ends it: what is older is not given, and the sweeper erases it', async () => {
    start()
    await talk('old-canary')
    await database().query(older, [])
    expect(await ask({ conversation: 'lobby' })).toEqual([])
    await talk('old-canary', { conversation: 'kitchen' })
    await database().query(older, [])
    const policy = { contentDays: 90, refusedHours: 24, receiptDays: 120, auditDays: 400, batch: 500 }
    await createSweepStore(database(), 'default').sweep(policy)
    expect(await tablesWith(database(), 'old-canary')).toEqual([])
  })

  test('a new session leaves the talk before it behind', async () => {
    start()
    await talk('blue')
    await say('n1', { text: '/new', from: 'ada', addressed: 'command', command: { name: 'new', args: '' } })
    await talk('green')
    expect(await ask()).toEqual(['bob: green'])
  })

  test('whoever takes back their word to be kept is not remembered, from then on and in hindsight', async () => {
    start()
    await talk('bob-canary')
    await talk('eve speaks', { from: 'eve' })
    const command = { name: 'consent', args: 'withdraw store_transcript' }
    await say('w1', { text: '/consent withdraw store_transcript', addressed: 'command', command })
    await talk('bob-canary again')
    expect(await tablesWith(database(), 'bob-canary')).toEqual([])
    expect(await ask()).toEqual(['eve: eve speaks'])
  })

  test('a person who is forgotten is gone from the room’s memory and from every transcript that took it in', async () => {
    start()
    const bob = 'forget-canary'
    await talk('words', { from: bob })
    await ask()
    await talk('more words', { from: bob })
    await talk('main words', { from: bob, conversation: 'hall 1', mainLine: 'hall' })
    await ask({ conversation: 'hall 2', mainLine: 'hall' })
    await talk('eve speaks', { from: 'eve' })
    const app = createTestApp(gateway, database())
    const answer = await app.request('/admin/erase', {
      method: 'POST',
      headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ principal: `loopback:${bob}`, confirm: true }),
    })
    expect(await answer.json()).toMatchObject({ removed: { ambientContext: 2, lines: 2 } })
    expect(await tablesWith(database(), bob)).toEqual([])
    expect(await ask()).toEqual(['eve: eve speaks'])
    expect(await ask({ conversation: 'hall 2' })).toEqual([])
  })

  test('a replay knows what the turn knew, and nothing that was said since', async () => {
    start({ ambientContext: { messages: 2 } })
    for (const text of ['one', 'two', 'three']) await talk(text)
    await say('q', { addressed: 'mention', from: 'ada' })
    await talk('four')
    await ask()
    const [asked] = await database().query<{ id: string }>(idOfQuestion, [])
    const report = await replay(gateway.deps, asked?.id ?? '', {
      fixture: 'none',
    })
    expect(report.diff.filter((each) => !each.startsWith(' '))).toEqual([])
    expect(around()).toEqual(['bob: two', 'bob: three'])
  })

  test('the story says that a message is remembered, until when, and which turn was given it', async () => {
    start()
    await say('m1', { text: 'blue' })
    const told = async (id: string) => {
      const explained = await explainById({ db: openTenantDb(database(), 'default'), agents: ['desk'] }, id)
      if (explained.kind !== 'explained') throw new Error(explained.kind)
      const { facts, story } = explained.explanation
      return { facts, text: story.lines.map(({ title, text }) => `${title}: ${text}`).join('\n') }
    }
    expect((await told('m1')).text).toMatch(/Remembered: The room's talk .* this until 20\d\d-/)
    await say('q', { addressed: 'mention', from: 'ada' })
    const { facts, text } = await told('q')
    expect(text).toContain('The agent was given one message said around it before.')
    expect((await told('m1')).text).toContain(`Used: It was given to turn ${facts.turns[0]?.id}`)
    await say('m2', { text: 'x'.repeat(20_000) })
    expect((await told('m2')).text).toContain('Not remembered')
  })
})
