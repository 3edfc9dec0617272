// Who counts as the local user and who as a guest: by the socket a request came on, never by what it could have been passed on with.
import type { Server, Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import {
  createSourceClassifier,
  isForwardingHeader,
  isFromThisMachine,
  treatServerSocketsAsLocal,
} from '../../../src/node/incoming-request.ts'

const onLoopback = { remoteAddress: '127.0.0.1' } as Socket
const arrived = (headers: Readonly<Record<string, string>>, socket: Socket = onLoopback, httpVersion = '1.1') => ({
  socket,
  httpVersion,
  rawHeaders: Object.entries(headers).flat(),
})
const plain = { Host: '127.0.0.1:8787', 'User-Agent': 'curl/8', Accept: '*/*', 'Content-Type': 'application/json' }
const fresh = { host: '127.0.0.1', publicUrl: undefined }

/** A socket that came in on the socket of the data folder. */
function socketOf(): Socket {
  const socket = {} as Socket
  const server = { on: (_event: string, listener: (each: Socket) => void) => listener(socket) } as unknown as Server
  treatServerSocketsAsLocal(server as Parameters<typeof treatServerSocketsAsLocal>[0])
  return socket
}

describe('a caller on loopback TCP', () => {
  const sourceOf = createSourceClassifier(fresh)

  test('is a guest and never the local user', () => {
    for (const Host of ['127.0.0.1:8787', 'localhost', 'LOCALHOST:1', '[::1]:8787', 'parley.localhost:8787'])
      expect(sourceOf(arrived({ ...plain, Host }))).toBe('guest')
    for (const remoteAddress of ['::1', '::ffff:127.0.0.1', '127.8.9.1'])
      expect(sourceOf(arrived(plain, { remoteAddress } as Socket))).toBe('guest')
  })

  test('is not even a guest where the gateway has a public URL or listens to the network', () => {
    for (const reach of [
      { host: '127.0.0.1', publicUrl: 'https://bot.example' },
      { host: '0.0.0.0', publicUrl: undefined },
      { host: '::', publicUrl: undefined },
      { host: '10.0.0.5', publicUrl: undefined },
    ])
      expect(createSourceClassifier(reach)(arrived(plain))).toBe('remote')
  })

  test('that has gone away already, and so has no address any more, is a stranger', () => {
    expect(sourceOf(arrived(plain, {} as Socket))).toBe('remote')
  })

  test.each(['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '', '10.0.0.5:8787'])(
    'that calls us %j is a stranger',
    (Host) => {
      expect(sourceOf(arrived({ ...plain, Host }))).toBe('remote')
    },
  )

  test('that names two hosts, or none, is a stranger', () => {
    const twice = { ...arrived(plain), rawHeaders: [...arrived(plain).rawHeaders, 'host', 'localhost'] }
    expect(sourceOf(twice)).toBe('remote')
    const { Host: _host, ...nameless } = plain
    expect(sourceOf(arrived(nameless))).toBe('remote')
  })

  test('that speaks HTTP/1.0, as proxies with their defaults do, is a stranger', () => {
    expect(sourceOf(arrived(plain, onLoopback, '1.0'))).toBe('remote')
  })

  test('from another machine is a stranger', () => {
    expect(sourceOf(arrived(plain, { remoteAddress: '192.168.1.7' } as Socket))).toBe('remote')
  })
})

describe('a caller on the socket of the data folder', () => {
  test('is the local user, also behind a public URL', () => {
    for (const reach of [fresh, { host: '0.0.0.0', publicUrl: 'https://bot.example' }])
      expect(createSourceClassifier(reach)(arrived({ Host: 'localhost' }, socketOf()))).toBe('local')
  })

  test('that was passed on, or means another host, is a stranger', () => {
    const sourceOf = createSourceClassifier(fresh)
    expect(sourceOf(arrived({ Host: 'localhost', 'X-Forwarded-For': '1.2.3.4' }, socketOf()))).toBe('remote')
    expect(sourceOf(arrived({ Host: 'bot.example' }, socketOf()))).toBe('remote')
  })
})

describe('headers', () => {
  test.each([
    'Via',
    'Forwarded',
    'X-Forwarded',
    'X-Forwarded-For',
    'X-Forwarded-Host',
    'X-Forwarded-Proto',
    'X-Forwarded-Port',
    'X-Forwarded-Server',
    'X-Forwarded-Prefix',
    'X-Forwarded-Client-Cert',
    'X-Real-IP',
    'X_Forwarded_For',
    'Client-IP',
    'CF-Connecting-IP',
    'CF-Ray',
    'CF-Visitor',
    'True-Client-IP',
    'X-Client-IP',
    'X-Envoy-External-Address',
    'X-Envoy-Attempt-Count',
    'Fly-Client-IP',
    'Fly-Request-Id',
    'X-Original-Forwarded-For',
    'X-Original-Host',
    'X-Cluster-Client-IP',
    'X-Azure-ClientIP',
    'X-Azure-FDID',
    'Cdn-Loop',
    'X-Amzn-Trace-Id',
    'X-Amz-Cf-Id',
    'X-Request-Id',
    'Fastly-Client-IP',
    'X-Appengine-User-IP',
    'X-Cloud-Trace-Context',
    'X-Vercel-Id',
    'X-NF-Client-Connection-IP',
    'X-ARR-LOG-ID',
    'X-ProxyUser-Ip',
    'WL-Proxy-Client-IP',
    'Proxy-Client-IP',
    'X-Remote-IP',
    'X-Remote-Addr',
    'X-Scheme',
    'X-Host',
    'X-Varnish',
    'X-Original-URL',
    'X-Rewrite-URL',
    'X-Request-Start',
    'Front-End-Https',
    'Akamai-Origin-Hop',
    'X-Akamai-Edgescape',
    'Incap-Client-IP',
    'X-Sucuri-ClientIP',
    'Tailscale-User-Login',
    'X-Source-IP',
    'X-Originating-IP',
  ])('%s says that a request was passed on', (name) => {
    expect([isForwardingHeader(name), isForwardingHeader(name.toLowerCase())]).toEqual([true, true])
    expect(isFromThisMachine(arrived({ ...plain, [name]: 'x' }))).toBe(false)
  })

  test.each([
    'Host',
    'User-Agent',
    'Accept',
    'Accept-Encoding',
    'Accept-Language',
    'Content-Type',
    'Content-Length',
    'Connection',
    'Authorization',
    'Cookie',
    'Origin',
    'Referer',
    'Sec-Fetch-Site',
    'Sec-Fetch-Mode',
    'Sec-Ch-Ua',
    'Cache-Control',
    'Pragma',
    'Traceparent',
    'Tracestate',
    'Last-Event-Id',
    'Prefer',
    'Priority',
    'Range',
    'If-None-Match',
    'Expect',
    'Transfer-Encoding',
    'A2A-Version',
    'X-Agents-Api-Caller-Host',
    'X-Agents-Api-Caller-User',
    'X-Agents-Api-Chain-Root',
    'X-Api-Key',
    'Proxy-Connection',
    'X-Slack-Signature',
    'X-Slack-Request-Timestamp',
    'X-Telegram-Bot-Api-Secret-Token',
    'X-Requested-With',
    'X-Stainless-Lang',
  ])('%s is what clients send themselves', (name) => {
    expect(isForwardingHeader(name)).toBe(false)
  })
})
