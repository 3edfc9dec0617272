// Pairings, grants and principals over HTTP; and a request that is told its code instead of an answer.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { type Api, type ApiAnswer, startApi } from '../../doubles/api.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const heard: string[] = []
const guarded = defineAgent({
  slug: 'demo',
  access: { mode: 'pairing', allow: [] },
  run(message) {
    heard.push(message.id)
    return 'come in'
  },
})

describeOnDatabase('the routes of people', (database) => {
  let api: Api
  const call = (method: string, path: string, body?: object): Promise<ApiAnswer> =>
    api.operate(method, `/admin${path}`, body)
  const codeIn = ({ body }: ApiAnswer): string => /this code: ([A-Z0-9-]+)/.exec(JSON.stringify(body))?.[1] ?? ''

  beforeEach(() => {
    heard.length = 0
    api = startApi(database(), [guarded])
  })
  afterEach(() => api.stop())

  test('a run by a stranger is answered at once with a code, and with its answer once they are let in', async () => {
    const first = await api.run('r1', { isHere: true })
    expect(first).toMatchObject({ status: 202, body: { status: 'pairing_required' } })
    const code = codeIn(first)
    expect(code).toMatch(/^[A-Z2-9]{4}-[A-Z2-9]{4}$/)
    // Whoever asks again, for the same run or for another, is told the same.
    expect(codeIn(await api.run('r1', { isHere: true }))).toBe(code)
    expect(codeIn(await api.run('r2', { isHere: true }))).toBe(code)
    expect(heard).toEqual([])
    const listed = await call('GET', '/pairings')
    expect(listed.body.pairings).toMatchObject([{ code, status: 'pending', agent: 'demo', held: 2 }])
    const approved = await call('POST', `/pairings/${code.toLowerCase()}/approve`)
    expect(approved).toMatchObject({ status: 200, body: { messages: 2, pairing: { status: 'approved' } } })
    const answered = await api.run('r1', { isHere: true })
    expect(answered).toMatchObject({ status: 200, body: { messages: [{ content: 'come in' }] } })
    expect(await api.run('r2', { isHere: true })).toMatchObject({ status: 200 })
    expect(heard.toSorted()).toEqual([...new Set(heard)].toSorted())
    // Held by the agent's own rule: let in to that agent on that connection.
    expect((await call('GET', '/grants')).body.grants).toMatchObject([{ connection: 'agui/demo', agent: 'demo' }])
  })

  test('a decision is final, and says by whom and when', async () => {
    const code = codeIn(await api.run('r1', { isHere: true }))
    expect(await call('POST', `/pairings/${code}/reject`, { block: true })).toMatchObject({ status: 200 })
    const late = await call('POST', `/pairings/${code}/approve`)
    expect(late).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } })
    expect(late.body.error.remedy).toMatch(/^already rejected by operator:first token at 20\d\d-/)
    expect(await api.run('r1', { isHere: true })).toMatchObject({
      status: 403,
      body: { error: { code: 'pairing_rejected' } },
    })
    expect(await api.run('r2', { isHere: true })).toMatchObject({ status: 403, body: { error: { code: 'blocked' } } })
  })

  test.each([
    ['POST', '/pairings/BCDF-2345/approve', undefined, 404, 'no pairing has this code'],
    ['POST', '/pairings/hello/approve', undefined, 400, 'eight letters'],
    ['POST', '/pairings/AEIO-U111/approve', undefined, 400, 'eight letters'],
    ['POST', '/pairings/BCDF-2345/reject', { block: 'yes' }, 400, 'block does not fit'],
    ['GET', '/pairings?status=open', undefined, 400, 'status must be one of pending'],
    ['GET', '/pairings?limit=0', undefined, 400, 'limit must be'],
    ['POST', '/grants', {}, 400, 'subject does not fit'],
    ['POST', '/grants', { subject: 'a b' }, 400, 'subject does not fit'],
    ['POST', '/grants', { subject: 'x:1', role: 'owner' }, 400, 'role does not fit'],
    ['POST', '/grants', { subject: 'x:1', effect: 'deny', role: 'admin' }, 400, 'role does not fit'],
    ['POST', '/grants', { subject: 'x:1', connection: 'agui/dmeo' }, 400, 'connection must be one of: agui/demo'],
    ['POST', '/grants', { subject: 'x:1', agent: 'dmeo' }, 400, 'agent must be one of: demo'],
    ['POST', '/grants', { subject: 'x:1', expiresInMs: -1 }, 400, 'expiresInMs does not fit'],
    ['POST', '/grants/0192f1c2-7d5e-7abc-8def-0123456789ab/revoke', undefined, 404, 'no such grant'],
    ['POST', '/principals/link', { subject: 'x:1', principal: 'x:1' }, 400, 'the same'],
    ['POST', '/principals/link', { subject: 'x:1' }, 400, 'principal does not fit'],
    ['POST', '/principals/unlink', { subject: 'x:1' }, 404, 'linked to no principal'],
  ])('%s %s %j is refused with a remedy', async (method, path, body, status, remedy) => {
    const answer = await call(method, path, body)
    expect(answer.status).toBe(status)
    expect(answer.body.error.remedy).toContain(remedy)
  })

  test('grants are added, listed, revoked once; links alike; people are listed with both', async () => {
    const { body } = await call('POST', '/grants', { subject: 'x:1', role: 'admin', expiresInMs: 60_000 })
    expect(body.grant).toMatchObject({
      subject: 'x:1',
      role: 'admin',
      state: 'active',
      createdBy: 'operator:first token',
    })
    expect(await call('POST', `/grants/${body.grant.id}/revoke`)).toMatchObject({ status: 200 })
    expect(await call('POST', `/grants/${body.grant.id}/revoke`)).toMatchObject({ status: 409 })
    expect((await call('GET', '/grants')).body.grants).toEqual([])
    expect((await call('GET', '/grants?state=all&subject=x:1')).body.grants).toMatchObject([{ state: 'revoked' }])
    expect(await call('POST', '/principals/link', { subject: 'y:2', principal: 'x:1' })).toMatchObject({ status: 200 })
    expect(await call('POST', '/principals/link', { subject: 'y:2', principal: 'z:3' })).toMatchObject({ status: 409 })
    expect((await call('GET', '/principals/links')).body.links).toMatchObject([{ subject: 'y:2', principal: 'x:1' }])
    const { principals } = (await call('GET', '/principals?limit=10')).body
    expect(principals.map(({ subject }: { subject: string }) => subject).toSorted()).toEqual(['x:1', 'y:2'])
    const [page] = (await call('GET', '/principals?limit=1')).body.principals
    const rest = await call('GET', `/principals?limit=1&before=${page.id}`)
    expect(rest.body.principals[0].subject).not.toBe(page.subject)
  })
})
