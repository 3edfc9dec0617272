// `replay`: a stored message through today's code and agent. Nothing is written, nothing leaves, the difference is shown.

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AgentContext, defineAgent } from '../../src/agents/define-agent.ts'
import { textOf } from '../../src/contract/index.ts'
import { normalizedMessageSchema } from '../../src/contract/message.ts'
import { nameStatement } from '../../src/db/client.ts'
import { type ReplayReport, type ReplayRequest, replay } from '../../src/turns/replay.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

type Run = (text: string, context: AgentContext) => Promise<string> | string

const rows = nameStatement(
  'test_rows',
  'select id, message_id as "messageId", turn_id as "turnId", state from inbox order by seq',
)
/** What every table holds, down to the last column: a row that changed counts as much as one that came. */
const contents = nameStatement(
  'test_contents',
  `select tablename as name, md5(query_to_xml(format('select * from %I order by 1, 2', tablename), true, false, '')::text) as hash
   from pg_tables where schemaname = 'public' order by 1`,
)
const forget = nameStatement('test_forget', 'update inbox set message = null, raw = null, reply_to = null')
const setText = (from: string, to: string) =>
  nameStatement('test_raw', `update inbox set raw = replace(raw::text, '${from}', '${to}')::jsonb`)

describeOnDatabase('a replay', (database) => {
  let vendor: VendorStub
  const gateways: TestGateway[] = []
  const start = (run: Run, config: Parameters<typeof createTestGateway>[1] = {}): TestGateway => {
    const gateway = createTestGateway(database(), {
      agents: [defineAgent({ slug: 'demo', run: (message, context) => run(textOf(message.parts), context) })],
      connections: loopbackConnections(vendor.origin),
      ...config,
    })
    gateways.push(gateway)
    return gateway
  }
  const isOver = async () => (await inbox()).every((row) => !['queued', 'in_turn'].includes(row.state))
  const inbox = () =>
    database().query<{ id: string; messageId: string; turnId: string | null; state: string }>(rows, [])
  /** Runs the first message, or the one with this id, on a gateway with today's agent, and holds it to its word. */
  const replayed = async (
    run: Run,
    options: { id?: string; wanted?: ReplayRequest; config?: Parameters<typeof createTestGateway>[1] } = {},
  ): Promise<ReplayReport> => {
    const today = start(run, options.config)
    const before = await database().query(contents, [])
    const calls = vendor.calls.length
    const id = options.id ?? (await inbox())[0]?.id ?? ''
    try {
      return await replay(today.deps, id, options.wanted ?? { fixture: 'none' })
    } finally {
      expect(await database().query(contents, [])).toEqual(before)
      expect(vendor.calls).toHaveLength(calls)
    }
  }
  const answered = async (gateway: TestGateway, texts: readonly string[]) => {
    for (const [index, text] of texts.entries()) {
      await gateway.deliver({ id: `m${index + 1}`, from: 'ada', text })
      await settleUntil(gateway, isOver, 15_000)
    }
  }

  beforeEach(async () => {
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    for (const gateway of gateways.splice(0)) gateway.stop()
    await vendor.close()
  })

  test('of an unchanged agent shows no difference', async () => {
    const echo: Run = (text) => `re: ${text}`
    await answered(start(echo), ['hello'])
    const report = await replayed(echo)
    expect(report).toMatchObject({ isSame: true, today: { outcome: 'replied' }, notes: [] })
    expect(report.diff.every((line) => line.startsWith(' '))).toBe(true)
  })

  test('of a changed agent shows what would be sent instead, line by line', async () => {
    await answered(
      start((text) => `one\ntwo ${text}\nthree`),
      ['hello'],
    )
    const report = await replayed((text) => `one\n2 ${text}\nthree`)
    expect(report.isSame).toBe(false)
    expect(report.diff.filter((line) => !line.startsWith(' '))).toEqual(['-    two hello', '+    2 hello'])
    expect(report.diff).toContain('     three')
  })

  test('takes the id of the message, of its turn, or of a delivery', async () => {
    const echo: Run = (text) => `re: ${text}`
    await answered(start(echo), ['hello'])
    const [row] = await inbox()
    const [call] = await database().query<{ id: string }>(nameStatement('test_call', 'select id from outbox'), [])
    for (const id of [row?.turnId ?? '', call?.id ?? '']) {
      expect(await replayed(echo, { id })).toMatchObject({ isSame: true, inboxIds: [row?.id], turnId: row?.turnId })
    }
  })

  test('gives the agent the history as it stood then', async () => {
    const counting: Run = (_text, { history }) => `after ${history.length} lines`
    await answered(start(counting), ['one', 'two', 'three'])
    for (const row of await inbox()) expect(await replayed(counting, { id: row.id })).toMatchObject({ isSame: true })
  })

  test('gives merged messages together, as they were', async () => {
    const joined: Run = (text, { members }) => `${members.length}: ${text}`
    const gateway = start(joined)
    for (const id of ['m1', 'm2']) await gateway.deliver({ id, from: 'ada', text: id })
    await settleUntil(gateway, isOver, 15_000)
    expect(await replayed(joined)).toMatchObject({ isSame: true, inboxIds: (await inbox()).map((row) => row.id) })
  })

  describe('of a turn with steps', () => {
    let rolls = 0
    const roll: Run = async (text, { step }) => `${text}: ${await step('roll', async () => (rolls += 1))}`

    test('answers them from the journal and runs none again', async () => {
      await answered(start(roll), ['dice'])
      const before = rolls
      const report = await replayed(roll)
      expect(report).toMatchObject({ isSame: true, steps: { replayed: ['roll'], wouldRun: [], unused: [] } })
      expect(rolls).toBe(before)
    })

    test('stops at a step that was never recorded, says which, and lets no agent answer past it', async () => {
      await answered(start(roll), ['dice'])
      let isRun = false
      const report = await replayed(async (text, context) => {
        const first = await roll(text, context)
        const paid = await context
          .step('pay', async () => {
            isRun = true
            return 'paid'
          })
          .catch(() => 'not paid')
        return `${first} ${paid}`
      })
      expect(isRun).toBe(false)
      expect(report).toMatchObject({
        isSame: false,
        today: { outcome: 'stopped', calls: [] },
        steps: { replayed: ['roll'], wouldRun: ['pay'] },
      })
      expect(report.today.reason).toContain('would run: pay')
    })

    test('takes the same step with other arguments for another one', async () => {
      const weigh =
        (args: number): Run =>
        async (text, { step }) =>
          `${text} ${await step('weigh', async () => args, { args })}`
      await answered(start(weigh(1)), ['tea'])
      const report = await replayed(weigh(2))
      expect(report.today.reason).toContain('with other arguments only')
      expect(report.steps.wouldRun).toHaveLength(1)
    })

    test('finds what the merged turn had done before it was split', async () => {
      const once: Run = async (text, { step, members }) => {
        const paid = await step('pay', async () => 'paid', { args: members.at(0)?.id ?? '' })
        if (members.length > 1) throw new Error('too many at once')
        return `${text} ${paid}`
      }
      const gateway = start(once)
      for (const id of ['m1', 'm2']) await gateway.deliver({ id, from: 'ada', text: id })
      await settleUntil(gateway, isOver, 15_000)
      const [first] = await inbox()
      expect(await replayed(once, { id: first?.id ?? '' })).toMatchObject({ isSame: true, steps: { wouldRun: [] } })
    })

    test('names steps that today nobody asks for', async () => {
      await answered(start(roll), ['dice'])
      expect(await replayed((text) => text)).toMatchObject({ isSame: false, steps: { replayed: [], unused: ['roll'] } })
    })

    test('repeats a step that failed as failed', async () => {
      const failing: Run = async (_text, { step }) =>
        step('pay', async () => Promise.reject(new Error('no money'))).catch(() => 'could not pay')
      await answered(start(failing), ['pay'])
      expect(await replayed(failing)).toMatchObject({ isSame: true, steps: { replayed: ['pay'] } })
    })
  })

  test('of a dead turn: the same failure is no difference, a mended agent shows its answer', async () => {
    const broken: Run = () => Promise.reject(new Error('broken'))
    await answered(start(broken), ['hello'])
    expect(await replayed(broken)).toMatchObject({ isSame: true, today: { outcome: 'dead', reason: 'agent_failed' } })
    const mended = await replayed((text) => `re: ${text}`)
    expect(mended).toMatchObject({ isSame: false, before: { outcome: 'dead' }, today: { outcome: 'replied' } })
    expect(mended.diff).toContain('+replied')
  })

  test('of a refused message tells what today’s access rule makes of it', async () => {
    const closed = loopbackConnections(vendor.origin, { access: { mode: 'allow_list', allow: ['loopback:bob'] } })
    const echo: Run = (text) => `re: ${text}`
    await answered(start(echo, { connections: closed }), ['hello'])
    expect(await replayed(echo, { config: { connections: closed } })).toMatchObject({
      isSame: true,
      today: { outcome: 'refused' },
    })
    expect(await replayed(echo)).toMatchObject({ before: { outcome: 'refused' }, today: { outcome: 'replied' } })
  })

  test('of what could not be read shows what today’s code reads in it', async () => {
    const gateway = start((text) => `re: ${text}`)
    await gateway.deliver({ id: 'm1', from: 'not a name!' as string, text: 'hello' })
    expect(await replayed((text) => `re: ${text}`)).toMatchObject({
      isSame: true,
      today: { outcome: 'dead', reason: 'invalid_event' },
    })
    await database().query(setText('not a name!', 'ada'), [])
    expect(await replayed((text) => `re: ${text}`)).toMatchObject({
      before: { outcome: 'dead' },
      today: { outcome: 'replied' },
    })
  })

  test('reads the stored original, and says so when it reads differently from what was stored', async () => {
    const echo: Run = (text) => `re: ${text}`
    await answered(start(echo), ['hello'])
    await database().query(setText('hello', 'goodbye'), [])
    const report = await replayed(echo)
    expect(report.diff).toEqual(expect.arrayContaining(['-  text: re: hello', '+  text: re: goodbye']))
    expect(report.notes).toEqual([expect.stringContaining('read differently today: parts')])
  })

  test('uses the stored message where secrets were taken out of its original', async () => {
    const echo: Run = (text) => `re: ${text}`
    await answered(start(echo), ['my key is Bearer abcdefghijklmnop'])
    expect(await replayed(echo)).toMatchObject({
      isSame: true,
      notes: [expect.stringContaining('without some of its content')],
    })
  })

  test('names the timers that would be set', async () => {
    const remind =
      (name: string): Run =>
      (_text, { schedule }) => {
        schedule(name, 60_000, {})
        return 'later'
      }
    await answered(start(remind('tea')), ['hello'])
    expect(await replayed(remind('tea'))).toMatchObject({ isSame: true })
    expect((await replayed(remind('coffee'))).diff).toEqual(expect.arrayContaining(['-timer tea', '+timer coffee']))
  })

  test('is refused once the content was erased, and for an id nobody has', async () => {
    const echo: Run = (text) => `re: ${text}`
    await answered(start(echo), ['hello'])
    await database().query(forget, [])
    await expect(replayed(echo)).rejects.toMatchObject({ code: 'content_erased' })
    await expect(replayed(echo, { id: '0192f1c2-7d5e-7abc-8def-0123456789ab' })).rejects.toMatchObject({
      code: 'not_found',
    })
  })

  test('is refused where the connection is not configured', async () => {
    const echo: Run = (text) => `re: ${text}`
    await answered(start(echo), ['hello'])
    await expect(replayed(echo, { config: { connections: [] } })).rejects.toMatchObject({ code: 'conflict' })
  })

  describe('as a fixture', () => {
    const secretText = 'Hello, I am Ada Lovelace (ada), call 0171 2345678; Bearer abcdefghijklmnop'
    const echo: Run = async (text, { step }) =>
      `re ${await step('look up', async () => ({ name: 'Ada', text }))}: ${text}`
    const saved = async (fixture: ReplayRequest['fixture']) => {
      await answered(start(echo), ['first words', secretText])
      const [, second] = await inbox()
      return (await replayed(echo, { id: second?.id ?? '', wanted: { fixture } })).fixture
    }

    test('holds valid messages in which nobody’s name, id or words are left', async () => {
      const fixture = await saved('cleaned')
      for (const message of fixture?.messages ?? []) expect(() => normalizedMessageSchema.parse(message)).not.toThrow()
      expect(fixture).toMatchObject({ v: 1, channel: 'loopback-client-id', agent: 'demo' })
      expect(fixture?.history).toHaveLength(2)
      const text = JSON.stringify(fixture)
      for (const trace of ['ada', 'Lovelace', 'Hello', '0171', '2345678', 'abcdefghijklmnop', 'first words', 'm2'])
        expect(text.toLowerCase()).not.toContain(trace.toLowerCase())
      expect(textOf(fixture?.messages[0]?.parts ?? [])).toHaveLength(secretText.length)
    })

    test('keeps the texts when asked to, less names, ids and secrets', async () => {
      const text = JSON.stringify(await saved('with_text'))
      expect(text).toContain('Hello, I am')
      for (const trace of ['abcdefghijklmnop', 'loopback:ada', '"ada"', '(ada)']) expect(text).not.toContain(trace)
    })

    test('is not made unless asked for', async () => {
      expect(await saved('none')).toBeUndefined()
    })
  })
})
