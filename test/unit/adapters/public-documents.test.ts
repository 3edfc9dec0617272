// How connections stand that are reached at the gateway's own address: their documents are asked for there, as others ask for them.
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { emailChannel } from '../../../adapters/email/index.ts'
import type { ChannelDeps, ProbeRequest, ProbeResult } from '../../../src/contract/index.ts'
import { formatConnectionState } from '../../../src/observability/connection-health.ts'
import { type AdapterFixtures, createAdapterFromFixtures } from '../../../src/testing/adapter-fixtures.ts'
import { freePort } from '../../doubles/free-port.ts'
import { fixtures as a2aFixtures } from '../../fixtures/a2a/index.ts'
import { fixtures as activitypubFixtures } from '../../fixtures/activitypub/index.ts'
import { fixtures as aguiFixtures } from '../../fixtures/agui/index.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Answers with these documents, by path, and with 404 for the rest. */
const serving = (documents: (origin: string) => Readonly<Record<string, object>>): Promise<string> => {
  const asked: RequestListener = (incoming, outgoing) => {
    const found = documents(`http://${incoming.headers.host}`)[(incoming.url ?? '').split('?')[0] ?? '']
    if (found === undefined) return void outgoing.writeHead(404).end('nothing here')
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(found))
  }
  return listen(asked)
}

const nothingAt = async (): Promise<string> => `http://127.0.0.1:${await freePort()}`

type Asked = {
  readonly settings?: object
  readonly deps?: Partial<ChannelDeps>
  readonly request?: Partial<ProbeRequest>
}

async function ask(fixtures: AdapterFixtures, { settings = {}, deps = {}, request = {} }: Asked): Promise<ProbeResult> {
  const adapter = createAdapterFromFixtures({
    ...fixtures,
    settings: (origin) => ({ ...fixtures.settings(origin), ...settings }),
    ports: (origin, fetcher) => ({ ...fixtures.ports?.(origin, fetcher), ...deps }),
  })
  const result = await adapter.probe?.({ signal: AbortSignal.timeout(5_000), ...request })
  return result ?? expect.unreachable(`${adapter.channel} has no probe`)
}

const state = (result: ProbeResult) => result.problems[0]?.state ?? 'ok'
const lineOf = (connection: string, result: ProbeResult): string =>
  formatConnectionState({ connection, state: state(result), since: '', ...result })

describe('activitypub', () => {
  const documents = (origin: string) => ({
    '/.well-known/webfinger': {
      subject: 'acct:demo@x',
      links: [{ rel: 'self', type: 'application/activity+json', href: `${origin}/ap/demo` }],
    },
    '/ap/demo': { id: `${origin}/ap/demo`, type: 'Service' },
  })
  const at = async (origin: string, settings = {}) =>
    lineOf(
      'activitypub/default',
      await ask(activitypubFixtures, { settings: { insecureLoopback: [], ...settings }, deps: { publicUrl: origin } }),
    )
  const hostIn = (origin: string) => new URL(origin).host

  test('is well where its handle leads to its actor', async () => {
    const origin = await serving(documents)
    expect(await at(origin)).toBe(`activitypub @demo@${hostIn(origin)}, ok`)
  })

  test('names the document that is not passed on, and what to do', async () => {
    const origin = await serving(() => ({}))
    expect(await at(origin)).toBe(
      `activitypub @demo@${hostIn(origin)}: ${origin}/.well-known/webfinger answered 404. Correct PARLEY_PUBLIC_URL, or have the proxy pass this on to the gateway.`,
    )
  })

  test('is not well where WebFinger is passed on and the actor is a web page', async () => {
    const page: RequestListener = (incoming, outgoing) => {
      const found = documents(`http://${incoming.headers.host}`)['/.well-known/webfinger']
      outgoing.writeHead(200).end(incoming.url?.startsWith('/.well-known') ? JSON.stringify(found) : '<h1>Shop</h1>')
    }
    const origin = await listen(page)
    expect(await at(origin)).toContain(`${origin}/ap/demo answered with something else.`)
  })

  test('is not well where the handle leads to another server', async () => {
    const origin = await serving(() => documents('https://other.example'))
    expect(await at(origin)).toContain(`${origin}/.well-known/webfinger does not lead to this gateway.`)
  })

  test('that cannot be reached from here is degraded, for others may reach it', async () => {
    const origin = await nothingAt()
    const result = await ask(activitypubFixtures, {
      settings: { insecureLoopback: [] },
      deps: { publicUrl: origin },
    })
    expect(state(result)).toBe('degraded')
    expect(lineOf('activitypub/default', result)).toContain(
      `${origin}/.well-known/webfinger cannot be reached (ECONNREFUSED). Check PARLEY_PUBLIC_URL,`,
    )
  })

  test('a server that sends without an end, and one that says nothing, are given up', async () => {
    const flood = await listen((_, outgoing) => {
      outgoing.writeHead(200)
      const timer = setInterval(() => outgoing.write('x'.repeat(262_144)), 1)
      outgoing.on('close', () => clearInterval(timer))
    })
    expect(await at(flood)).toContain('answered with something else')
    const silent = await listen(() => {})
    const request = { signal: AbortSignal.timeout(200) }
    const result = await ask(activitypubFixtures, {
      settings: { insecureLoopback: [] },
      deps: { publicUrl: silent },
      request,
    })
    expect(result.problems[0]?.problem).toContain('cannot be reached (no answer)')
  })

  test('a redirect by the host of the handles is followed to us, and nowhere else', async () => {
    const asked: string[] = []
    const answers = (to: string): typeof fetch =>
      async function answer(input) {
        const url = new URL(String(input))
        asked.push(url.origin)
        if (url.host === 'example.org') return Response.redirect(`${to}/.well-known/webfinger${url.search}`, 301)
        return Response.json(documents(url.origin)[url.pathname as '/ap/demo'] ?? {})
      }
    const handles = { settings: { handleHost: 'example.org' } }
    const deps = { publicUrl: 'https://bots.example.org' }
    const well = await ask(activitypubFixtures, { ...handles, deps: { ...deps, fetch: answers(deps.publicUrl) } })
    expect(lineOf('activitypub/default', well)).toBe('activitypub @demo@example.org, ok')
    asked.length = 0
    const astray = await ask(activitypubFixtures, {
      ...handles,
      deps: { ...deps, fetch: answers('https://evil.example') },
    })
    expect(lineOf('activitypub/default', astray)).toContain(
      'https://example.org/.well-known/webfinger redirects elsewhere.',
    )
    expect(asked).toEqual(['https://example.org'])
  })
})

describe('a2a', () => {
  const card = (origin: string) => ({ supportedInterfaces: [{ url: `${origin}/a2a`, protocolBinding: 'JSONRPC' }] })
  const at = async (publicUrl: string, settings = {}, request = {}) =>
    lineOf(
      'a2a/default',
      await ask(a2aFixtures, { settings: { cards: 'public', ...settings }, deps: { publicUrl }, request }),
    )

  test('is well where others read its card', async () => {
    const origin = await serving((own) => ({ '/.well-known/agent-card.json': card(own) }))
    expect(await at(origin)).toBe(`a2a ${origin}/a2a, public card, ok`)
  })

  test('a connection at a path of its own has its card there', async () => {
    const own = '/others/.well-known/agent-card.json'
    const origin = await serving((here) => ({ [own]: { supportedInterfaces: [{ url: `${here}/others` }] } }))
    expect(await at(origin, { path: '/others' })).toBe(`a2a ${origin}/others, public card, ok`)
  })

  test('says what others read instead of its card', async () => {
    const missing = await serving(() => ({}))
    expect(await at(missing)).toContain(`: ${missing}/.well-known/agent-card.json answered 404. Correct`)
    const foreign = await serving(() => ({ '/.well-known/agent-card.json': card('https://other.example') }))
    expect(await at(foreign)).toContain(`${foreign}/.well-known/agent-card.json is not the card of this gateway.`)
    const gone = await nothingAt()
    expect(await at(gone)).toContain(`${gone}/.well-known/agent-card.json cannot be reached (ECONNREFUSED). Check`)
  })

  test('a card for callers alone is not asked for: no rejected caller is made', async () => {
    let asked = 0
    const origin = await listen((_, outgoing) => {
      asked += 1
      outgoing.writeHead(401).end()
    })
    const line = await at(origin, { cards: 'callers' }, { publicUrl: async () => 'reached' })
    expect([line, asked]).toEqual([`a2a ${origin}/a2a, cards for callers with a token, ok`, 0])
  })
})

describe.each([
  ['agui/demo', aguiFixtures, '/api/v1/agent/run', ''],
  ['a2a/default', a2aFixtures, '/a2a', ', cards for callers with a token'],
] as const)('%s', (key, fixtures, path, more) => {
  const { publicUrl: _, ...kit }: AdapterFixtures = fixtures
  const settings = key === 'a2a/default' ? { cards: 'callers' } : {}
  const name = key.replace('/default', '')
  const at = async (deps: Partial<ChannelDeps>, found?: Awaited<ReturnType<NonNullable<ProbeRequest['publicUrl']>>>) =>
    lineOf(
      key,
      await ask({ ...kit, settings: () => ({}) }, { settings, deps, request: { publicUrl: async () => found } }),
    )

  test('without a public URL it says who reaches it, and that is no fault', async () => {
    expect(await at({ isLocalOnly: true })).toBe(`${name} this machine only, ok`)
    expect(await at({})).toBe(`${name} no public URL, ok`)
  })

  test('stands as the public URL does', async () => {
    const publicUrl = 'https://bots.example.org'
    const who = `${name} ${publicUrl}${path}${more}`
    for (const found of ['reached', 'looks_local', 'another_gateway'] as const)
      expect(await at({ publicUrl }, found)).toBe(`${who}, ok`)
    expect(await at({ publicUrl }, 'other_server')).toBe(
      `${who}: another server answers at bots.example.org. Correct PARLEY_PUBLIC_URL, or have the proxy pass this on to the gateway.`,
    )
    expect(await at({ publicUrl }, 'unreachable')).toBe(
      `${who}: bots.example.org cannot be reached from here. Check PARLEY_PUBLIC_URL, its certificate and the proxy.`,
    )
  })
})

test('mail that only this machine can send is known as such, and mail behind a mail server is not', () => {
  const deps: ChannelDeps = {
    connection: { tenant: 'default', id: 'default', agent: 'demo', domain: 'parley.localhost' },
    fetch,
    now: Date.now,
    hmac: { sha256: () => new Uint8Array(32) },
  }
  const isLocalOnly = (env: Record<string, string>): boolean | undefined => {
    const read = emailChannel.fromEnvironment(env)
    const settings = read !== undefined && 'settings' in read ? read.settings : expect.unreachable()
    return emailChannel.create(settings, deps).isLocalOnly
  }
  expect(isLocalOnly({})).toBe(true)
  expect(isLocalOnly({ EMAIL_DOMAIN: 'agents.example', EMAIL_SMTP_PORT: '2525' })).toBe(false)
  expect(isLocalOnly({ PARLEY_PUBLIC_URL: 'https://bots.example.org' })).toBe(false)
})
