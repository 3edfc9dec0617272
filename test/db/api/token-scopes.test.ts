// What a token opens: every operator route against every scope, so that a new route is closed until somebody opens it.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createApp } from '../../../src/api/app.ts'
import type { AppDeps } from '../../../src/api/deps.ts'
import { type Api, startApi } from '../../doubles/api.ts'
import { operatorToken } from '../../doubles/test-app.ts'
import { madeToken } from '../../doubles/tokens.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

/** Nothing in them was said by anybody or given to a tool. */
const readable = [
  '/admin/stats',
  '/admin/agents',
  '/admin/explain/:id',
  '/admin/dead-letters',
  '/admin/refused',
  '/admin/ignored',
  '/admin/deliveries',
  '/admin/runs',
  '/admin/runs/:id',
  '/admin/sessions',
  '/admin/tokens',
  '/admin/audit',
  '/admin/rejected',
  '/admin/grants',
  '/admin/pairings',
  '/admin/principals',
  '/admin/principals/links',
  '/admin/approvals/summary',
].map((path) => `GET ${path}`)

// Stepping into somebody's conversation is an operator's act, also where it is about what is theirs.
const owned = /^\w+ \/admin\/(sessions|approvals|tool-requests)(\/|$)(?!.*\/(take-over|give-back|say)$)/

// Only the connections are looked at before a request comes.
const routes = createApp({ gateway: { connections: [] } } as unknown as AppDeps)
  .routes.filter(({ method, path }) => method !== 'ALL' && path.startsWith('/admin/'))
  .map(({ method, path }) => `${method} ${path}`)

describeOnDatabase('a token', (database) => {
  let api: Api
  beforeEach(() => {
    api = startApi(database())
  })
  afterEach(() => api.stop())

  const opened = async (terms: Parameters<typeof madeToken>[1]) => {
    const { clear } = await madeToken(database(), terms)
    const answers = await Promise.all(
      routes.map(async (route) => {
        const [method = '', path = ''] = route.split(' ')
        const body = method === 'POST' ? {} : undefined
        const id = '0192f1c2-7d5e-7abc-8def-0123456789ab'
        const { status } = await api.operate(method, path.replace(':id', id), body, clear)
        return { route, isOpen: status !== 401 && status !== 403 }
      }),
    )
    return answers.flatMap(({ route, isOpen }) => (isOpen ? [route] : []))
  }

  test('to read opens what changes nothing and holds no content', async () => {
    expect((await opened({ scopes: ['read'] })).toSorted()).toEqual(readable.toSorted())
  })

  test('to run opens no operator route, also with a principal', async () => {
    expect(await opened({ scopes: ['run'] })).toEqual([])
    expect(await opened({ scopes: ['run'], principal: 'test:ada' })).toEqual([])
  })

  test('of a person opens what answers by owner, whatever else its scopes say', async () => {
    const theirs = routes.filter((route) => owned.test(route))
    expect(await opened({ scopes: ['own'], principal: 'test:ada' })).toEqual(theirs)
    expect(await opened({ scopes: ['admin', 'run'], principal: 'test:ada' })).toEqual(theirs)
  })

  test('of an operator opens all', async () => {
    expect(await opened({ scopes: ['admin'] })).toEqual(routes)
  })

  test('is made with everything that can be said about it, and by whom is written down', async () => {
    const wish = {
      label: 'shop',
      scopes: ['run', 'own', 'run'],
      principal: 'test:ada',
      agent: 'demo',
      workspace: { workspace_type: 'tenant', workspace_id: 'default' },
      allowedCapabilities: ['read_orders'],
      clientId: 'shop app',
      expiresInMs: 60_000,
    }
    const { status, body } = await api.operate('POST', '/admin/tokens', wish)
    expect(status).toBe(200)
    const { expiresInMs, ...terms } = { ...wish, scopes: ['run', 'own'] }
    expect(body).toMatchObject({ ...terms, createdBy: 'operator:first token', state: 'active' })
    expect(Date.parse(body.expiresAt)).toBeGreaterThan(Date.parse(body.createdAt))
    expect(expiresInMs).toBe(60_000)
    const { body: second } = await api.operate('POST', '/admin/tokens', { label: 'more' })
    const { body: third } = await api.operate('POST', '/admin/tokens', { label: 'by the second' }, second.token)
    expect([second.scopes, third.createdBy]).toEqual([['admin'], 'operator:more'])
    expect(second.workspace).toEqual({ workspace_type: 'tenant', workspace_id: 'default' })
  })

  test.each([
    ['own without a principal', { scopes: ['own'] }, 'principal'],
    ['read with one', { scopes: ['read'], principal: 'test:ada' }, 'own'],
    ['no scope', { scopes: [] }, 'scopes'],
    ['an unknown scope', { scopes: ['root'] }, 'scopes'],
    ['a principal without a namespace', { principal: 'ada' }, 'principal'],
    ['a principal with a hidden character', { principal: 'test:ada\u200b' }, 'principal'],
    ['an agent that is not there', { scopes: ['run'], agent: 'nobody' }, 'demo'],
    [
      'a workspace that nothing belongs to',
      { workspace: { workspace_type: 'team', workspace_id: 'T1' } },
      'tenant:default',
    ],
    ['half a workspace', { workspace: { workspace_type: 'team' } }, 'workspace'],
    ['a workspace of no type', { workspace: { workspace_type: 'Team !', workspace_id: '1' } }, 'workspace_type'],
    ['a capability with a blank', { allowedCapabilities: ['a b'] }, 'allowedCapabilities'],
  ])('is not made with %s, and the answer says why', async (_name, wish, named) => {
    const { status, body } = await api.operate('POST', '/admin/tokens', { label: 'x', ...wish })
    expect([status, body.error.code]).toEqual([400, 'bad_request'])
    expect(body.error.remedy).toContain(named)
    expect((await api.operate('GET', '/admin/tokens')).body.tokens).toEqual([])
  })

  test('is told apart from no token at all', async () => {
    const { clear } = await madeToken(database(), { scopes: ['run'] })
    expect((await api.operate('GET', '/admin/stats', undefined, clear)).body.error.code).toBe('forbidden')
    expect((await api.operate('GET', '/admin/stats', undefined, `${operatorToken}x`)).body.error.code).toBe(
      'unauthorized',
    )
  })
})
