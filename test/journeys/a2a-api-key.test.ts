// Callers that only know API keys: a token of this gateway in a header that the operator names, and that the card names too.
// And what cards say about credentials at all: what the gateway then asks of the very same caller.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { a2a } from '../../adapters/a2a/index.ts'
import { type A2aPeer, aMessage, startA2a } from '../doubles/a2a-peer.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

describeOnDatabase('a key of a caller', (database) => {
  let peer: A2aPeer
  beforeEach(() => {
    peer = startA2a(database(), {
      connections: [a2a({ apiKeyHeader: 'X-API-Key' }), a2a({ id: 'plain', path: '/plain' })],
    })
  })
  afterEach(() => peer.stop())

  const send = (headers: Record<string, string>, base = '/a2a') =>
    peer.call('JSONRPC', 'SendMessage', { message: aMessage('hello') }, { isElsewhere: true, headers, base })

  test('counts like the token it is, and owns what it began', async () => {
    const token = await peer.token()
    const { result } = await send({ 'x-api-key': token })
    expect(result.task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(peer.obedient.heard.at(-1)?.sender).toMatchObject({ verified: true, auth_method: 'bearer-token' })
    const found = await peer.call('HTTP+JSON', 'GetTask', { id: result.task.id }, { isElsewhere: true, token })
    expect(found.result.id).toBe(result.task.id)
  })

  test('is refused where it is none, comes beside another credential, or has no place', async () => {
    const token = await peer.token()
    const refused = [
      send({ 'x-api-key': 'parley_00000000_none' }),
      send({ 'x-api-key': 'eyJhbGciOiJub25lIn0.e30.' }),
      send({ 'x-api-key': token, authorization: `Bearer ${token}` }),
      send({ 'x-api-key': token }, '/plain'),
      send({}),
    ]
    for (const answer of refused) expect((await answer).status).toBe(401)
    expect(peer.obedient.heard).toEqual([])
  })

  test('is on the card of the connection that takes it, and on no other', async () => {
    const card = async (base: string) =>
      (await peer.request(`${base}/demo/.well-known/agent-card.json`, {}, { isElsewhere: true })).json()
    expect((await card('/a2a')).securitySchemes.apiKey).toMatchObject({
      apiKeySecurityScheme: { location: 'header', name: 'x-api-key' },
    })
    expect((await card('/plain')).securitySchemes.apiKey).toBeUndefined()
  })
})

describeOnDatabase('what a card says about credentials', (database) => {
  let peer: A2aPeer
  beforeEach(() => {
    const extendedCard = { description: 'More.' }
    peer = startA2a(database(), {
      connections: [
        a2a(),
        a2a({ id: 'open', path: '/open', anonymous: true }),
        a2a({ id: 'more', path: '/more', anonymous: true, extendedCard }),
      ],
    })
  })
  afterEach(() => peer.stop())

  const card = async (path: string, isElsewhere: boolean) => (await peer.request(path, {}, { isElsewhere })).json()
  const strict = (base: string, isElsewhere: boolean) => card(`${base}/.well-known/agent-card.json`, isElsewhere)
  const status = async (base: string, isElsewhere: boolean) =>
    (await peer.call('JSONRPC', 'SendMessage', { message: aMessage('hello') }, { base, isElsewhere })).status

  test('a caller on the port, which needs a token, reads so on every card of the gateway, without a public URL too', async () => {
    expect(await status('/a2a', true)).toBe(401)
    expect((await strict('/a2a', true)).securityRequirements).toEqual([{ schemes: { bearer: { list: [] } } }])
    const legacy = await card('/.well-known/agent.json', true)
    expect(legacy).toMatchObject({ security: [{ bearer: [] }], securitySchemes: { bearer: { type: 'http' } } })
    expect((await card('/.well-known/agent-card/demo', true)).a2a.auth).toEqual({ scheme: 'bearer' })
  })

  test('a caller on the socket, which needs none, is told of none, whoever read the card before', async () => {
    await strict('/a2a', true)
    expect(await status('/a2a', false)).toBe(200)
    for (const open of [await strict('/a2a', false), await card('/.well-known/agent.json', false)]) {
      expect(open).not.toHaveProperty('securityRequirements')
      expect(open).not.toHaveProperty('security')
      expect(open).not.toHaveProperty('securitySchemes')
    }
    expect((await card('/.well-known/agent-card/demo', false)).a2a.auth).toEqual({ scheme: 'none' })
  })

  test('where everybody may call, a credential is named only if it opens something: the extended card', async () => {
    expect(await status('/open', true)).toBe(200)
    expect(await strict('/open', true)).not.toHaveProperty('securitySchemes')
    const more = await strict('/more', true)
    expect(more.securitySchemes).toHaveProperty('bearer')
    expect(more).not.toHaveProperty('securityRequirements')
  })
})
