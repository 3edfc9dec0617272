// A person mentions the agent in Vercel's emulator of Slack: its signed event comes in, the answer is posted in the thread.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { slack, slackChannel } from '../../../adapters/slack/index.ts'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { listMessageCountsByConnection } from '../../../src/db/receipts.ts'
import { createTestGateway, settleUntil, type TestGateway } from '../../doubles/test-gateway.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'
import { describeBeside } from '../peer.ts'
import { emulate, startSlackEmulator } from './emulator.ts'

const signingSecret = 'signing-secret-of-the-emulator-0'
const botToken = 'xoxb-emulated-0000'
const botUserId = 'U0PARLEY1'

type Said = { readonly text: string; readonly ts: string; readonly thread_ts?: string; readonly user?: string }

describeBeside('Slack as emulated', emulate, (module) => {
  describeOnDatabase('brings what is said', (database) => {
    let server: Server
    let emulator: Awaited<ReturnType<typeof startSlackEmulator>>
    let gateway: TestGateway
    let taken: string[] = []

    beforeAll(async () => {
      taken = []
      server = createServer((request, response) => {
        const chunks: Buffer[] = []
        request.on('data', (chunk: Buffer) => chunks.push(chunk))
        request.on('end', () => void receive(Buffer.concat(chunks), request.headers).then(() => response.end('ok')))
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as AddressInfo
      const app = { app_id: 'A0PARLEY1', client_id: 'c', client_secret: 's', name: 'parley', redirect_uris: [] }
      const bot = { bot_id: 'B0PARLEY1', bot_user_id: botUserId, bot_name: 'parley', scopes: ['chat:write'] }
      const seed = {
        users: [{ name: 'ada' }],
        channels: [{ name: 'lamps' }],
        oauth_apps: [{ ...app, ...bot }],
        tokens: [
          {
            token: botToken,
            type: 'bot',
            app_id: app.app_id,
            bot_id: bot.bot_id,
            bot_user_id: botUserId,
            user_id: botUserId,
          },
          { token: 'xoxp-ada', type: 'user', user: 'ada' },
        ],
        signing_secret: signingSecret,
      }
      emulator = await startSlackEmulator(module(), seed, `http://127.0.0.1:${port}/`)
      const agents = [defineAgent({ slug: 'desk', run: (message) => `heard by ${message.recipient}` })]
      const access = { mode: 'public', allow: [] } as const
      const bots = slack({ botToken, signingSecret, botUserId, apiUrl: `${emulator.url}/api/`, access })
      gateway = createTestGateway(database(), { agents, connections: [bots] }, {}, [slackChannel])
    }, 60_000)
    afterAll(async () => {
      gateway?.stop()
      await emulator?.close()
      server?.close()
    })

    const receive = async (bytes: Buffer, headers: NodeJS.Dict<string | string[]>) => {
      const [at] = gateway.gateway.connections
      if (at === undefined) throw new Error('no connection')
      const given = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
      const arrival = {
        bytes: new Uint8Array(bytes),
        headers: given,
        receivedAt: new Date().toISOString(),
        from: 'local' as const,
      }
      taken.push((await gateway.gateway.receive(at, arrival)).kind)
    }
    const call = async (method: string, token: string, fields: object): Promise<Record<string, unknown>> => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
      const response = await fetch(`${emulator.url}/api/${method}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(fields),
      })
      return (await response.json()) as Record<string, unknown>
    }

    test('a mention is answered in its thread, once, and our own post is not taken for another', async () => {
      const { channels } = (await call('conversations.list', botToken, {})) as {
        channels: { id: string; name: string }[]
      }
      const channel = channels.find(({ name }) => name === 'lamps')?.id ?? ''
      const asked = await call('chat.postMessage', 'xoxp-ada', { channel, text: `<@${botUserId}> are the lamps here?` })
      expect(asked).toMatchObject({ ok: true })
      const replies = async () =>
        ((await call('conversations.replies', botToken, { channel, ts: asked['ts'] })) as { messages?: Said[] })
          .messages ?? []
      await settleUntil(gateway, async () => (await replies()).length > 1)
      expect((await replies()).slice(1)).toMatchObject([
        { text: 'heard by @desk@parley.localhost', thread_ts: asked['ts'] },
      ])
      expect(new Set(taken)).toEqual(new Set(['stored']))
      const [books] = await listMessageCountsByConnection(openTenantDb(database(), 'default'))
      expect(books).toMatchObject({ received: 1, answered: 1, inFlight: 0 })
    }, 60_000)
  })
})
