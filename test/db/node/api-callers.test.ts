// Who is who at the one listener: the local user on the socket of the data folder, guests on its port, strangers and pages everywhere else.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type CallerScene, operator, startCallerScene } from '../../doubles/caller-gateway.ts'
import { type PlainRequest, sendPlain } from '../../doubles/plain-request.ts'
import { nameDoor, ownedDoors, runRequest } from '../../doubles/protected-routes.ts'
import { describeOnPostgres } from '../../setup/databases.ts'

const json = { 'content-type': 'application/json' }

describeOnPostgres('a fresh gateway', (adminUrl) => {
  let scene: CallerScene
  beforeAll(async () => {
    scene = await startCallerScene(adminUrl)
  }, 60_000)
  afterAll(() => scene.close())
  const onPort = (request: PlainRequest) => sendPlain(scene.gateway.url, request)
  const onSocket = (request: PlainRequest) => sendPlain(scene.socket, request)

  test('knows the local user on the socket, for everything and without a token', async () => {
    expect(await onSocket(runRequest('mine'))).toMatchObject({
      status: 200,
      body: expect.stringContaining('gw:user/local'),
    })
    for (const path of ['/api/v1/agent/sessions', '/api/v1/agent/history?threadId=mine', '/metrics', '/admin/stats'])
      expect(await onSocket({ path })).toMatchObject({ status: 200 })
    expect(await onSocket({ path: '/a2a/tasks', headers: { 'a2a-version': '1.0' } })).toMatchObject({ status: 200 })
    expect(JSON.parse((await onSocket({ path: '/readyz' })).body)).toHaveProperty('database')
  })

  test('never takes a token that is not valid for none, also on the socket', async () => {
    const headers = { authorization: 'Bearer wrong' }
    for (const path of ['/admin/stats', '/api/v1/agent/sessions'])
      expect(await onSocket({ path, headers })).toMatchObject({ status: 401 })
  })

  test('lets a guest on the port speak to the demo connection, in threads that only their ids lead to', async () => {
    const first = await onPort(runRequest('guest-1'))
    expect(first).toMatchObject({ status: 200, body: expect.stringMatching(/gw:guest\/[0-9a-f]{32} said 0 lines/) })
    expect((await onPort(runRequest('guest-1'))).body).toMatch(/gw:guest\/[0-9a-f]{32} said 2 lines/)
    const other = await onPort(runRequest('guest-2'))
    expect(other.body).toContain('said 0 lines')
    const who = ({ body }: { body: string }) => /gw:guest\/[0-9a-f]+/.exec(body)?.[0]
    expect(who(other)).not.toBe(who(first))
  })

  test('keeps a guest out of a thread of the local user that has the same id', async () => {
    await onSocket(runRequest('shared-id', 'my secret'))
    expect((await onPort(runRequest('shared-id'))).body).toContain('said 0 lines')
    expect((await onSocket(runRequest('shared-id'))).body).toContain('gw:user/local said 2 lines')
  })

  test.each(ownedDoors.map((door) => [nameDoor(door), door] as const))(
    'asks a guest for a token: %s',
    async (_, door) => {
      const { status, body } = await onPort(door)
      expect([status, body]).toEqual([401, expect.stringMatching(/token|credential/i)])
    },
  )

  test('shows a guest the colour and nothing else', async () => {
    expect(await onPort({ path: '/healthz' })).toEqual({ status: 200, body: '{"status":"up"}' })
    expect(JSON.parse((await onPort({ path: '/readyz' })).body)).toEqual({ status: 'ready' })
  })

  test('takes the admin token on the port', async () => {
    for (const path of ['/admin/stats', '/metrics'])
      expect((await onPort({ path, headers: operator })).status).toBe(200)
    expect(JSON.parse((await onPort({ path: '/readyz', headers: operator })).body)).toHaveProperty('database')
  })

  test.each([
    'Via',
    'X-Forwarded-Host',
    'CF-Connecting-IP',
    'True-Client-IP',
    'X-Request-Id',
    'Cdn-Loop',
    'X-Amzn-Trace-Id',
  ])('sees a stranger in a caller who comes with %s', async (name) => {
    const passedOn = { [name]: '203.0.113.7' }
    expect((await onPort(runRequest('t1', 'hello', passedOn))).status).toBe(401)
    expect((await onSocket(runRequest('t1', 'hello', passedOn))).status).toBe(401)
    expect((await onPort({ path: '/admin/stats', headers: { ...operator, ...passedOn } })).status).toBe(404)
  })

  test('sees a stranger in a caller who asks for another host', async () => {
    for (const host of ['evil.example', 'localhost.evil.example', 'bot.example:8787'])
      expect((await onPort(runRequest('t1', 'hello', { host }))).status).toBe(401)
  })

  describe('refuses what a page elsewhere has a browser send', () => {
    const pages = (url: string): readonly (readonly [string, Record<string, string>])[] => [
      ['of another port of this machine', { origin: 'http://localhost:3000' }],
      ['of another port, by the browser’s word', { origin: 'http://127.0.0.1:3000', 'sec-fetch-site': 'same-site' }],
      ['of another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
      ['that says nothing but the browser’s word', { 'sec-fetch-site': 'cross-site' }],
      ['that may not name itself', { origin: 'null' }],
      ['that only looks like ours', { origin: `${url}.evil.example` }],
      [
        'that reached us by its own name',
        { origin: 'http://evil.example', host: 'evil.example', 'sec-fetch-site': 'same-origin' },
      ],
    ]
    const posts: readonly PlainRequest[] = [
      runRequest('t1'),
      { ...runRequest('t1'), path: '/api/v1/agent/runs' },
      ...ownedDoors.filter(({ method }) => method === 'POST'),
      {
        method: 'POST',
        path: '/a2a',
        headers: { ...json, 'a2a-version': '1.0' },
        body: '{"jsonrpc":"2.0","id":1,"method":"ListTasks"}',
      },
      {
        method: 'POST',
        path: '/email/decide/some-token',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'decision=approve&token=some-token',
      },
    ]
    test.each(posts.map((post) => [nameDoor(post), post] as const))('%s', async (_, post) => {
      for (const [name, said] of pages(scene.gateway.url))
        for (const send of [onPort, onSocket])
          expect([name, (await send({ ...post, headers: { ...post.headers, ...said } })).status]).toEqual([name, 403])
    })

    test('and shows it nothing of the local user', async () => {
      for (const [name, said] of pages(scene.gateway.url))
        for (const door of ownedDoors.filter(({ method }) => method === undefined)) {
          const { status } = await onSocket({ ...door, headers: { ...door.headers, ...said } })
          expect([name, nameDoor(door), [401, 404].includes(status)]).toEqual([name, nameDoor(door), true])
        }
    })
  })

  test('lets its own page, and a program without a page, through', async () => {
    const { url } = scene.gateway
    for (const said of [
      { origin: url },
      { origin: url, 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'none' },
    ])
      expect((await onPort(runRequest('own-page', 'hello', said))).status).toBe(200)
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])(
    'reads no JSON that comes as %s',
    async (type) => {
      const as = (door: PlainRequest) => ({ ...door, headers: { ...door.headers, 'content-type': type } })
      expect((await onPort(as(runRequest('t1')))).status).toBe(415)
      const posts = ownedDoors.filter(
        ({ method, path, body }) => method === 'POST' && body !== undefined && !path.endsWith('attachments'),
      )
      // A2A's own table of errors has 400 for it.
      for (const door of posts)
        expect([nameDoor(door), [400, 415]]).toEqual([
          nameDoor(door),
          expect.arrayContaining([(await onSocket(as(door))).status]),
        ])
    },
  )
})

describeOnPostgres('a gateway with a public URL', (adminUrl) => {
  let scene: CallerScene
  beforeAll(async () => {
    scene = await startCallerScene(adminUrl, { PARLEY_PUBLIC_URL: 'https://bot.invalid' })
  }, 60_000)
  afterAll(() => scene.close())

  test('knows no caller on its port without a token: what a proxy passes on can look like this machine', async () => {
    for (const door of [runRequest('t1'), ...ownedDoors])
      expect([nameDoor(door), (await sendPlain(scene.gateway.url, door)).status]).toEqual([nameDoor(door), 401])
  })

  test('still knows the local user on the socket, and its operator by a token', async () => {
    expect((await sendPlain(scene.socket, runRequest('t1'))).body).toContain('gw:user/local')
    expect((await sendPlain(scene.gateway.url, { path: '/admin/stats', headers: operator })).status).toBe(200)
  })

  test('takes its public address for its own page, and no other', async () => {
    const press = (origin: string) =>
      sendPlain(scene.gateway.url, {
        method: 'POST',
        path: '/email/decide/some-token',
        headers: { 'content-type': 'application/x-www-form-urlencoded', host: 'bot.invalid', origin },
        body: 'decision=approve&token=some-token',
      })
    expect((await press('https://bot.invalid')).status).toBe(404)
    for (const origin of ['https://evil.example', 'http://bot.invalid', 'null'])
      expect((await press(origin)).status).toBe(403)
  })
})
