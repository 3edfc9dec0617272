// Slack cases where the whole gateway decides: what is stored once, and what the request is answered with.

import { slackChannel } from '../../../adapters/slack/index.ts'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { webhookAnswer } from '../../../src/api/http-answers.ts'
import type { ReceiveResult } from '../../../src/contract/results.ts'
import { type Database, nameStatement } from '../../../src/db/client.ts'
import { createTestApp } from '../../doubles/test-app.ts'
import { createTestGateway } from '../../doubles/test-gateway.ts'
import { fixtures } from '../../fixtures/slack/index.ts'
import type { Case } from '../conform.ts'
import { bot, bytesOf, message } from './slack-setup.ts'

let used = 0

/** A gateway with two apps; ids and times are its own, so that cases share a database. */
function scene(database: () => Database, changes: object = {}, says = 'done') {
  const seconds = Math.floor(Date.now() / 1000)
  used += 1
  const ts = `${seconds}.${String(used).padStart(6, '0')}`
  const settings = { ...fixtures.settings('http://127.0.0.1:9'), signs: false, ...changes }
  const access = { mode: 'public', allow: [] } as const
  const agent = defineAgent({ slug: 'demo', run: () => says })
  const connections = ['first', 'second'].map((id) => ({ channel: 'slack', id: `${id}${used}`, access, settings }))
  const gateway = createTestGateway(database(), { agents: [agent], connections }, {}, [slackChannel])
  const send = async (
    payload: unknown,
    { connection = 0, ...headers }: { connection?: number; [name: string]: unknown } = {},
  ) => {
    const at = gateway.gateway.connections[connection]
    if (at === undefined) throw new Error('no such connection')
    const arrival = await fixtures.sign(bytesOf(payload), { at: Date.now() })
    const received = await gateway.gateway.receive(at, {
      ...arrival,
      headers: { ...arrival.headers, ...(headers as Record<string, string>) },
      receivedAt: new Date().toISOString(),
    })
    const outcomes = received.kind === 'stored' ? received.acceptances.map(({ kind }) => kind) : [received.kind]
    const reason = await reasonOf(database(), received)
    return { status: webhookAnswer(received).status, outcomes, ...(reason === undefined ? {} : { reason }) }
  }
  return { ts, gateway, send, path: `/hooks/slack/first${used}` }
}

const reasons = nameStatement('test_reason', `select reason from inbox where id = $1 and state = 'ignored'`)
const silent = nameStatement(
  'test_silent',
  `select x.state, x.reason, (select count(*)::int from outbox o where o.turn_id = x.turn_id) as calls
   from inbox x where x.message_id like '%' || $1::text`,
)

async function reasonOf(database: Database, received: ReceiveResult): Promise<string | undefined> {
  const first = received.kind === 'stored' ? received.acceptances[0] : undefined
  if (first === undefined || !('inboxId' in first)) return undefined
  return (await database.query<{ reason: string }>(reasons, [first.inboxId]))[0]?.reason
}

const accepted = { status: 200, outcomes: ['accepted'] }
const duplicate = { status: 200, outcomes: ['duplicate'] }

export function acceptCases(database: () => Database): readonly Case[] {
  const once = (ts: string, id: string, fields: object = {}) =>
    message({ ts, event_ts: ts, text: `<@${bot}> hello`, ...fields }, { event_id: id })
  return [
    {
      id: 'S01',
      claim: 'a valid body is answered 200 and stored once',
      run: () => {
        const { send, ts } = scene(database)
        return send(once(ts, 'Ev1'))
      },
      equals: accepted,
    },
    {
      id: 'S07',
      claim: 'a body over the limit is answered 413 before its signature is looked at; one at the limit is processed',
      run: async () => {
        const { gateway, path, ts } = scene(database)
        const body = JSON.stringify(once(ts, 'Ev1', { padding: 'x'.repeat(2000) }))
        const post = async (maxBodyBytes: number) => {
          const { headers } = await fixtures.sign(bytesOf(body), { at: Date.now() })
          const app = createTestApp(gateway, database(), { maxBodyBytes })
          return (await app.request(path, { method: 'POST', body, headers })).status
        }
        return [await post(bytesOf(body).length - 1), await post(bytesOf(body).length)]
      },
      equals: [413, 200],
    },
    {
      id: 'S16',
      claim: 'the same event three times is one message',
      run: async () => {
        const { send, ts } = scene(database)
        const event = once(ts, 'Ev1')
        const retry = (number: string) =>
          send(event, { 'x-slack-retry-num': number, 'x-slack-retry-reason': 'http_timeout' })
        return [await send(event), await retry('1'), await retry('2')]
      },
      equals: [accepted, duplicate, duplicate],
    },
    {
      id: 'SL-06',
      claim: 'a delivery that comes again is acknowledged and changes nothing',
      run: async () => {
        const { send, ts, gateway } = scene(database)
        const event = once(ts, 'Ev1')
        const outcomes = [await send(event), await send(event, { 'x-slack-retry-num': '1' })]
        await gateway.settle()
        return [...outcomes, await send(event, { 'x-slack-retry-num': '2' })]
      },
      equals: [accepted, duplicate, duplicate],
    },
    {
      id: 'S44',
      claim: 'two bots that answer each other are cut after so many hops, until a person speaks',
      run: async () => {
        const { send, ts } = scene(database, { allowBots: ['B0OTHER01'], botHops: 2 })
        const at = (number: number) => `${ts.slice(0, -3)}${String(number).padStart(3, '0')}`
        const bot = (number: number) =>
          once(at(number), `EvBot${number}`, { thread_ts: ts, bot_id: 'B0OTHER01', user: 'U0OTHER01' })
        const heard: unknown[] = []
        for (const number of [101, 102, 103, 103, 104]) heard.push(await send(bot(number)))
        await send(once(at(105), 'EvPerson', { thread_ts: ts }))
        return [...heard, await send(bot(106))].map((each) => (each as { reason?: string }).reason ?? 'answered')
      },
      equals: ['answered', 'answered', 'bot_hop_limit', 'bot_hop_limit', 'bot_hop_limit', 'answered'],
    },
    {
      id: 'S77',
      claim: 'an agent that returns nothing says nothing, and its message ends as silent',
      run: async () => {
        const { send, ts, gateway } = scene(database, {}, '')
        const { outcomes } = await send(once(ts, 'Ev1'))
        await gateway.settle()
        const rows = await database().query(silent, [ts])
        return [outcomes, rows]
      },
      equals: [['accepted'], [{ state: 'refused', reason: 'silent', calls: 0 }]],
    },
    {
      id: 'S17',
      claim: 'a retry of a delivery nobody saw is taken',
      run: () => {
        const { send, ts } = scene(database)
        return send(once(ts, 'Ev1'), { 'x-slack-retry-num': '1', 'x-slack-retry-reason': 'http_timeout' })
      },
      equals: accepted,
    },
    {
      id: 'S18',
      claim: 'of two at the same moment one is taken',
      run: async () => {
        const { send, ts } = scene(database)
        const both = await Promise.all([send(once(ts, 'Ev1')), send(once(ts, 'Ev1'))])
        return both.flatMap(({ outcomes }) => outcomes).toSorted()
      },
      equals: ['accepted', 'duplicate'],
    },
    {
      id: 'S19',
      claim: 'the same event id from two apps is two messages',
      run: async () => {
        const { send, ts } = scene(database)
        return [await send(once(ts, 'Ev1')), await send(once(ts, 'Ev1'), { connection: 1 })]
      },
      equals: [accepted, accepted],
    },
    {
      id: 'S40',
      claim: 'message and app_mention of one text are one message, in either order',
      run: async () => {
        const outcomes: unknown[] = []
        for (const kinds of [
          ['message', 'app_mention'],
          ['app_mention', 'message'],
        ]) {
          const { send, ts } = scene(database)
          for (const [index, type] of kinds.entries()) outcomes.push(await send(once(ts, `Ev${index}`, { type })))
        }
        return outcomes
      },
      equals: [accepted, duplicate, accepted, duplicate],
    },
  ]
}
