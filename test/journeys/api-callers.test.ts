// Callers of the API: from elsewhere with a token, each in threads of their own; revoked and expired for every replica at once.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { textOf } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { storeInboxDrafts } from '../../src/db/inbox.ts'
import type { Fields } from '../../src/lib/json-value.ts'
import { type Api, hopHeaders, startApi } from '../doubles/api.ts'
import { createDoor, until } from '../doubles/background-gateway.ts'
import { aDraft } from '../doubles/inbox-drafts.ts'
import { madeToken } from '../doubles/tokens.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'
import { openTenantDb } from '../setup/tenant-db.ts'

const outlive = nameStatement('test_outlive', `update tokens set expires_at = now() - interval '1 second'`)
const conversations = nameStatement('test_conversations', 'select distinct conversation_id from inbox')
const owners = nameStatement('test_owners', 'select distinct owner from runs order by owner')

describeOnDatabase('a caller of the API', (database) => {
  let api: Api
  beforeEach(() => {
    api = startApi(database())
  })
  afterEach(() => api.stop())

  const token = async (terms: Parameters<typeof madeToken>[1] = {}) => {
    const { clear, line } = await madeToken(database(), { scopes: ['run'], ...terms })
    return { token: clear, line, subject: `gw:token/${line.prefix.slice(-8)}` }
  }
  const saidTo = (answer: { body: { messages?: { content: string }[] } }) => answer.body.messages?.[0]?.content

  test('is answered from elsewhere, known by the digits of its token, and explained by them', async () => {
    const made = await token({ clientId: 'shop' })
    const first = await api.run('r1', made)
    expect(first).toMatchObject({ status: 200, body: { threadId: 't1', runId: 'r1', status: 'completed' } })
    expect(saidTo(first)).toBe(`${made.subject} was heard, after 0 lines`)
    expect(saidTo(await api.run('r2', made))).toBe(`${made.subject} was heard, after 2 lines`)
    expect(api.heard[0]?.sender).toMatchObject({
      auth_method: 'bearer-token',
      verified: true,
      identities: [
        {
          subject: made.subject,
          method: 'urn:gw:auth:bearer-token:v0.1',
          claims: { client_id: 'shop' },
          proof: { type: 'bearer-token', verified_by: 'parley', token_id: made.line.prefix.slice(-8) },
        },
      ],
    })
    const { body } = await api.operate('GET', '/admin/explain/r1')
    expect(body.explanation.facts.message).toMatchObject({ state: 'answered', principal: made.subject })
    expect(JSON.stringify([body, api.gateway.logged, api.heard])).not.toContain(made.token.slice(16))
    expect((await api.operate('GET', '/admin/tokens')).body.tokens).toMatchObject([{ lastUsedAt: expect.anything() }])
  })

  test('speaks for the principal of its token, with every token that was made for it', async () => {
    const [one, other] = [await token({ principal: 'test:ada' }), await token({ principal: 'test:ada' })]
    expect(saidTo(await api.run('r1', one))).toBe('test:ada was heard, after 0 lines')
    expect(saidTo(await api.run('r2', other))).toBe('test:ada was heard, after 2 lines')
  })

  test('finds nobody else behind a thread id, however often it is guessed', async () => {
    const [one, other] = [await token(), await token()]
    const here = { isHere: true }
    for (const [index, caller] of [here, one, other, here, one, other].entries())
      expect(saidTo(await api.run(`r${index}`, caller))).toMatch(index < 3 ? /after 0 lines$/ : /after 2 lines$/)
    const guesses = ['t1', `~${one.subject}~t1`, '~gw:user/local~t1', '~control t1', `~control ~${one.subject}~t1`]
    const mallory = await token()
    for (const [index, threadId] of guesses.entries())
      expect(saidTo(await api.run(`g${index}`, { ...mallory, threadId }))).toMatch(/after 0 lines$/)
    expect(await database().query(conversations, [])).toHaveLength(3 + guesses.length)
  })

  test('comes back to the thread it had before thread ids were its own, and nobody else does', async () => {
    const draft = aDraft({ connection: 'agui/demo', subject: 'gw:user/local', candidates: ['t1'], newThreadKey: 't1' })
    await storeInboxDrafts(openTenantDb(database()), [draft])
    await until(() => api.heard.length === 1)
    await until(async () => (await api.run('probe', { isHere: true })).status !== 409)
    await api.run('r1', await token())
    const [before, ...others] = await database().query(conversations, [])
    expect(before).toBeDefined()
    expect(others).toHaveLength(1)
  })

  test('is refused at its next request once its token is revoked, by another replica', async () => {
    const other = startApi(database())
    try {
      const made = await token()
      expect((await api.run('r1', made)).status).toBe(200)
      expect((await other.operate('POST', `/admin/tokens/${made.line.prefix}/revoke`)).status).toBe(200)
      const refused = { status: 401, body: { error: { code: 'invalid_token', remedy: expect.any(String) } } }
      expect(await api.run('r2', made)).toMatchObject(refused)
      expect(await other.run('r3', { ...made, isHere: true })).toMatchObject(refused)
      // Whichever replica took the turn of the first.
      expect([...api.heard, ...other.heard]).toHaveLength(1)
    } finally {
      await other.stop()
    }
  })

  test('is refused once its token has expired', async () => {
    const made = await token({ expiresInMs: 60_000 })
    expect((await api.run('r1', made)).status).toBe(200)
    await database().query(outlive, [])
    const refused = await api.run('r2', made)
    expect(refused).toMatchObject({ status: 401, body: { error: { code: 'invalid_token' } } })
    expect(refused.headers.get('www-authenticate')).toBe('Bearer realm="parley.localhost", error="invalid_token"')
  })

  test('is run again by a replay as who it was, from what is stored', async () => {
    const made = await token()
    await api.run('r1', made)
    const { body } = await api.operate('GET', '/admin/explain/r1')
    const { body: again } = await api.operate('POST', `/admin/replay/${body.explanation.facts.message.id}`)
    expect(JSON.stringify(again)).toContain('the stored message was used')
    expect(api.heard.map(({ sender }) => sender.identities?.[0]?.subject)).toEqual([made.subject, made.subject])
    expect(await database().query(owners, [])).toEqual([{ owner: made.subject }])
  })
})

describeOnDatabase('two callers with one thread id', (database) => {
  test('are busy each for themselves, and each stops what is theirs', async () => {
    const door = createDoor()
    const running: string[] = []
    const slow = defineAgent({
      slug: 'demo',
      async run(message, { principal, stop }) {
        if (textOf(message.parts) !== 'work') return 'quick'
        running.push(principal)
        await Promise.race([door.passed, new Promise((resolve) => stop.addEventListener('abort', resolve))])
        return stop.aborted ? 'stopped' : 'done'
      },
    })
    const api = startApi(database(), [slow])
    try {
      const [one, other] = [await madeToken(database()), await madeToken(database())].map(({ clear }) => ({
        token: clear,
      }))
      const [ones, others] = [one, other].map((caller, index) => api.run(`w${index}`, { ...caller, text: 'work' }))
      await until(() => running.length === 2)
      expect(await api.run('b', { ...one, text: 'quick' })).toMatchObject({ status: 409 })
      const stopped = await api.run('s', { ...other, text: '/stop' })
      expect(stopped.body.messages[0].content).toMatch(/^Stopp/)
      expect((await others)?.body).toMatchObject({ messages: [{ content: expect.stringMatching(/stopped/i) }] })
      door.open()
      expect((await ones)?.body).toMatchObject({ messages: [{ content: 'done' }] })
    } finally {
      door.open()
      await api.stop()
    }
  }, 60_000)
})

describeOnDatabase('an agent that is called', (database) => {
  test('is told who acts, with which limits, and how far the chain is', async () => {
    const acting: Fields[] = []
    const agent = defineAgent({
      slug: 'demo',
      run(message, context) {
        acting.push(context.who)
        const { hop, max_hops, is_final } = message.recipient_capabilities.agent_chain ?? {}
        return `${hop} of ${max_hops}, final: ${is_final}`
      },
    })
    const api = startApi(database(), [agent])
    try {
      const { clear, line } = await madeToken(database(), { scopes: ['run'], allowedCapabilities: ['read_orders'] })
      const called = { token: clear, headers: hopHeaders({ 'x-agents-api-chain-depth': '4' }) }
      expect((await api.run('r1', called)).body.messages[0].content).toBe('4 of 4, final: true')
      expect((await api.run('r2', { isHere: true, headers: hopHeaders() })).status).toBe(200)
      expect((await api.run('r3', { isHere: true })).body.messages[0].content).toBe(
        'undefined of undefined, final: undefined',
      )
      expect(acting).toMatchObject([
        {
          auth_source: 'agent_token',
          token_id: line.prefix.slice(-8),
          owner_type: 'token',
          capability_ceiling: { allowed_capabilities: ['read_orders'] },
          caller_context: { caller_agent: 'helper', chain_depth: 4, chain_root: 'root-1' },
        },
        { auth_source: 'audience', owner_key: 'demo:gw:user/local', caller_context: { chain_depth: 1 } },
        { auth_source: 'audience', owner_key: 'demo:gw:user/local', caller_context: null },
      ])
    } finally {
      await api.stop()
    }
  })
})

describeOnDatabase('a token for one agent where several share the API', (database) => {
  test('goes to that agent, and reaches no other: not by name, not by thread, not through it', async () => {
    const heard: string[] = []
    const front = defineAgent({
      slug: 'front',
      async run(message, { agents }) {
        heard.push('front')
        if (!textOf(message.parts).includes('ask')) return 'front'
        return agents.call('back', 'tell me').then(
          () => 'told',
          (error: Error) => error.message,
        )
      },
    })
    const back = defineAgent({
      slug: 'back',
      run() {
        heard.push('back')
        return 'back'
      },
    })
    const api = startApi(database(), [front, back])
    try {
      const tokenFor = async (agent: string | null) => {
        const { clear } = await madeToken(database(), { scopes: ['run'], agent })
        return { token: clear }
      }
      const [toFront, toBack, toAny] = [await tokenFor('front'), await tokenFor('back'), await tokenFor(null)]
      const said = async (runId: string, call: Parameters<Api['run']>[1]) => {
        const { status, body } = await api.run(runId, { threadId: runId, ...call })
        return status === 200 ? body.messages[0].content : body.error.code
      }
      expect(await said('r1', toFront)).toBe('front')
      expect(await said('r2', toBack)).toBe('back')
      expect(await said('r3', { ...toBack, text: '@front hello' })).toBe('back')
      heard.length = 0
      expect(await said('r4', { ...toFront, text: '@back hello' })).toBe('wrong_agent')
      expect(await said('r5', { ...toFront, text: 'ask' })).toContain('wrong_agent')
      expect(heard).toEqual(['front'])
      expect(await said('r6', { ...toAny, text: '@back hello' })).toBe('back')
      expect(await said('r7', { ...toAny, text: 'ask' })).toBe('told')
      const { body } = await api.operate('GET', '/admin/explain/r4')
      expect(body.explanation.facts.message).toMatchObject({ state: 'refused', reason: 'wrong_agent' })
    } finally {
      await api.stop()
    }
  }, 60_000)
})
