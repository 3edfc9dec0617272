// A signed request of Slack says one thing, once: neither another content type nor a second delivery makes it say more.
import { expect, test } from 'vitest'
import { slackChannel } from '../../../../adapters/slack/index.ts'
import { defineAgent } from '../../../../src/agents/define-agent.ts'
import { nameStatement } from '../../../../src/db/client.ts'
import { createTestGateway, type TestGateway } from '../../../doubles/test-gateway.ts'
import { fixtures } from '../../../fixtures/slack/index.ts'
import { describeOnDatabase } from '../../../setup/describe-on-database.ts'

const form = 'application/x-www-form-urlencoded'
const encoder = new TextEncoder()
const rows = nameStatement(
  'test_rows',
  'select subject, state, reason from inbox where connection = $1 order by received_at',
)

type Row = { readonly subject: string | null; readonly state: string; readonly reason: string | null }

describeOnDatabase('a signed request of Slack', (database) => {
  let used = 0

  const scene = (): { gateway: TestGateway; rows: () => Promise<readonly Row[]>; id: string } => {
    used += 1
    const id = `signed${used}`
    const settings = { ...fixtures.settings('http://127.0.0.1:9'), signs: false }
    const access = { mode: 'public', allow: [] } as const
    const agent = defineAgent({ slug: 'demo', run: () => 'done' })
    const connections = [{ channel: 'slack', id, access, settings }]
    const gateway = createTestGateway(database(), { agents: [agent], connections }, {}, [slackChannel])
    return { gateway, id, rows: () => database().query<Row>(rows, [gateway.gateway.connections[0]?.key ?? '']) }
  }
  const sign = async (body: string, type: string) => ({
    ...(await fixtures.sign(encoder.encode(body), { at: Date.now(), type })),
    receivedAt: new Date().toISOString(),
  })
  const send = async ({ gateway }: TestGateway, arrival: Awaited<ReturnType<typeof sign>>, changes: object = {}) => {
    const [at] = gateway.connections
    if (at === undefined) throw new Error('no connection')
    const received = await gateway.receive(at, { ...arrival, headers: { ...arrival.headers, ...changes } })
    return received.kind === 'stored' || received.kind === 'unreadable'
      ? received.acceptances.map(({ kind }) => kind)
      : [received.kind]
  }
  const event = (text: string): string => {
    used += 1
    const ts = `${Math.floor(Date.now() / 1000)}.${String(used).padStart(6, '0')}`
    return JSON.stringify({
      type: 'event_callback',
      team_id: 'T0PARLEY1',
      api_app_id: 'A0PARLEY1',
      event_id: `EvSigned${used}`,
      authorizations: [{ team_id: 'T0PARLEY1', user_id: 'U0PARLEY1', is_bot: true, is_enterprise_install: false }],
      event: { type: 'message', channel: 'D0ADA0001', channel_type: 'im', user: 'U0ADA0001', text, ts, event_ts: ts },
    })
  }
  const command = (fields: Record<string, string> = {}): string => {
    used += 1
    return new URLSearchParams({
      team_id: 'T0PARLEY1',
      channel_id: 'D0ADA0001',
      user_id: 'U0ADA0001',
      command: '/parley',
      text: `say ${used}`,
      api_app_id: 'A0PARLEY1',
      trigger_id: `1.${used}`,
      response_url: 'https://hooks.slack.com/commands/1',
      ...fields,
    }).toString()
  }

  test('is read by its bytes: an event sent again as a form is the same event, of the same user', async () => {
    const { gateway, rows: stored } = scene()
    const words = 'hi &command=/parley&user_id=U0EVE0001&team_id=T0PARLEY1&channel_id=D0EVE0001&text=pay&x='
    const arrival = await sign(event(words), 'application/json')
    expect(await send(gateway, arrival)).toEqual(['accepted'])
    expect(await send(gateway, arrival, { 'content-type': form })).toEqual(['duplicate'])
    expect(await send(gateway, arrival, { 'content-type': `${form}; charset=utf-8` })).toEqual(['duplicate'])
    expect((await stored()).map(({ subject }) => subject)).toEqual(['slack:T0PARLEY1/U0ADA0001'])
  })

  test('is read by its bytes also where the forged reading comes first', async () => {
    const { gateway, rows: stored } = scene()
    const payload = encodeURIComponent('{"type":"block_actions","user":{"id":"U0EVE0001"},"actions":[]}')
    const arrival = await sign(event(`hi &payload=${payload}&x=`), 'application/json')
    expect(await send(gateway, arrival, { 'content-type': form })).toEqual(['accepted'])
    expect((await stored()).map(({ subject }) => subject)).toEqual(['slack:T0PARLEY1/U0ADA0001'])
  })

  test('brings in a command once, however often it is delivered', async () => {
    const { gateway, rows: stored } = scene()
    const body = command()
    const arrival = await sign(body, form)
    expect(await send(gateway, arrival)).toEqual(['accepted'])
    expect(await send(gateway, arrival)).toEqual(['duplicate'])
    expect(await send(gateway, arrival, { 'x-slack-retry-num': '1' })).toEqual(['duplicate'])
    expect(await stored()).toHaveLength(1)
  })

  test.each([
    ['a field twice', () => `${command()}&user_id=U0EVE0001`],
    ['a field that no command has', () => command({ payload: '{"type":"block_actions"}' })],
    ['no command', () => 'team_id=T0PARLEY1&user_id=U0ADA0001'],
    ['something before its brace', () => ` ${event('hello')}`],
  ])('with %s is kept as one dead row, however often it comes', async (_, body) => {
    const { gateway, rows: stored } = scene()
    const arrival = await sign(body(), form)
    for (let i = 0; i < 3; i += 1) await send(gateway, arrival)
    expect((await stored()).map(({ state }) => state)).toEqual(['dead'])
  })

  test('that is only a question of Slack is answered each time and leaves nothing', async () => {
    const { gateway, rows: stored } = scene()
    const arrival = await sign(JSON.stringify({ type: 'url_verification', challenge: 'c' }), 'application/json')
    for (let i = 0; i < 2; i += 1) expect(await send(gateway, arrival)).toEqual(['handshake'])
    expect(await stored()).toEqual([])
  })
})
