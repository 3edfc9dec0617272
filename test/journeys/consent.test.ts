// Consent through the whole gateway: what may be kept, for how long, and what needs a person's word first.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import type { ParleyConfig } from '../../src/config.ts'
import { type ChannelDefinition, type ConnectionConfig, textOf } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { listMessageCountsByConnection } from '../../src/db/receipts.ts'
import { createSweepStore } from '../../src/db/retention.ts'
import { type AtWork, putToWork, until } from '../doubles/background-gateway.ts'
import { tablesWith } from '../doubles/find-text-in-database.ts'
import { type LoopbackEvent, loopbackClientId } from '../doubles/loopback/index.ts'
import { createTestApp, operatorToken } from '../doubles/test-app.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const basis = 'the contract of support, clause 4'
const decisions = nameStatement(
  'test_decisions',
  `select c.operation, c.is_allowed as "isAllowed", c.reason, s.is_retained as "isKept" from sessions s
   join consents c on c.id = s.consent_id join conversations v on v.id = s.conversation_id
   where v.external_id not like '%control%' order by s.created_at`,
)
const sessionIds = nameStatement(
  'test_session_ids',
  `select s.id from sessions s join conversations v on v.id = s.conversation_id
   where v.external_id not like '%control%' order by s.created_at`,
)
const words = nameStatement(
  'test_words',
  'select operation, is_allowed as "isAllowed", subject from consents where subject is not null order by created_at',
)
const acts = nameStatement(
  'test_acts',
  `select a.action, a.outcome, a.code, a.actor from audit_log a where a.action like 'session.%' order by a.seq`,
)
const overdue = nameStatement(
  'test_overdue',
  `update sessions set expires_at = now() - interval '1 second' where not is_retained`,
)
const expiries = nameStatement(
  'test_expiries',
  `select status, expires_at > now() + interval '1 hour' as "isLater" from sessions s
   join conversations v on v.id = s.conversation_id where v.external_id not like '%control%'`,
)
const weekMs = 7 * 24 * 3_600_000

describeOnDatabase('consent', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  let work: AtWork
  const heard: string[] = []
  const start = (
    changes: Pick<ConnectionConfig, 'consent' | 'access'> | Record<never, never> = {},
    config: ParleyConfig = {},
    channels: readonly ChannelDefinition[] = [loopbackClientId],
  ) => {
    const agent = defineAgent({
      slug: 'demo',
      async run(message, { step, show, pause, history }) {
        const said = textOf(message.parts)
        heard.push(`${said} after ${history.length}`)
        if (said === 'ask me')
          return (await pause.approval({ summary: 'do it', apply_input: {}, preview: {} })).question
        show(said)
        return `re: ${await step('look', async () => `found ${said}`)}`
      },
    })
    const connections = loopbackConnections(vendor.origin, changes).slice(0, 1)
    gateway = createTestGateway(database(), { agents: [agent], connections, ...config }, {}, channels)
    work = putToWork(gateway)
  }
  let count = 0
  const say = async (text: string, more: Partial<LoopbackEvent> = {}) => {
    count += 1
    const expected = vendor.messages.length + 1
    await gateway.deliver({ id: `m${count}`, from: 'ada', text, ...more })
    await until(() => vendor.messages.length >= expected)
    await until(async () => (await listMessageCountsByConnection(gateway.deps.db)).every((line) => line.inFlight === 0))
    return vendor.messages.at(-1)?.text ?? ''
  }
  const command = (name: string, args = '', more: Partial<LoopbackEvent> = {}) =>
    say(`/${name} ${args}`, { command: { name, args }, ...more })
  const sweep = (idleMs = weekMs) => createSweepStore(database(), 'default').endUnkept(idleMs)
  const session = async (at = 0) => (await database().query<{ id: string }>(sessionIds, []))[at]?.id ?? ''
  const act = async (id: string, what: string, body?: object) => {
    const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const path = `/admin/sessions/${id}/${what}`
    const response = await createTestApp(gateway, database()).request(path, { method: 'POST', headers, ...sent })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }

  beforeEach(async () => {
    heard.length = 0
    count = 0
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    await work.stop()
    gateway.stop()
    await vendor.close()
  })

  test('is not asked of a stranger who wrote into the room and was turned away', async () => {
    start({ access: { mode: 'allow_list', allow: ['loopback:ada'] } })
    const room = { conversation: 'room', room: 'group', addressed: 'mention' } as const
    await say('hello', room)
    await say('let me in', { ...room, from: 'mallory' })
    const id = await session()
    expect(await act(id, 'export')).toMatchObject({ status: 403, body: { error: { code: 'consent_missing' } } })
    await command('consent', 'allow share_transcript')
    expect(await act(id, 'export')).toMatchObject({ status: 200 })
  }, 60_000)

  test('of the operator keeps transcripts, with the ground written down beside each session', async () => {
    start({ consent: { storeTranscript: basis } })
    await say('remember the canary')
    await command('new')
    expect(await sweep()).toBe(0)
    expect(await tablesWith(database(), 'the canary')).toContain('messages')
    const kept = { operation: 'store_transcript', isAllowed: true, reason: 'operator_grant', isKept: true }
    expect(await database().query(decisions, [])).toEqual([kept, kept])
    expect(await tablesWith(database(), basis)).toEqual(['consents'])
  }, 60_000)

  test('that nobody gave lets a transcript live as long as its session, and not a word longer', async () => {
    start()
    await say('remember the canary')
    expect(await say('again')).toBe('re: found again')
    expect(heard).toEqual(['remember the canary after 0', 'again after 2'])
    expect(await sweep()).toBe(0)
    await command('new')
    await say('a new day')
    expect((await tablesWith(database(), 'the canary')).length).toBeGreaterThan(3)
    expect(await sweep()).toBe(1)
    expect(await tablesWith(database(), 'the canary')).toEqual([])
    expect(await tablesWith(database(), 'a new day')).toContain('messages')
    expect(await listMessageCountsByConnection(gateway.deps.db)).toMatchObject([
      { received: 4, answered: 4, inFlight: 0 },
    ])
    const denied = {
      operation: 'store_transcript',
      isAllowed: false,
      reason: 'explicit_consent_missing',
      isKept: false,
    }
    expect(await database().query(decisions, [])).toEqual([denied, denied])
  }, 60_000)

  test('that nobody gave ends a session after a silence; one that is used meanwhile goes on', async () => {
    start()
    await say('remember the canary')
    await database().query(overdue, [])
    expect(await sweep()).toBe(0)
    expect(await database().query(expiries, [])).toEqual([{ status: 'open', isLater: true }])
    await database().query(overdue, [])
    // Somebody else's gateway on the same database has a policy of its own, and it counts for its own sessions.
    expect(await createSweepStore(database(), 'another').endUnkept(0)).toBe(0)
    expect(await sweep(0)).toBe(1)
    expect(await tablesWith(database(), 'the canary')).toEqual([])
    expect(await database().query(expiries, [])).toEqual([{ status: 'closed', isLater: null }])
    await say('hello')
    expect(heard.at(-1)).toBe('hello after 0')
  }, 60_000)

  test('erases nothing while something of the session is still waited for', async () => {
    start()
    const question = await say('ask me')
    const code = /[0-9a-f]{6}/.exec(question)?.[0] ?? ''
    await database().query(overdue, [])
    expect(await sweep(0)).toBe(0)
    expect((await tablesWith(database(), 'ask me')).length).toBeGreaterThan(1)
    await command('reject', code)
    await until(async () => {
      await database().query(overdue, [])
      await sweep(0)
      return (await tablesWith(database(), 'ask me')).length === 0
    })
  }, 60_000)

  test('is given and taken back in the chat, and what was said last counts', async () => {
    start()
    expect(await command('consent')).toMatch(/share: no - give a copy of what was said to another person/)
    expect(await command('consent', 'allow share_transcript')).toMatch(/^Agreed: give a copy/)
    expect(await command('consent')).toMatch(/share: yes/)
    expect(await command('consent', 'withdraw share')).toMatch(/^Taken back: give a copy/)
    expect(await command('consent')).toMatch(/share: no/)
    expect(await command('consent', 'allow everything')).toMatch(/^Change it with \/consent allow share or/)
    await gateway.deliver({
      id: 'm2',
      from: 'ada',
      text: '/consent allow share_transcript',
      command: { name: 'consent', args: 'allow share_transcript' },
    })
    expect(await database().query(words, [])).toEqual([
      { operation: 'share_transcript', isAllowed: true, subject: 'loopback:ada' },
      { operation: 'share_transcript', isAllowed: false, subject: 'loopback:ada' },
    ])
  }, 60_000)

  test('to keep what was said counts from the next session on; taken back, what was kept goes', async () => {
    start()
    await command('consent', 'allow store_transcript')
    await say('remember the canary')
    await command('new')
    expect(await database().query(decisions, [])).toMatchObject([{ reason: 'explicit_consent', isKept: true }, {}])
    expect(await sweep()).toBe(0)
    expect(await tablesWith(database(), 'the canary')).toContain('messages')
    expect(await command('consent', 'withdraw store_transcript')).toMatch(/is erased/)
    await until(async () => (await sweep()) > 0)
    expect(await tablesWith(database(), 'the canary')).toEqual([])
  }, 60_000)

  test('is nobody’s to give where no person can be asked', async () => {
    const definition: ChannelDefinition = {
      ...loopbackClientId,
      create(settings, deps) {
        const adapter = loopbackClientId.create(settings, deps)
        return { ...adapter, capabilities: { ...adapter.capabilities, isInteractive: false } }
      },
    }
    start({}, {}, [definition])
    expect(await command('consent', 'allow share_transcript')).toMatch(/^Consent is given by a person in a chat/)
    await say('hello')
    expect(await database().query(decisions, [])).toMatchObject([{ reason: 'non_interactive_default_denied' }])
    expect(await act(await session(), 'export')).toMatchObject({
      status: 403,
      body: { error: { code: 'consent_missing', remedy: expect.stringMatching(/no person can be asked/) } },
    })
  }, 60_000)

  test('of everybody who takes part is needed before a transcript is handed on', async () => {
    start()
    await say('hello')
    await say('hi', { from: 'bob' })
    const id = await session()
    expect(await act(id, 'export')).toMatchObject({
      status: 403,
      body: { error: { code: 'consent_missing', remedy: expect.stringMatching(/\/consent allow share$/) } },
    })
    await command('consent', 'allow share_transcript')
    expect(await act(id, 'export')).toMatchObject({ status: 403 })
    await command('consent', 'allow share_transcript', { from: 'bob' })
    const { status, body } = await act(id, 'export')
    expect(status).toBe(200)
    expect((body['messages'] as { content: string }[]).map(({ content }) => content)).toEqual([
      'hello',
      're: found hello',
      'hi',
      're: found hi',
    ])
    expect((await act(id, 'export?format=markdown')).body['markdown']).toMatch(/## 0 user, .*\n\n> hello\n/)
    const refused = {
      action: 'session.export',
      outcome: 'refused',
      code: 'consent_missing',
      actor: 'operator:first token',
    }
    const allowed = { ...refused, outcome: 'allowed', code: null }
    expect(await database().query(acts, [])).toEqual([refused, refused, allowed, allowed])
  }, 60_000)

  test('lets a person take over, who speaks while what arrives waits, and is answered afterwards', async () => {
    start()
    await say('hello')
    const id = await session()
    expect(await act(id, 'take-over')).toMatchObject({ status: 403, body: { error: { code: 'consent_missing' } } })
    expect(await act(id, 'say', { text: 'hi' })).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } })
    await command('consent', 'allow escalate_to_human')
    expect(await act(id, 'take-over')).toMatchObject({ status: 200 })
    await until(() => vendor.messages.at(-1)?.text.startsWith('A person has taken over') === true)
    expect(await act(id, 'take-over')).toMatchObject({ status: 409 })
    await gateway.deliver({ id: 'w1', from: 'ada', text: 'are you there' })
    expect(await act(id, 'say', { text: 'I am Grace.' })).toMatchObject({ status: 200 })
    await until(() => vendor.messages.at(-1)?.text === 'I am Grace.')
    expect(await listMessageCountsByConnection(gateway.deps.db)).toMatchObject([{ inFlight: 1 }])
    expect(heard).toEqual(['hello after 0'])
    expect(await act(id, 'give-back')).toMatchObject({ status: 200 })
    await until(() => vendor.messages.at(-1)?.text === 're: found are you there')
    // The agent knows what was said in its place.
    expect(heard).toEqual(['hello after 0', 'are you there after 5'])
    await until(async () => (await listMessageCountsByConnection(gateway.deps.db)).every((line) => line.inFlight === 0))
    expect(await act(id, 'say', { text: 'still me' })).toMatchObject({ status: 409 })
    expect(
      (await database().query<{ action: string; outcome: string }>(acts, [])).map(
        ({ action, outcome }) => `${action} ${outcome}`,
      ),
    ).toEqual(['session.take_over refused', 'session.take_over allowed', 'session.say done', 'session.give_back done'])
  }, 60_000)

  test('is decided by the host where it brings a policy of its own', async () => {
    const allow: NonNullable<NonNullable<ParleyConfig['ports']>['consent']> = (operation) => ({
      operation,
      allowed: true,
      reason: 'explicit_consent',
      audit_metadata: { policy: 'host' },
    })
    start({}, { ports: { consent: allow } })
    await say('hello')
    expect(await database().query(decisions, [])).toMatchObject([{ isKept: true }])
    expect(await act(await session(), 'export')).toMatchObject({ status: 200 })
  }, 60_000)
})
