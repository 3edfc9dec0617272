// Callers of the API are counted where the operator says so: over all replicas, and at no cost where they do not.

import { afterEach, expect, test } from 'vitest'
import type { ApiLimits } from '../../../src/config/limits.ts'
import { loadConfig } from '../../../src/config.ts'
import { nameStatement } from '../../../src/db/client.ts'
import { type Api, startApi } from '../../doubles/api.ts'
import { madeToken } from '../../doubles/tokens.ts'
import { watchedDatabase } from '../../doubles/watched-database.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const hour = 60 * 60_000

describeOnDatabase('a limit of the API', (database) => {
  const started: Api[] = []
  afterEach(async () => {
    for (const api of started.splice(0)) await api.stop()
  })
  const start = (rules: ApiLimits, on = database()): Api => {
    const api = startApi(on, undefined, 30_000, {}, {}, { limits: rules })
    started.push(api)
    return api
  }
  const token = async (principal: string | null = null) => ({
    token: (await madeToken(database(), { scopes: ['run'], principal })).clear,
  })
  const look = (api: Api, from: { token: string }) => api.request('/api/v1/agent/sessions', {}, from)

  test('counts guests together, whichever thread each of them names', async () => {
    const limits = { runsPerDay: 2 }
    const api = startApi(database(), undefined, 30_000, {}, {}, { limits, sourceOf: () => 'guest' })
    started.push(api)
    const statuses = []
    for (const threadId of ['a', 'b', 'c']) statuses.push((await api.run(`r-${threadId}`, { threadId })).status)
    expect(statuses).toEqual([200, 200, 429])
  })

  test('lets so many through, counts for all replicas, and says when to come back', async () => {
    const rules = { perToken: { count: 3, perMs: hour } }
    const [one, other] = [start(rules), start(rules)]
    const ada = await token()
    const answers = [await look(one, ada), await look(other, ada), await look(one, ada)]
    expect(answers.map((each) => [each.status, each.headers.get('ratelimit-remaining')])).toEqual([
      [200, '2'],
      [200, '1'],
      [200, '0'],
    ])
    const refused = await look(other, ada)
    expect(refused.status).toBe(429)
    const wait = Number(refused.headers.get('retry-after'))
    expect(wait).toBeGreaterThan(0)
    expect(wait).toBeLessThanOrEqual(3600)
    expect(Object.fromEntries(refused.headers)).toMatchObject({
      'ratelimit-limit': '3',
      'ratelimit-remaining': '0',
      'ratelimit-policy': '3;w=3600',
      'content-type': 'application/problem+json',
    })
    expect(await refused.json()).toMatchObject({
      status: 429,
      code: 'rate_limited',
      remedy: expect.stringContaining('wait'),
    })
    expect((await look(one, ada)).status).toBe(429)
    expect((await look(one, await token())).status).toBe(200)
  })

  test('counts a principal over all of its tokens, and runs apart from looking', async () => {
    const api = start({ perPrincipal: { count: 5, perMs: hour }, runsPerDay: 1 })
    const [first, second] = [await token('test:ada'), await token('test:ada')]
    expect((await api.run('r1', first)).status).toBe(200)
    expect(await api.run('r2', second)).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
    expect(api.heard).toHaveLength(1)
    const looks = [await look(api, first), await look(api, second), await look(api, first), await look(api, second)]
    expect(looks.map(({ status }) => status)).toEqual([200, 200, 200, 429])
  })

  test('counts a token that only looks at what is its holder’s', async () => {
    const api = start({ perToken: { count: 2, perMs: hour }, perPrincipal: { count: 4, perMs: hour } })
    const own = async () => ({ token: (await madeToken(database(), { scopes: ['own'], principal: 'test:ada' })).clear })
    const [first, second] = [await own(), await own()]
    const looks = [await look(api, first), await look(api, first), await look(api, first), await look(api, second)]
    expect(looks.map(({ status }) => status)).toEqual([200, 200, 429, 200])
    expect((await look(api, second)).status).toBe(429)
  })

  test('asks the database no more once somebody is over, and never where no limit is set', async () => {
    const asked: string[] = []
    const watched = watchedDatabase(database(), (name) => void asked.push(name))
    const api = start({ perToken: { count: 1, perMs: hour } }, watched)
    const ada = await token()
    for (let times = 0; times < 4; times += 1) await look(api, ada)
    expect(asked.filter((name) => name === 'before:spend_limits')).toHaveLength(2)
    const free = start({}, watched)
    await look(free, ada)
    expect(asked.filter((name) => name === 'before:spend_limits')).toHaveLength(2)
  })

  test('keeps no row of whoever is turned away, and no name of whoever is not', async () => {
    const api = start({ perToken: { count: 1, perMs: hour }, perPrincipal: { count: 9, perMs: hour } })
    await look(api, { token: `parley_00000000_${'x'.repeat(43)}` })
    await look(api, await token('test:ada'))
    const rows = await database().query<{ scope: string }>(
      nameStatement('test_scopes', 'select scope from connection_limits'),
      [],
    )
    expect(rows.map(({ scope }) => scope.replace(/[0-9a-f]{64}/, 'hash')).toSorted()).toEqual([
      'principal:hash',
      'token:hash',
    ])
  })
})

test('a limit that cannot be is refused at the start, with its name', () => {
  const limits = { perToken: { count: 0, perMs: 10 }, runsPerDay: 1.5 }
  expect(() => loadConfig({}, { limits }, [])).toThrow(
    /limits\.perToken\.count[\s\S]*limits\.perToken\.perMs[\s\S]*limits\.runsPerDay/,
  )
})
