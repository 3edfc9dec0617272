// Chains of callers through the API: headers that cannot be read, circles, chains too long. Each refused with its code before
// anything runs, each to be found by the id of its run.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Api, hopHeaders, startApi } from '../../doubles/api.ts'
import { madeToken } from '../../doubles/tokens.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

describeOnDatabase('the API', (database) => {
  let api: Api
  let token: string
  beforeEach(async () => {
    api = startApi(database())
    token = (await madeToken(database(), { scopes: ['run'] })).clear
  })
  afterEach(() => api.stop())

  const depth = (value: string) => hopHeaders({ 'x-agents-api-chain-depth': value })
  const told = async (runId: string) => {
    const { body } = await api.operate('GET', `/admin/explain/${runId}`)
    const { message } = body.explanation.facts
    return { state: message.state, reason: message.reason, story: JSON.stringify(body.explanation.story), message }
  }

  test.each([
    ['depth -1', depth('-1'), 'x-agents-api-chain-depth'],
    ['depth 17', depth('17'), 'x-agents-api-chain-depth'],
    ['depth as text', depth('canary'), 'x-agents-api-chain-depth'],
    ['depth twice', depth('1, 1'), 'x-agents-api-chain-depth'],
    ['a host that is none', hopHeaders({ 'x-agents-api-caller-host': 'self' }), 'x-agents-api-caller-host'],
    ['an agent at the top', depth('0'), 'x-agents-api-caller-agent'],
  ])(
    'refuses %s by name, from a bearer and from here, and keeps no more than that it came',
    async (_name, headers, header) => {
      for (const [runId, caller] of [
        ['by-token', { token }],
        ['by-local', { isHere: true }],
      ] as const) {
        const answer = await api.run(runId, { ...caller, headers })
        expect(answer.status).toBe(400)
        expect(answer.body.error.code).toBe('invalid_agent_caller_context')
        expect(answer.body.error.remedy).toContain(header)
        const { state, reason, story, message } = await told(runId)
        expect([state, reason]).toEqual(['dead', 'invalid_agent_caller_context'])
        expect(story).toContain('cannot be read')
        expect((await api.operate('POST', `/admin/dead-letters/${message.id}/resubmit`)).status).toBe(409)
        expect(JSON.stringify([answer.body, story, message, api.gateway.logged])).not.toContain('canary')
      }
      expect(api.heard).toEqual([])
    },
  )

  test('does not touch the token for it, and takes the same run once the header is right', async () => {
    expect((await api.run('r1', { token, headers: depth('abc') })).status).toBe(400)
    const lastUse = async () => (await api.operate('GET', '/admin/tokens')).body.tokens[0].lastUsedAt
    expect(await lastUse()).toBeNull()
    expect((await api.run('r1', { token, headers: depth('1') })).status).toBe(200)
    expect(await lastUse()).not.toBeNull()
    expect((await api.operate('GET', '/admin/explain/r1')).body.candidates).toHaveLength(2)
  })

  test('tells nobody without a credential what is wrong with his headers', async () => {
    expect((await api.run('r1', { headers: depth('abc') })).body.error.code).toBe('missing_credential')
    expect((await api.run('r1', { token: 'wrong', headers: depth('abc') })).body.error.code).toBe('invalid_token')
  })

  test('lets a chain pass once and not come round; calls side by side are no circle', async () => {
    const at = (value: string) => ({ token, headers: depth(value) })
    expect((await api.run('r1', at('1'))).status).toBe(200)
    expect((await api.run('r2', { ...at('1'), threadId: 't2' })).status).toBe(200)
    expect(await api.run('r3', { ...at('3'), threadId: 't3' })).toMatchObject({
      status: 403,
      body: { error: { code: 'gw:agent_loop' } },
    })
    const refused = await told('r3')
    expect(refused).toMatchObject({ state: 'refused', reason: 'gw:agent_loop' })
    expect(refused.story).toContain('in a circle')
    const elsewhere = hopHeaders({ 'x-agents-api-chain-depth': '3', 'x-agents-api-chain-root': 'root-2' })
    expect((await api.run('r4', { token, headers: elsewhere, threadId: 't4' })).status).toBe(200)
    expect(api.heard).toHaveLength(3)
  })

  test('refuses an agent that calls itself', async () => {
    const self = hopHeaders({
      'x-agents-api-caller-agent': 'demo',
      'x-agents-api-caller-host': `${await api.gateway.deps.host()}/`,
    })
    expect((await api.run('r1', { token, headers: self })).body.error.code).toBe('gw:agent_loop')
    expect(api.heard).toEqual([])
  })

  test('refuses a fifth hop', async () => {
    expect(await api.run('r5', { token, headers: depth('5') })).toMatchObject({
      status: 403,
      body: { error: { code: 'gw:hop_limit' } },
    })
    const refused = await told('r5')
    expect(refused).toMatchObject({ state: 'refused', reason: 'gw:hop_limit' })
    expect(refused.story).toContain('one after the other')
    expect(api.heard).toEqual([])
  })
})
