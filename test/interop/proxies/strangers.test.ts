// Real reverse proxies with their defaults in front of the gateway: every caller through them is a stranger, whatever they write.
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { type CallerScene, operator, startCallerScene } from '../../doubles/caller-gateway.ts'
import { freePort } from '../../doubles/free-port.ts'
import { sendPlain } from '../../doubles/plain-request.ts'
import { nameDoor, ownedDoors, runRequest } from '../../doubles/protected-routes.ts'
import { unpackDebian } from '../debian.ts'
import { describeBeside, provePeer } from '../peer.ts'
import { caddy, haproxy, nginx, type ProxySetUp, type ReverseProxy, startProxy } from './proxy.ts'

const { url: adminUrl, reason } = inject('postgres')

/** What a caller can write to look like this machine. */
const disguises: readonly Readonly<Record<string, string>>[] = [
  {},
  { host: 'localhost' },
  { host: '127.0.0.1:8787' },
  { host: 'localhost', connection: 'x-forwarded-for, via, close' },
]

const setUps: readonly (readonly [string, string, ProxySetUp])[] = [
  ['nginx', 'with a plain proxy_pass', nginx()],
  ['nginx', 'that passes the name on and nothing else', nginx('proxy_set_header Host $http_host;')],
  ['nginx', 'that keeps connections open', nginx('proxy_http_version 1.1;', 'proxy_set_header Connection "";')],
  [
    'nginx',
    'by the recipe',
    nginx('proxy_set_header Host $host;', 'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;'),
  ],
  ['haproxy', 'in its mode for HTTP', haproxy('http')],
  ['haproxy', 'as a tunnel that adds nothing', haproxy('tcp')],
  ['caddy', 'with reverse_proxy', caddy],
]

for (const name of ['nginx', 'haproxy', 'caddy'] as const) {
  const peer = await provePeer(name, await unpackDebian(name), async (files) => {
    if (adminUrl === '') throw new Error(reason)
    const own = setUps.find(([each]) => each === name)?.[2]
    if (own !== undefined) await (await startProxy(files, own, 'http://127.0.0.1:9')).stop()
  })
  describeBeside(name, peer, (files) => {
    for (const [of, how, setUp] of setUps) {
      if (of !== name) continue
      describe(`${how}, in front of a gateway that knows its public URL`, () => {
        let scene: CallerScene
        let proxy: ReverseProxy
        beforeAll(async () => {
          const port = await freePort()
          scene = await startCallerScene(adminUrl, { PARLEY_PUBLIC_URL: `http://127.0.0.1:${port}` })
          proxy = await startProxy(files(), setUp, scene.gateway.url, port)
        }, 60_000)
        afterAll(async () => {
          await proxy.stop()
          await scene.close()
        })

        test('lets no caller in without a token', async () => {
          for (const headers of disguises)
            for (const door of [runRequest('t1'), ...ownedDoors]) {
              const { status } = await sendPlain(proxy.url, { ...door, headers: { ...door.headers, ...headers } })
              expect([nameDoor(door), headers, [401, 404].includes(status)]).toEqual([nameDoor(door), headers, true])
            }
        })

        test('shows the colour, and nothing behind it', async () => {
          expect((await sendPlain(proxy.url, { path: '/healthz' })).body).toBe('{"status":"up"}')
          // Degraded until the gateway has asked its public URL again: the proxy came up after it.
          const ready: unknown = JSON.parse((await sendPlain(proxy.url, { path: '/readyz' })).body)
          expect(ready).toEqual({ status: expect.stringMatching(/^(ready|degraded)$/) })
        })

        test('lets a token through', async () => {
          expect((await sendPlain(proxy.url, { path: '/metrics', headers: operator })).status).toBe(200)
        })
      })

      describe(`${how}, in front of a gateway that was not told`, () => {
        let scene: CallerScene
        let proxy: ReverseProxy
        beforeAll(async () => {
          scene = await startCallerScene(adminUrl)
          await sendPlain(scene.socket, runRequest('t1', 'my secret'))
          proxy = await startProxy(files(), setUp, scene.gateway.url)
        }, 60_000)
        afterAll(async () => {
          await proxy.stop()
          await scene.close()
        })

        test('opens nothing that is the local user’s', async () => {
          for (const headers of disguises)
            for (const door of ownedDoors) {
              const { status } = await sendPlain(proxy.url, { ...door, headers: { ...door.headers, ...headers } })
              expect([nameDoor(door), headers, [401, 404].includes(status)]).toEqual([nameDoor(door), headers, true])
            }
        })

        test('makes a stranger a guest at most', async () => {
          for (const headers of disguises) {
            const { status, body } = await sendPlain(proxy.url, runRequest('t1', 'hello', headers))
            if (status === 200) expect(body).toMatch(/gw:guest\/[0-9a-f]{32} said/)
            else expect(status).toBe(401)
            expect(body).not.toContain('gw:user/local')
          }
        })
      })
    }
  })
}
