// Discovery where the gateway's own WebFinger answers for this channel: through the whole app.
import { expect, test } from 'vitest'
import { type ActivityPubOptions, activitypub, activitypubChannel } from '../../../adapters/activitypub/index.ts'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { createTestApp } from '../../doubles/test-app.ts'
import { createTestGateway } from '../../doubles/test-gateway.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const origin = 'https://gw.example'
const self = { rel: 'self', type: 'application/activity+json', href: `${origin}/ap/demo` }

describeOnDatabase('ActivityPub: how our agents are found', (database) => {
  const open = (settings: ActivityPubOptions = {}) => {
    const gateway = createTestGateway(
      database(),
      { agents: [defineAgent({ slug: 'demo', run: () => 'hello' })], connections: [activitypub(settings)] },
      { sealKeys: async () => [new Uint8Array(32).fill(7)] },
      [activitypubChannel],
      { PARLEY_PUBLIC_URL: origin },
    )
    const app = createTestApp(gateway, database())
    const finger = (resource: string) => app.request(`/.well-known/webfinger?resource=${encodeURIComponent(resource)}`)
    return { app, finger, stop: gateway.stop }
  }

  test('AP-001, AP-002, AP-003: an account in any case, the actor and the profile lead to one document', async () => {
    const { finger, stop } = open()
    const asked = ['acct:demo@gw.example', 'acct:DEMO@GW.EXAMPLE', `${origin}/ap/demo`, `${origin}/@demo`]
    const answers = await Promise.all(asked.map(finger))
    const documents = await Promise.all(answers.map((answer) => answer.json()))
    expect(documents).toEqual(new Array(4).fill(documents[0]))
    expect(documents[0]).toMatchObject({ subject: 'acct:demo@gw.example', links: expect.arrayContaining([self]) })
    const [{ headers } = expect.unreachable()] = answers
    expect([headers.get('content-type'), headers.get('access-control-allow-origin')]).toEqual([
      'application/jrd+json; charset=utf-8',
      '*',
    ])
    stop()
  })

  test('AP-004, AP-008: nobody, nobody here, no question, and nobody any more', async () => {
    const { app, finger, stop } = open({ retired: ['old'] })
    const answers = [
      await finger('acct:nobody@gw.example'),
      await finger('acct:demo@elsewhere.example'),
      await app.request('/.well-known/webfinger'),
      await finger('acct:old@gw.example'),
      await app.request('/ap/old', { headers: { accept: 'application/activity+json' } }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 400, 410, 410])
    for (const answer of answers) expect(await answer.text()).not.toMatch(/\bat .*:\d+/)
    stop()
  })

  test('AP-005: with a domain of its own the handle has one canonical form, and the other is an alias', async () => {
    const { app, finger, stop } = open({ handleHost: 'people.example' })
    const asked = ['acct:demo@people.example', 'acct:demo@gw.example']
    const documents = await Promise.all(asked.map(async (resource) => (await finger(resource)).json()))
    expect(documents).toEqual(new Array(2).fill(documents[0]))
    expect(documents[0]).toMatchObject({
      subject: 'acct:demo@people.example',
      aliases: expect.arrayContaining(['acct:demo@gw.example', `${origin}/ap/demo`]),
    })
    const actor = await app.request('/ap/demo', { headers: { accept: 'application/activity+json' } })
    expect(await actor.json()).toMatchObject({ webfinger: 'demo@people.example' })
    stop()
  })

  test('AP-010: the instance is an account at its own host, by name and by address, also where handles have another host', async () => {
    const account = { subject: 'acct:gw.example@gw.example' }
    const links = [{ rel: 'self', type: 'application/activity+json', href: `${origin}/ap/actor` }]
    for (const settings of [{}, { handleHost: 'people.example' }]) {
      const { app, finger, stop } = open(settings)
      const actor = await (await app.request('/ap/actor')).json()
      expect(actor).toMatchObject({ id: links[0]?.href, preferredUsername: 'gw.example' })
      for (const resource of ['acct:gw.example@gw.example', 'acct:GW.example@gw.example', `${origin}/ap/actor`])
        expect(await (await finger(resource)).json()).toEqual({ ...account, aliases: [`${origin}/ap/actor`], links })
      expect((await finger('acct:gw.example@people.example')).status).toBe(404)
      stop()
    }
  })

  test('every path of the channel is reached through the app, and pages are pages', async () => {
    const { app, stop } = open()
    const paths = ['/@demo', '/ap/actor', '/ap/demo/outbox', '/.well-known/nodeinfo', '/nodeinfo/2.1']
    const answers = await Promise.all([...paths, '/.well-known/host-meta'].map((path) => app.request(path)))
    expect(answers.map(({ status, headers }) => `${status} ${headers.get('content-type')?.split(';')[0]}`)).toEqual([
      '200 text/html',
      '200 application/activity+json',
      '200 application/activity+json',
      '200 application/json',
      '200 application/json',
      '200 application/xrd+xml',
    ])
    stop()
  })
})
