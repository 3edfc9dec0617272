// Hops 5-7 through the real gateway: who is heard, in what order, merged with whom, and what a failure costs.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentDefinition, defineAgent } from '../../src/agents/define-agent.ts'
import { type NormalizedMessage, textOf } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { listEndedMessages, listMessageCountsByConnection, resubmitMessage } from '../../src/db/receipts.ts'
import { GatewayError } from '../../src/lib/errors.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const fates = nameStatement('test_fates', 'select message_id as id, state, reason from inbox order by seq')
const transcript = nameStatement(
  'test_transcript',
  `select role, envelope ->> 'content' as content, envelope -> 'metadata' ->> 'amends' as amends,
     envelope -> 'metadata' -> 'deleted' as deleted
   from messages order by session_id, seq`,
)

describeOnDatabase('a turn', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  const seen: NormalizedMessage[] = []
  const start = (run: AgentDefinition['run'], changes: Parameters<typeof createTestGateway>[1] = {}) => {
    gateway = createTestGateway(database(), {
      agents: [defineAgent({ slug: 'demo', run })],
      connections: loopbackConnections(vendor.origin),
      ...changes,
    })
    return gateway
  }
  const echo: AgentDefinition['run'] = (message) => {
    seen.push(message)
    return `re: ${textOf(message.parts)}`
  }
  const fate = async () =>
    Object.fromEntries(
      (await database().query<{ id: string; state: string; reason: string | null }>(fates, [])).map(
        ({ id, state, reason }) => [id, reason === null ? state : `${state}(${reason})`],
      ),
    )

  beforeEach(async () => {
    seen.length = 0
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    gateway.stop()
    expect(vendor.unexpected).toEqual([])
    await vendor.close()
  })

  test('answers a message once, and a redelivery of it not at all', async () => {
    start(echo)
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'hello' })
    await gateway.settle()
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'hello' })
    await gateway.settle()
    expect(vendor.messages.map((message) => message.text)).toEqual(['re: hello'])
    expect(await fate()).toEqual({ m1: 'answered' })
  })

  test('merges what one person said while the agent was busy, in order, and answers it once', async () => {
    start(echo)
    for (const id of ['m1', 'm2', 'm3']) await gateway.deliver({ id, from: 'ada', text: id })
    await gateway.settle()
    expect(vendor.messages.map((message) => message.text)).toEqual(['re: m1\nm2\nm3'])
    expect(await fate()).toEqual({ m1: 'merged', m2: 'merged', m3: 'answered' })
    const lines = await database().query<{ content: string }>(transcript, [])
    expect(lines.map((line) => line.content)).toEqual(['m1', 'm2', 'm3', 're: m1\nm2\nm3'])
  })

  test('never merges two people, a command, or more than the cap', async () => {
    start(echo, { turns: { merge: { maxMessages: 2, maxBytes: 65_536 } } })
    await gateway.deliver({ id: 'a1', from: 'ada', text: 'a1' })
    await gateway.deliver({ id: 'b1', from: 'bob', text: 'b1' })
    await gateway.deliver({ id: 'a2', from: 'ada', text: 'a2' })
    await gateway.deliver({ id: 'c1', from: 'ada', text: '/c1', mustReplyIndividually: 'command' })
    for (const id of ['a3', 'a4', 'a5']) await gateway.deliver({ id, from: 'ada', text: id })
    await gateway.settle()
    expect(seen.map((message) => textOf(message.parts))).toEqual(['a1', 'b1', 'a2', '/c1', 'a3\na4', 'a5'])
  })

  test('keeps the evidence of every merged message', async () => {
    const subjects: string[][] = []
    start((_message, { members }) => {
      subjects.push(members.map((member) => member.sender.identities?.[0]?.subject ?? ''))
      return 'ok'
    })
    for (const id of ['m1', 'm2']) await gateway.deliver({ id, from: 'ada', text: id })
    await gateway.settle()
    expect(subjects).toEqual([['loopback:ada', 'loopback:ada']])
  })

  test('refuses whom the connection does not admit, before anything is merged', async () => {
    const access = { mode: 'allow_list', allow: ['loopback:ada'] } as const
    start(echo, { connections: loopbackConnections(vendor.origin, { access }) })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'm1' })
    await gateway.deliver({ id: 'm2', from: 'mallory', text: 'm2' })
    await gateway.deliver({ id: 'm3', from: 'ada', text: 'm3' })
    await gateway.settle()
    expect(seen.map((message) => textOf(message.parts))).toEqual(['m1\nm3'])
    expect(await fate()).toEqual({ m1: 'merged', m2: 'refused(not_on_allow_list)', m3: 'answered' })
  })

  test('lets only the poison die: its neighbours are answered one by one', async () => {
    start((message) => {
      if (textOf(message.parts).includes('poison')) throw new Error('poisoned')
      return echo(message, undefined as never)
    })
    for (const text of ['one', 'poison', 'two']) await gateway.deliver({ id: text, from: 'ada', text })
    await settleUntil(gateway, async () => !Object.values(await fate()).some((state) => /queued|in_turn/.test(state)))
    expect(await fate()).toEqual({ one: 'answered', poison: 'dead(agent_failed)', two: 'answered' })
    const texts = vendor.messages.map((message) => message.text)
    expect(texts[0]).toBe('re: one')
    expect(texts[1]).toContain('Sorry')
    expect(texts[2]).toBe('re: two')
  })

  test('runs a journaled step once although its turn fails twice after it', async () => {
    let effects = 0
    let tries = 0
    start(async (_message, { step }) => {
      const value = await step('effect', async () => (effects += 1))
      tries += 1
      if (tries < 3) throw new Error('later')
      return `done ${value}`
    })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'go' })
    await settleUntil(gateway, () => vendor.messages.length > 0)
    expect({ effects, tries, said: vendor.messages[0]?.text }).toEqual({ effects: 1, tries: 3, said: 'done 1' })
  })

  test('does not repeat a step of a merged turn that fails: it dies as a whole', async () => {
    const effects: string[] = []
    start(async (message, { step }) => {
      await step('effect', async () => effects.push(textOf(message.parts)))
      if (textOf(message.parts).includes('poison')) throw new Error('poisoned')
      return 'ok'
    })
    for (const text of ['one', 'poison', 'two']) await gateway.deliver({ id: text, from: 'ada', text })
    await settleUntil(gateway, async () => !Object.values(await fate()).some((state) => /queued|in_turn/.test(state)))
    expect(effects).toEqual(['one\npoison\ntwo'])
  })

  test('retries an outage of the provider by time, and does not count it as failure', async () => {
    let tries = 0
    start(() => {
      tries += 1
      if (tries < 8) throw new GatewayError('provider_unavailable', 'the model does not answer', { retryable: true })
      return 'back'
    })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'go' })
    await settleUntil(gateway, () => vendor.messages.length > 0)
    expect(await fate()).toEqual({ m1: 'answered' })
  })

  test('can queue a dead message again, with its steps remembered', async () => {
    let isBroken = true
    let effects = 0
    start(async (_message, { step }) => {
      await step('effect', async () => (effects += 1))
      if (isBroken) throw new Error('broken')
      return 'fixed'
    })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'go' })
    await settleUntil(gateway, async () => (await fate())['m1'] === 'dead(agent_failed)')
    isBroken = false
    const [dead] = await listEndedMessages(gateway.deps.db, 'dead', { limit: 10 })
    expect(await resubmitMessage(gateway.deps.db, dead?.id ?? '', 'operator:test')).toBe(true)
    await settleUntil(gateway, async () => (await fate())['m1'] === 'answered')
    expect(effects).toBe(1)
    expect(vendor.messages.at(-1)?.text).toBe('fixed')
  })

  test('keeps an arrival nobody could read, and reads it again when asked to', async () => {
    start(echo)
    const unreadable = { id: 'm1', from: 'ada', text: 'hello', event: 'from the future' }
    const received = await gateway.deliver(unreadable as never)
    expect(received).toMatchObject({ kind: 'unreadable', acceptances: [{ kind: 'accepted' }] })
    const [dead] = await listEndedMessages(gateway.deps.db, 'dead', { limit: 10 })
    expect(await gateway.gateway.resubmit(dead?.id ?? '', 'operator:test')).toBe(false)
    // Stands for a release that understands the event: what was kept now reads as a plain message.
    const understood = nameStatement(
      'test_upgrade',
      `update inbox set raw = replace(raw::text, 'from the future', 'new')::jsonb`,
    )
    await database().query(understood, [])
    expect(await gateway.gateway.resubmit(dead?.id ?? '', 'operator:test')).toBe(true)
    await gateway.settle()
    expect(vendor.messages.map((message) => message.text)).toEqual(['re: hello'])
    expect(await gateway.gateway.resubmit(dead?.id ?? '', 'operator:test')).toBe(false)
    expect(await listMessageCountsByConnection(gateway.deps.db)).toMatchObject([
      { received: 1, answered: 1, dead: 0, ignored: 1 },
    ])
  })

  test("amends a waiting message by its author's edit, and withdraws it by his delete", async () => {
    start(echo)
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'helo' })
    await gateway.deliver({ id: 'e1', from: 'ada', text: 'hello', event: 'edit', target: 'm1' })
    await gateway.deliver({ id: 'm2', from: 'ada', text: 'secret' })
    await gateway.deliver({ id: 'd2', from: 'ada', text: '', event: 'delete', target: 'm2' })
    await gateway.settle()
    expect(vendor.messages.map((message) => message.text)).toEqual(['re: hello'])
    expect(await fate()).toEqual({
      m1: 'answered',
      e1: 'merged',
      m2: 'refused(withdrawn)',
      d2: 'refused(withdrew_a_waiting_message)',
    })
  })

  test('records an edit of an answered message in the transcript and answers nothing', async () => {
    start(echo)
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'helo' })
    await gateway.settle()
    await gateway.deliver({ id: 'e1', from: 'ada', text: 'hello', event: 'edit', target: 'm1' })
    await gateway.settle()
    expect(vendor.messages).toHaveLength(1)
    expect(await fate()).toEqual({ m1: 'answered', e1: 'merged(amendment)' })
    expect(await database().query(transcript, [])).toMatchObject([
      { content: 'helo' },
      { content: 're: helo' },
      { content: 'hello', amends: 'm1' },
    ])
  })

  test('leaves row and place of a deleted message, and nothing of what it said', async () => {
    start(echo)
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'secret' })
    await gateway.settle()
    await gateway.deliver({ id: 'd1', from: 'ada', text: '', event: 'delete', target: 'm1' })
    await gateway.settle()
    const lines = await database().query<{ content: string; deleted: boolean | null }>(transcript, [])
    expect(lines[0]).toMatchObject({ content: '', deleted: true })
    expect(lines).toHaveLength(3)
  })

  test('believes an edit only from the author of the original', async () => {
    start(echo)
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'mine' })
    await gateway.deliver({ id: 'e1', from: 'mallory', text: 'yours', event: 'edit', target: 'm1' })
    await gateway.settle()
    expect(vendor.messages.map((message) => message.text)).toEqual(['re: mine'])
    expect((await fate())['e1']).toBe('refused(not_the_author)')
  })

  test('keeps a tombstone for a delete that overtook its message', async () => {
    start(echo)
    await gateway.deliver({ id: 'd1', from: 'ada', text: '', event: 'delete', target: 'm1' })
    await gateway.settle()
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'too late' })
    await gateway.settle()
    expect(seen).toEqual([])
    expect(await fate()).toEqual({ d1: 'refused(unknown_target)', m1: 'refused(withdrawn)' })
  })

  test('starts a new session on command and after a long silence', async () => {
    const turns: number[] = []
    start(
      (_message, { history }) => {
        turns.push(history.length)
        return 'ok'
      },
      { turns: { rotateAfterIdleMs: 60_000 } },
    )
    const say = async (id: string, command?: string) => {
      await gateway.deliver({
        id,
        from: 'ada',
        text: id,
        ...(command === undefined ? {} : { command: { name: command, args: '' }, mustReplyIndividually: 'command' }),
      })
      await gateway.settle()
    }
    await say('m1')
    await say('m2')
    await say('reset', 'new')
    expect(vendor.messages.at(-1)?.text).toContain('new session')
    await say('m3')
    await database().query(
      nameStatement('test_idle', "update conversations set last_activity_at = now() - interval '1 hour'"),
      [],
    )
    await say('m4')
    // The command's own exchange is the first line pair of its session.
    expect(turns).toEqual([0, 2, 2, 0])
  })

  test('wakes a conversation by a timer the agent set', async () => {
    gateway = createTestGateway(database(), {
      agents: [
        defineAgent({
          slug: 'demo',
          run(_message, { schedule }) {
            schedule('tea', 20, { text: 'tea is ready' })
            return 'set'
          },
          onSignal: ({ payload }) => String(payload['text']),
        }),
      ],
      connections: loopbackConnections(vendor.origin),
    })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'tea' })
    await settleUntil(gateway, () => vendor.messages.length === 2)
    expect(vendor.messages.map((message) => message.text)).toEqual(['set', 'tea is ready'])
  })

  test('says nothing when the agent says nothing, and the books know why', async () => {
    start(() => undefined)
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'hello' })
    await gateway.settle()
    expect(vendor.messages).toEqual([])
    expect(await fate()).toEqual({ m1: 'refused(silent)' })
  })
})
