// What an address leads to: each channel says where the agent is, one document says all of it.
import { expect, test } from 'vitest'
import { a2a, a2aChannel } from '../../../adapters/a2a/index.ts'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import type { ChannelDefinition } from '../../../src/contract/index.ts'
import type { WebFinger } from '../../../src/contract/optional-verbs.ts'
import { loopbackClientId } from '../../doubles/loopback/index.ts'
import { createTestApp } from '../../doubles/test-app.ts'
import { createTestGateway, loopbackConnections } from '../../doubles/test-gateway.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const origin = 'https://gw.example'
const card = {
  rel: 'https://mentionable.dev/ns/rel/agent-card',
  type: 'application/json',
  href: `${origin}/.well-known/agent-card/demo`,
}

/** Knows `demo`, and that `old` was here. */
const discovery: WebFinger = {
  async urls(agent) {
    if (agent === 'old') return 'gone'
    if (agent !== 'demo') return undefined
    const subscribe = `${origin}/authorize?uri={uri}`
    return { self: `${origin}/ap/demo`, profilePage: `${origin}/@demo`, subscribe }
  },
  agentAt: ({ href }) => (href === `${origin}/ap/demo` || href === `${origin}/@demo` ? 'demo' : undefined),
}

const found = (changes: Partial<WebFinger> = {}): ChannelDefinition => ({
  ...loopbackClientId,
  create: (settings, deps) => ({ ...loopbackClientId.create(settings, deps), webfinger: { ...discovery, ...changes } }),
})

describeOnDatabase('the document of an address', (database) => {
  const appOf = (publicUrl: string, channel = found()) => {
    const [connection] = loopbackConnections('http://127.0.0.1:9')
    const gateway = createTestGateway(
      database(),
      {
        agents: [defineAgent({ slug: 'demo', run: () => 'hello' })],
        connections: [a2a(), ...(connection === undefined ? [] : [connection])],
      },
      {},
      [a2aChannel, channel],
      { PARLEY_PUBLIC_URL: publicUrl },
    )
    const app = createTestApp(gateway, database())
    const ask = (resource: string, more = '') =>
      app.request(`/.well-known/webfinger?resource=${encodeURIComponent(resource)}${more}`)
    return { app, ask, stop: gateway.stop }
  }

  test('holds what every channel says, in the order there is, for any page to read', async () => {
    const { ask, stop } = appOf(origin)
    const response = await ask('acct:demo@gw.example')
    expect([
      response.status,
      response.headers.get('content-type'),
      response.headers.get('access-control-allow-origin'),
    ]).toEqual([200, 'application/jrd+json; charset=utf-8', '*'])
    expect(await response.json()).toEqual({
      subject: 'acct:demo@gw.example',
      aliases: [`${origin}/@demo`, `${origin}/ap/demo`],
      links: [
        { rel: 'self', type: 'application/activity+json', href: `${origin}/ap/demo` },
        card,
        { rel: 'http://webfinger.net/rel/profile-page', type: 'text/html', href: `${origin}/@demo` },
        { rel: 'http://ostatus.org/schema/1.0/subscribe', template: `${origin}/authorize?uri={uri}` },
      ],
    })
    const one = await ask('acct:demo@gw.example', `&rel=${encodeURIComponent(card.rel)}`)
    expect(await one.json()).toMatchObject({ links: [card] })
    stop()
  })

  test('is found by account and by every address of the channels, and names one account', async () => {
    const { ask, stop } = appOf(origin)
    const names = [
      `${origin}/ap/demo`,
      `${origin}/@demo`,
      'acct:Demo@GW.example',
      '@demo@gw.example',
      'demo@gw.example',
    ]
    for (const name of names) expect(await (await ask(name)).json()).toMatchObject({ subject: 'acct:demo@gw.example' })
    stop()
  })

  test('is not there for others, and says so where somebody is gone', async () => {
    const { ask, stop } = appOf(origin)
    const asked: readonly (readonly [string, number])[] = [
      ['acct:nobody@gw.example', 404],
      ['acct:demo@elsewhere.example', 404],
      ['acct:demo@gw.example:8443', 404],
      ['https://elsewhere.example/ap/demo', 404],
      ['https://', 404],
      ['acct:demo', 404],
      ['acct:@gw.example', 404],
      ['acct:de mo@gw.example', 404],
      ['acct:old@gw.example', 410],
      ['', 400],
      ['a'.repeat(3_000), 400],
    ]
    for (const [resource, status] of asked) {
      const response = await ask(resource)
      expect([resource, response.status, response.headers.get('access-control-allow-origin')]).toEqual([
        resource,
        status,
        '*',
      ])
    }
    stop()
  })

  test('names the account of the domain that a channel gives it, asked by either', async () => {
    const places = async () => ({ self: `${origin}/ap/demo`, domain: 'example.org' })
    const { ask, stop } = appOf(origin, found({ urls: places }))
    for (const host of ['example.org', 'gw.example'])
      expect(await (await ask(`acct:demo@${host}`)).json()).toMatchObject({ subject: 'acct:demo@example.org' })
    stop()
  })

  test('is there on this machine too, with its port, and not in the clear for anybody else', async () => {
    const here = 'http://127.0.0.1:8080'
    const places = async () => ({ self: `${here}/ap/demo`, domain: '127.0.0.1:8080' })
    const local = appOf(here, found({ urls: places }))
    expect(await (await local.ask('acct:demo@127.0.0.1:8080')).json()).toMatchObject({
      subject: 'acct:demo@127.0.0.1:8080',
      links: [{ rel: 'self' }, { rel: card.rel }],
    })
    local.stop()
    const open = appOf('http://gw.example')
    expect((await open.ask('acct:demo@gw.example')).status).toBe(501)
    open.stop()
  })
})
