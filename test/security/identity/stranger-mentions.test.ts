// A stranger in a room full of agents: whom the others talk with is theirs to say.

import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { channels, telegram } from '../../../src/channels.ts'
import { textOf } from '../../../src/contract/index.ts'
import { nameStatement } from '../../../src/db/client.ts'
import { createEraseStore } from '../../../src/db/erase-person.ts'
import { claimControlTurns } from '../../../src/db/turns.ts'
import { erasePerson } from '../../../src/identity/erase.ts'
import { accessDeniedNotice } from '../../../src/identity/pairing.ts'
import { tablesWith } from '../../doubles/find-text-in-database.ts'
import { testBotToken } from '../../doubles/telegram-api.ts'
import { createTestApp, operatorToken } from '../../doubles/test-app.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const grant = nameStatement(
  'test_grant',
  `insert into grants (tenant, id, subject, effect, source, created_by)
   values ('default', $1, 'loopback:' || $2, 'allow', 'test', 'test')`,
)

describeOnDatabase('whom a room talks with', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway

  const start = (mode: 'pairing' | 'allow_list' | 'closed') => {
    const agents = ['desk', 'billing', 'travel'].map((slug) =>
      defineAgent({ slug, description: slug, run: (message) => `${slug}: ${textOf(message.parts)}` }),
    )
    const connections = loopbackConnections(vendor.origin, { access: { mode, allow: ['loopback:ada'] } })
    gateway = createTestGateway(database(), { agents, defaultAgent: 'desk', connections })
  }
  const tell = (id: string, from: string, text: string) =>
    gateway.deliver({ id, from, text, conversation: 'room', room: 'group', addressed: 'mention' })
  const say = async (id: string, from: string, text: string) => {
    await tell(id, from, text)
    await gateway.settle()
  }
  const lastSaid = () => vendor.messages.at(-1)?.text

  beforeEach(async () => {
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  test.each(['pairing', 'allow_list'] as const)('is not for a stranger to change (%s)', async (mode) => {
    start(mode)
    await say('m1', 'ada', '@travel hello')
    await say('s1', 'stranger', '@billing hello')
    await say('m2', 'ada', 'and?')
    expect(lastSaid()).toBe('travel: and?')
  })

  test('is not changed by strangers who speak in the same breath, or before anything was decided', async () => {
    start('allow_list')
    await say('m1', 'ada', '@travel hello')
    await Promise.all([tell('s1', 'stranger', '@billing hello'), tell('m2', 'ada', 'and?')])
    await tell('s2', 'other', '@desk hello')
    await tell('m3', 'ada', 'so?')
    await gateway.settle()
    const answers = vendor.messages.map(({ text }) => text).filter((text) => /and\?|so\?/.test(text ?? ''))
    expect(answers.join()).not.toMatch(/billing|desk/)
    expect(answers.join()).toContain('travel')
  })

  test('changes for everybody once whoever addressed another agent is let in', async () => {
    start('pairing')
    await say('m1', 'ada', '@travel hello')
    await say('s1', 'bob', '@billing hello')
    await database().query(grant, [randomUUID(), 'bob'])
    await say('s2', 'bob', 'me again')
    expect(lastSaid()).toBe('billing: me again')
    await say('m2', 'ada', 'and?')
    expect(lastSaid()).toBe('billing: and?')
  })
  test('is forgotten with whoever said it, in a room and in a thread of their own', async () => {
    start('allow_list')
    await say('m1', 'ada', '@travel hello')
    await gateway.deliver({ id: 'm2', from: 'ada', text: '@billing hello', conversation: 'own', claims: ['t1'] })
    await gateway.settle()
    const store = createEraseStore(database(), 'default')
    const wish = { principal: 'loopback:ada', actor: 'test', budgetMs: 60_000, from: null }
    expect(await erasePerson({ store, monotonicMs: () => performance.now() }, wish)).toMatchObject({ isDone: true })
    expect(await tablesWith(database(), 'loopback:ada')).toEqual([])
    const [row] = await database().query<{ id: string }>(nameStatement('test_any', 'select id from inbox limit 1'), [])
    const headers = { authorization: `Bearer ${operatorToken}` }
    const answer = await createTestApp(gateway, database()).request(`/admin/explain/${row?.id}`, { headers })
    expect(await answer.text()).toMatch(/was erased: who it was is gone/i)
  })

  test('a thread called like the place for commands takes no place from commands', async () => {
    start('allow_list')
    for (const [index, name] of ['~control t1', 'x ~control t1', '~loopback:ada~~control t1'].entries())
      await gateway.deliver({ id: `m${index}`, from: 'ada', text: 'hello', conversation: name, claims: [name] })
    expect(await claimControlTurns(gateway.deps.db, 10)).toEqual([])
    await gateway.deliver({
      id: 'c1',
      from: 'ada',
      text: '/status',
      conversation: '~control t1',
      claims: ['~control t1'],
    })
    expect(await claimControlTurns(gateway.deps.db, 10)).toHaveLength(1)
  })
  test('where nobody is answered, whoever writes is told so once', async () => {
    start('closed')
    await say('m1', 'ada', 'hello')
    await say('m2', 'ada', 'hello?')
    expect(vendor.messages.map(({ text }) => text)).toEqual([accessDeniedNotice('connection_closed', 'loopback:ada')])
  })
  test('what asked for nothing is forgotten with whoever sent it', async () => {
    const webhookSecret = 'a-webhook-secret-of-forty-characters-xyz'
    const connections = [telegram({ botToken: testBotToken, webhookSecret, apiRoot: 'http://127.0.0.1:9' })]
    gateway = createTestGateway(database(), { connections }, {}, channels)
    const [at] = gateway.gateway.connections
    if (at === undefined) throw new Error('no connection')
    const from = { id: 4242, is_bot: false, first_name: 'ada-canary' }
    const chat = { id: -7, type: 'group', title: 'g' }
    const said = { message_id: 1, date: Math.floor(Date.now() / 1000), chat, from }
    const updates = [
      { update_id: 1, message: { ...said, new_chat_members: [from] } },
      { update_id: 2, message: { ...said, message_id: 2 } },
      { update_id: 3, chat_join_request: { chat, from, date: 1, bio: 'ada-canary' } },
    ]
    for (const update of updates) {
      const headers = {
        'content-type': 'application/json',
        'x-telegram-bot-api-secret-token': webhookSecret,
      }
      const bytes = new TextEncoder().encode(JSON.stringify(update))
      await gateway.gateway.receive(at, { bytes, headers, receivedAt: new Date().toISOString(), from: 'local' })
    }
    expect(await tablesWith(database(), 'ada-canary')).toEqual(['inbox'])
    const store = createEraseStore(database(), 'default')
    const wish = { principal: 'telegram:4242', actor: 'test', budgetMs: 60_000, from: null }
    expect(await erasePerson({ store, monotonicMs: () => performance.now() }, wish)).toMatchObject({
      removed: { receipts: 3 },
    })
    expect(await tablesWith(database(), 'ada-canary')).toEqual([])
    expect(await tablesWith(database(), 'telegram:4242')).toEqual([])
  })
})
