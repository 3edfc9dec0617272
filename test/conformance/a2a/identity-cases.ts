// A2A identity (also A2-*): who calls, what they may, and what they merely claim.
import { expect } from 'vitest'
import { textOf } from '../../../src/contract/index.ts'
import { aMessage, type Body, bindings } from '../../doubles/a2a-peer.ts'
import { hopHeaders } from '../../doubles/api.ts'
import { type A2aCase, refused, sent } from './a2a-setup.ts'

const evidence = (changes: Body = {}): Body => ({
  subject: 'slack:T1/U1',
  issuer: 'gateway.example',
  method: 'urn:mentionable:auth:slack-workspace-member:v0.1',
  assurance: 'platform',
  audience: '@demo@parley.localhost',
  issued_at: new Date().toISOString(),
  expires_at: new Date(Date.now() + 60_000).toISOString(),
  proof: { type: 'signed-attestation', alg: 'EdDSA', kid: 'gateway.example#1', value: 'a..b' },
  ...changes,
})

export const identityCases: readonly A2aCase[] = [
  {
    id: 'AU-01',
    claim: 'without a good credential nobody from elsewhere is served, in the form of the binding',
    async run(scene, binding) {
      const message = aMessage('hello')
      const none = await scene.call(binding, 'SendMessage', { message }, { isElsewhere: true })
      expect([none.status, none.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="parley.localhost"'])
      for (const authorization of ['Bearer garbage', 'Basic abc', 'Bearer parley_00000000_x']) {
        const answer = await scene.call(
          binding,
          'SendMessage',
          { message },
          { isElsewhere: true, headers: { authorization } },
        )
        expect(answer.status).toBe(401)
        expect(answer.headers.get('www-authenticate')).toContain('error="invalid_token"')
        expect(answer.error?.message).toMatch(/^a valid credential is needed \(reference [0-9a-f]{32}\)$/)
      }
      const reader = await scene.token({ scopes: ['read'] }).catch(() => undefined)
      if (reader !== undefined)
        expect((await scene.call(binding, 'SendMessage', { message }, { token: reader })).status).toBe(403)
      const page = { origin: 'https://evil.example' }
      expect((await scene.call(binding, 'SendMessage', { message }, { headers: page })).status).toBe(403)
    },
  },
  {
    id: 'AU-06',
    claim: 'a token for one agent opens no other',
    async run(scene, binding) {
      const token = await scene.token({ agent: 'lean' })
      const how = { token, isElsewhere: true }
      const task = await sent(scene, binding, aMessage('hello'), { ...how, agent: 'lean' })
      expect(task.artifacts[0].parts[0].text).toBe('lean heard: hello (0 before)')
      const other = await scene.call(binding, 'SendMessage', { message: aMessage('hello') }, { ...how, agent: 'demo' })
      expect([other.status, other.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="parley.localhost"'])
    },
  },
  {
    id: 'AU-08',
    claim: 'who a message says it is from is nobody’s word but its own',
    async run(scene, binding) {
      const metadata = { sender: 'boss@example.com', mentionable: { identity_evidence: [evidence()], note: 'x' } }
      const token = await scene.token()
      const task = await sent(scene, binding, aMessage('hello', { metadata }), { token })
      const { sender, raw } = scene.main.heard.at(-1) ?? {}
      expect(sender?.identities?.map(({ subject }) => subject)).toEqual([expect.stringMatching(/^gw:token\//)])
      expect(task.history[0].metadata).toEqual({ sender: 'boss@example.com', mentionable: { note: 'x' } })
      expect(JSON.stringify(raw ?? {})).not.toContain('identity_evidence')
    },
  },
  {
    id: 'AU-11',
    claim: 'somebody else’s task is no task, whatever is asked of it',
    async run(scene, binding) {
      const { id } = await sent(scene, binding, aMessage('ask'), { token: await scene.token() })
      const url = 'https://hooks.example/x'
      const push = { taskId: id, id: 'c1' }
      for (const [method, params] of [
        ['GetTask', { id }],
        ['CancelTask', { id }],
        ['SubscribeToTask', { id }],
        ['CreateTaskPushNotificationConfig', { ...push, url }],
        ['GetTaskPushNotificationConfig', push],
        ['ListTaskPushNotificationConfigs', { taskId: id }],
        ['DeleteTaskPushNotificationConfig', push],
      ] as const)
        expect((await refused(scene, binding, method, params)).code, method).toBe(-32001)
    },
  },
  {
    id: 'AU-12',
    claim: 'both bindings refuse alike',
    isOnce: true,
    async run(scene) {
      const both = await Promise.all(
        bindings.map(async (binding) => {
          const { error } = await scene.call(binding, 'GetTask', { id: crypto.randomUUID() })
          const bad = await scene.call(binding, 'SendMessage', { message: { role: 'ROLE_USER', parts: [{}] } })
          return [error, bad.error]
        }),
      )
      expect(both[0]).toEqual(both[1])
    },
  },
  {
    id: 'CH-01',
    claim: 'without headers a call is the beginning of a chain',
    async run(scene, binding) {
      await sent(scene, binding, aMessage('hello'))
      const { recipient_capabilities, channel } = scene.main.heard.at(-1) ?? {}
      expect([recipient_capabilities?.agent_chain, channel?.caller]).toEqual([undefined, undefined])
    },
  },
  {
    id: 'CH-02',
    claim: 'a complete hop is told to the agent',
    async run(scene, binding) {
      const headers = hopHeaders({ 'x-agents-api-chain-depth': '2', 'x-agents-api-chain-root': crypto.randomUUID() })
      await sent(scene, binding, aMessage('hello'), { headers })
      const { recipient_capabilities, channel } = scene.main.heard.at(-1) ?? {}
      expect(recipient_capabilities?.agent_chain).toEqual({ hop: 2, max_hops: 4, is_final: false })
      expect(channel?.caller).toMatchObject({ chain_depth: 2, caller_agent: 'helper' })
    },
  },
  {
    id: 'CH-03',
    claim: 'headers that cannot be read refuse the message before any work',
    async run(scene, binding) {
      const before = scene.main.heard.length
      for (const changes of [
        { 'x-agents-api-chain-depth': '0' },
        { 'x-agents-api-chain-depth': '17' },
        { 'x-agents-api-chain-depth': 'abc' },
        { 'x-agents-api-caller-host': 'self' },
      ]) {
        const params = { message: aMessage('hello') }
        const answer = await refused(scene, binding, 'SendMessage', params, { headers: hopHeaders(changes) })
        expect([answer.code, answer.fields]).toEqual([-32602, ['headers']])
      }
      expect(scene.main.heard.length).toBe(before)
    },
  },
  {
    id: 'CH-07',
    claim: 'two agents that go on and on in one conversation are stopped until a person speaks again',
    async run(scene, binding) {
      const contextId = crypto.randomUUID()
      const from = (root: string) => hopHeaders({ 'x-agents-api-chain-depth': '1', 'x-agents-api-chain-root': root })
      const say = async (root: string, more: object = { contextId }): Promise<string> =>
        (await sent(scene, binding, aMessage('and then?', more), { headers: from(root) })).status.state
      const root = crypto.randomUUID()
      const states = []
      for (let turn = 0; turn < 6; turn += 1) states.push(await say(root))
      expect(states).toEqual([...Array(5).fill('TASK_STATE_COMPLETED'), 'TASK_STATE_REJECTED'])
      expect(await say(root, {})).toBe('TASK_STATE_COMPLETED')
      expect(await say(crypto.randomUUID())).toBe('TASK_STATE_COMPLETED')
    },
  },
  {
    id: 'CH-04',
    claim: 'a chain that is too long is rejected as an answer, so that a model can finish',
    async run(scene, binding) {
      const headers = hopHeaders({ 'x-agents-api-chain-depth': '5', 'x-agents-api-chain-root': crypto.randomUUID() })
      const task = await sent(scene, binding, aMessage('hello'), { headers })
      expect(task.status.state).toBe('TASK_STATE_REJECTED')
      expect(task.status.message.parts[0].text).toMatch(/./)
    },
  },
  {
    id: 'CH-08',
    claim: 'of two depths the larger counts, of two ceilings the smaller',
    async run(scene, binding) {
      const chain = (hop: number, max_hops: number) => ({
        metadata: { mentionable: { agent_chain: { hop, max_hops, is_final: hop === max_hops } } },
      })
      const headers = () => hopHeaders({ 'x-agents-api-chain-root': crypto.randomUUID() })
      await sent(scene, binding, aMessage('hello', chain(2, 3)), { headers: headers() })
      expect(scene.main.heard.at(-1)?.recipient_capabilities.agent_chain).toEqual({
        hop: 2,
        max_hops: 3,
        is_final: false,
      })
      await sent(scene, binding, aMessage('hello', chain(1, 10)))
      expect(scene.main.heard.at(-1)?.recipient_capabilities.agent_chain).toMatchObject({ hop: 1, max_hops: 4 })
      const bad = {
        message: aMessage('hello', { metadata: { mentionable: { agent_chain: { hop: 3, max_hops: 2 } } } }),
      }
      expect((await refused(scene, binding, 'SendMessage', bad)).fields).toEqual([
        'message.metadata.mentionable.agent_chain',
      ])
    },
  },
  {
    id: 'A2-01',
    claim: 'evidence of an issuer nobody trusts is left out, and the message is heard',
    async run(scene, binding) {
      const metadata = { mentionable: { identity_evidence: [evidence()] } }
      const task = await sent(scene, binding, aMessage('hello', { metadata }))
      expect(task.status.state).toBe('TASK_STATE_COMPLETED')
      expect(task.history[0].metadata).toBeUndefined()
      expect(scene.main.heard.at(-1)?.sender.dropped_evidence).toEqual([expect.stringMatching(/^TR_/)])
    },
  },
  {
    id: 'A2-02',
    claim: 'what is no object under that name is taken out whole, and said to be malformed',
    async run(scene, binding) {
      const task = await sent(scene, binding, aMessage('hello', { metadata: { mentionable: 'evidence', a: 1 } }))
      expect(task.history[0].metadata).toEqual({ a: 1 })
      expect(scene.main.heard.at(-1)?.sender.dropped_evidence).toEqual(['EV_MALFORMED'])
    },
  },
  {
    id: 'A2-03',
    claim: 'a proof that no wire can carry is no proof',
    async run(scene, binding) {
      const carried = [evidence({ proof: { type: 'transport', verified_by: 'parley' } })]
      await sent(scene, binding, aMessage('hello', { metadata: { mentionable: { identity_evidence: carried } } }))
      expect(scene.main.heard.at(-1)?.sender.dropped_evidence).toEqual(['EV_PROOF_NOT_PORTABLE'])
    },
  },
  {
    id: 'A2-06',
    claim: 'a caller cannot say that its channel relays mentions',
    async run(scene, binding) {
      const metadata = { mentionable: { recipient_capabilities: { mention_relay: { kind: 'inline' } } } }
      await sent(scene, binding, aMessage('hello', { metadata }))
      expect(scene.main.heard.at(-1)?.recipient_capabilities.mention_relay).toEqual({ kind: 'none' })
    },
  },
  {
    id: 'A2-08',
    claim: 'at the hub a name at the beginning says whom it is for; an unknown one says nothing',
    async run(scene, binding) {
      const answered = async (text: string) => (await sent(scene, binding, aMessage(text))).artifacts[0].parts[0].text
      expect(await answered('@lean hi')).toMatch(/^lean heard/)
      expect(await answered('hi')).toMatch(/^demo heard/)
      expect(await answered('@nobody hi')).toMatch(/^demo heard/)
      const named = await sent(scene, binding, aMessage('@lean hi'), { agent: 'demo' })
      expect(named.artifacts[0].parts[0].text).toMatch(/^demo heard/)
    },
  },
  {
    id: 'A2-09',
    claim: 'a context goes on with the agent it began with',
    async run(scene, binding) {
      const contextId = crypto.randomUUID()
      await sent(scene, binding, aMessage('@lean hi', { contextId }))
      await sent(scene, binding, aMessage('and again', { contextId }))
      expect(textOf(scene.lean.heard.at(-1)?.parts ?? [])).toBe('and again')
      const asked = await sent(scene, binding, aMessage('ask'), { agent: 'lean' })
      await sent(scene, binding, aMessage('@demo blue', { taskId: asked.id }))
      expect(textOf(scene.lean.heard.at(-1)?.parts ?? [])).toBe('@demo blue')
    },
  },
]
