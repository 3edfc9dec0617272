// Agents of elsewhere with tokens of their own issuers: who they are, what is theirs, and what each operation asks of a token.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type A2aPeer, aMessage, bindings, startA2a } from '../doubles/a2a-peer.ts'
import { audience, startTokenIssuer, type TokenIssuerDouble } from '../doubles/token-issuer.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const scopes: Readonly<Record<string, string>> = {
  SendMessage: 'a2a:message.send',
  SendStreamingMessage: 'a2a:message.stream',
  GetTask: 'a2a:task.read',
  ListTasks: 'a2a:task.read',
  CancelTask: 'a2a:task.cancel',
  SubscribeToTask: 'a2a:task.subscribe',
  CreateTaskPushNotificationConfig: 'a2a:push',
  GetTaskPushNotificationConfig: 'a2a:push',
  ListTaskPushNotificationConfigs: 'a2a:push',
  DeleteTaskPushNotificationConfig: 'a2a:push',
}

describeOnDatabase('an agent with a token of another issuer', (database) => {
  let issuer: TokenIssuerDouble
  let peer: A2aPeer
  beforeEach(async () => {
    issuer = await startTokenIssuer()
    peer = startA2a(database(), { config: { tokenIssuers: [{ issuer: issuer.origin, audience }] } })
  })
  afterEach(async () => {
    await peer.stop()
    await issuer.close()
  })
  const by = async (claims: object) => ({ token: await issuer.sign({ ...claims }), isElsewhere: true })

  test.each(bindings)(
    'AU-07 is verified by what its token proves over %s, and its tasks are its own',
    async (binding) => {
      const how = await by({ sub: 'ada', client_id: 'shop' })
      const { result } = await peer.call(binding, 'SendMessage', { message: aMessage('hello') }, how)
      expect(result.task.status.state).toBe('TASK_STATE_COMPLETED')
      const { sender } = peer.obedient.heard.at(-1) ?? {}
      expect(sender).toMatchObject({
        auth_method: 'a2a-jwt',
        verified: true,
        identities: [{ issuer: issuer.origin, method: 'urn:gw:auth:a2a-jwt:v0.1', assurance: 'agent' }],
      })
      expect(sender?.identities).toHaveLength(1)
      const { id } = result.task
      expect((await peer.call(binding, 'GetTask', { id }, how)).result.id).toBe(id)
      const other = await by({ sub: 'eve', client_id: 'shop' })
      expect((await peer.call(binding, 'GetTask', { id }, other)).error?.code).toBe(-32001)
    },
  )

  test.each(bindings)(
    'AU-02 over %s a token that does not hold is refused, and told why in the header',
    async (binding) => {
      const at = Math.floor(Date.now() / 1000)
      // The last one is made out to the name that it is asked for by, which is the caller's choice.
      for (const claims of [
        { exp: at - 120 },
        { aud: 'https://other.example' },
        { nbf: at + 600 },
        { aud: 'http://localhost/a2a' },
      ]) {
        const answer = await peer.call(binding, 'GetTask', { id: 'x' }, await by(claims))
        expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([
          401,
          expect.stringContaining('error="invalid_token"'),
        ])
      }
    },
  )

  test.each(bindings)(
    'AU-05 over %s every operation asks for its scope, and `run` is good for all',
    async (binding) => {
      const params = { id: 'x', taskId: 'x', url: 'https://hooks.example', message: aMessage('hello') }
      for (const [method, scope] of Object.entries(scopes)) {
        const other = scope === 'a2a:push' ? 'a2a:task.read' : 'a2a:push'
        const lacking = await peer.call(binding, method, params, await by({ scope: other }))
        expect([lacking.status, lacking.headers.get('www-authenticate')], method).toEqual([
          403,
          expect.stringContaining(`error="insufficient_scope", scope="${scope}"`),
        ])
        for (const enough of [scope, 'run']) {
          const message = { ...params, message: aMessage('hello') }
          const answer = await peer.open(binding, method, message, await by({ scope: enough }))
          expect(answer.response.status, method).not.toBe(403)
          await answer.hangUp().catch(() => {})
        }
      }
    },
  )
})
