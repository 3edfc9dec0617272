// The gateway asks its own public URL at the start, over the network as a stranger would, and says where it leads.
import { createServer as createHttpServer, type RequestListener, request } from 'node:http'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { type CallerScene, operator, startCallerScene } from '../../doubles/caller-gateway.ts'
import { freePort } from '../../doubles/free-port.ts'
import { sendPlain } from '../../doubles/plain-request.ts'
import { describeOnPostgres } from '../../setup/databases.ts'

type Found = {
  readonly state: string
  readonly forwardedBy?: readonly string[]
  readonly host?: string
  readonly remedy?: string
}
type Weak = { readonly id: string; readonly severity: string; readonly weak: string }

describeOnPostgres('the public URL', (adminUrl) => {
  let scene: CallerScene | undefined
  let front: Server | undefined
  afterEach(async () => {
    await scene?.close()
    front?.close()
  })
  const listenAt = async (server: Server): Promise<string> => {
    front = server
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  // Chosen before the start: it asks while it starts.
  let port = 0
  /** A proxy in front of the gateway that says for whom it asks. */
  const passOn: RequestListener = (incoming, outgoing) => {
    const headers = { ...incoming.headers, 'x-forwarded-for': '203.0.113.7' }
    const options = { host: '127.0.0.1', port, path: incoming.url, method: incoming.method, headers }
    incoming.pipe(
      request(options, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500)
        answer.pipe(outgoing)
      }),
    )
  }
  const start = async (publicUrl: string) => {
    port = await freePort()
    scene = await startCallerScene(adminUrl, { PARLEY_PUBLIC_URL: publicUrl, PARLEY_PORT: String(port) })
    return scene
  }
  const ask = async (path: string) =>
    JSON.parse((await sendPlain(scene?.gateway.url ?? '', { path, headers: operator })).body) as Record<string, unknown>
  const found = async (): Promise<Found> => (await ask('/readyz'))['publicUrl'] as Found
  const settled = () => expect.poll(async () => (await found()).state, { timeout: 10_000 }).not.toBe('checking')
  const audited = async () =>
    ((await ask('/admin/audit/config'))['findings'] as readonly Weak[]).filter(({ id }) => id === 'AC-107')

  test('that leads here through a proxy is reached as a stranger, with the headers the proxy adds', async () => {
    const { logged } = await start(await listenAt(createHttpServer(passOn)))
    await settled()
    expect(await found()).toEqual({ state: 'reached', forwardedBy: ['x-forwarded-for'], host: 'passed_on' })
    expect(await audited()).toEqual([])
    expect(logged.filter(({ event }) => event === 'public_url_checked')).toMatchObject([
      { level: 'info', facts: { reason: 'reached' } },
    ])
  })

  test('that leads here through a tunnel looks local, which is told and opens nothing', async () => {
    const { logged } = await start(
      await listenAt(
        createServer((near) => {
          const far = connect(port, '127.0.0.1')
          near.pipe(far).pipe(near)
          for (const each of [near, far]) each.on('error', () => {})
        }),
      ),
    )
    await settled()
    expect(await found()).toMatchObject({ state: 'looks_local', remedy: expect.stringContaining('X-Forwarded-For') })
    expect(await audited()).toMatchObject([
      { severity: 'warning', weak: expect.stringContaining('forwarding headers: none') },
    ])
    expect(logged).toContainEqual({
      level: 'warn',
      event: 'public_url_checked',
      facts: expect.objectContaining({ reason: 'looks_local' }),
    })
  })

  test('that leads to another server is a critical finding, however much that one says', async () => {
    const flood: RequestListener = (_, outgoing) => {
      outgoing.writeHead(200)
      const timer = setInterval(() => outgoing.write('x'.repeat(65_536)), 1)
      outgoing.on('close', () => clearInterval(timer))
    }
    await start(await listenAt(createHttpServer(flood)))
    await settled()
    expect(await found()).toMatchObject({ state: 'other_server' })
    expect(await audited()).toMatchObject([{ severity: 'critical' }])
  })

  test('that redirects is not followed', async () => {
    let followed = 0
    const redirect: RequestListener = ({ url = '' }, outgoing) => {
      if (url === '/elsewhere') followed += 1
      outgoing.writeHead(302, { location: '/elsewhere' }).end()
    }
    await start(await listenAt(createHttpServer(redirect)))
    await settled()
    expect([(await found()).state, followed]).toEqual(['other_server', 0])
  })

  type Standing = { readonly connection: string; readonly state: string; readonly reason?: string }
  const standing = async () =>
    ((await ask('/readyz'))['connections'] as readonly Standing[])
      .filter(({ connection }) => !connection.startsWith('email'))
      .map(({ connection, state, reason = '' }) => [connection, state, reason].join(' '))
      .toSorted()

  test('is how the connections behind it stand, asked once for all of them', async () => {
    let asked = 0
    const other: RequestListener = (_, outgoing) => {
      asked += 1
      outgoing.writeHead(404).end('a shop')
    }
    const { logged } = await start(await listenAt(createHttpServer(other)))
    await expect
      .poll(standing, { timeout: 10_000 })
      .toEqual(['a2a/default failed public_url_wrong', 'agui/demo failed public_url_wrong'])
    expect(asked).toBe(1)
    expect(logged).toContainEqual({
      level: 'warn',
      event: 'connection_checked',
      facts: expect.objectContaining({
        connection: 'agui/demo',
        state: 'failed',
        reason: 'public_url_wrong',
        problem: expect.stringMatching(/^another server answers at 127.0.0.1:\d+; correct PARLEY_PUBLIC_URL/),
      }),
    })
  })

  test('whose A2A card is read by others is well, and that nothing answers at is told for each connection', async () => {
    port = await freePort()
    const env = { PARLEY_PORT: String(port), A2A_CARDS: 'public' }
    const url = await listenAt(createHttpServer(passOn))
    scene = await startCallerScene(adminUrl, { ...env, PARLEY_PUBLIC_URL: url })
    await expect.poll(standing, { timeout: 10_000 }).toEqual(['a2a/default ok ', 'agui/demo ok '])
    await scene.close()
    const nothing = `http://127.0.0.1:${await freePort()}`
    scene = await startCallerScene(adminUrl, { ...env, PARLEY_PUBLIC_URL: nothing })
    await expect
      .poll(standing, { timeout: 10_000 })
      .toEqual(['a2a/default degraded public_url_unreachable', 'agui/demo degraded public_url_unreachable'])
  })

  test('that nothing answers at, or that hangs, keeps neither the start nor the stop waiting', async () => {
    await start(`http://127.0.0.1:${await freePort()}`)
    await settled()
    expect(await found()).toMatchObject({ state: 'unreachable' })
    await scene?.close()
    const begun = performance.now()
    await start(await listenAt(createServer(() => {})))
    expect(await found()).toEqual({ state: 'checking' })
    await scene?.close()
    scene = undefined
    expect(performance.now() - begun).toBeLessThan(4_500)
  })

  test('is asked of this process: what another one asks is answered without a proof', async () => {
    await start('http://127.0.0.1:9')
    const { status, body } = await sendPlain(scene?.gateway.url ?? '', {
      path: `/.well-known/parley-check/${'0'.repeat(32)}`,
    })
    expect([status, body]).toEqual([404, 'parley: another process'])
  })
})
