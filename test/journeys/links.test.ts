// A message with a link reaches the agent as one without does: nothing is fetched, resolved or unfurled on the way, before or
// after the acknowledgement. The ratio of what both cost is measured in bench/ (scenarios `slack` and `telegram`, `--links`).
import { createHmac } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { slackChannel } from '../../adapters/slack/index.ts'
import { telegramChannel } from '../../adapters/telegram/index.ts'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { loadConfig } from '../../src/config.ts'
import { textOf } from '../../src/contract/index.ts'
import { type RunningGateway, startNode } from '../../src/node.ts'
import { startScriptedServer } from '../../src/testing/scripted-server.ts'
import { startSlackApi } from '../doubles/slack-api.ts'
import { startTelegramApi, testBotToken } from '../doubles/telegram-api.ts'
import { migrationsFolder } from '../setup/cloned-database.ts'
import { describeOnPostgres } from '../setup/databases.ts'
import { takeDatabase } from '../setup/pooled-database.ts'

const quiet = { info: () => {}, warn: () => {}, error: () => {} }
const signingSecret = 'signing-secret-of-this-test-0000'
const webhookSecret = 'a-webhook-secret-of-forty-characters-xyz'
const access = { mode: 'public', allow: [] } as const

describeOnPostgres('a message with a link', (adminUrl) => {
  let gateway: RunningGateway
  let site: Awaited<ReturnType<typeof startScriptedServer>>
  let slack: Awaited<ReturnType<typeof startSlackApi>>
  let telegram: Awaited<ReturnType<typeof startTelegramApi>>
  let cleanUp: (() => Promise<void>)[] = []
  let heard: string[] = []
  let nextId = 1

  beforeEach(async () => {
    const clone = await takeDatabase(adminUrl)
    site = await startScriptedServer({
      notFound: {},
      routeOf: () => undefined,
      apply: () => ({ status: 404, body: {} }),
    })
    slack = await startSlackApi()
    telegram = await startTelegramApi()
    heard = []
    const run = (message: { readonly parts: Parameters<typeof textOf>[0] }): string => {
      heard.push(textOf(message.parts))
      return 'seen'
    }
    const settings = {
      slack: {
        botToken: 'xoxb-test-token-of-this-test',
        signingSecret,
        botUserId: 'U0PARLEY1',
        apiUrl: `${slack.origin}/api/`,
      },
      telegram: { botToken: testBotToken, webhookSecret, apiRoot: telegram.apiRoot },
    }
    const config = loadConfig(
      { PARLEY_PORT: '0', DATABASE_URL: clone.url, PARLEY_ADMIN_TOKEN: 'admin-token-of-this-test' },
      {
        agents: [defineAgent({ slug: 'demo', run })],
        connections: [
          { channel: 'slack', id: 'default', access, settings: settings.slack },
          { channel: 'telegram', id: 'default', access, settings: settings.telegram },
        ],
      },
      [slackChannel, telegramChannel],
    )
    gateway = await startNode({ config, migrationsFolder, log: quiet })
    cleanUp = [() => gateway.stop(2_000), site.close, slack.close, telegram.close, clone.drop]
  })
  afterEach(async () => {
    for (const step of cleanUp) await step()
  })

  const say = {
    async slack(text: string): Promise<number> {
      const ts = `${Math.floor(Date.now() / 1000)}.${String(nextId++).padStart(6, '0')}`
      const event = { type: 'message', channel_type: 'im', channel: 'D0ADA', user: 'U0ADA0001', text, ts, event_ts: ts }
      const authorizations = [{ team_id: 'T0ONE', user_id: 'U0PARLEY1', is_bot: true }]
      const body = JSON.stringify({
        type: 'event_callback',
        team_id: 'T0ONE',
        event_id: `Ev${ts}`,
        authorizations,
        event,
      })
      const time = String(Math.floor(Date.now() / 1000))
      const mac = createHmac('sha256', signingSecret).update(`v0:${time}:${body}`).digest('hex')
      return post('slack', { 'x-slack-request-timestamp': time, 'x-slack-signature': `v0=${mac}` }, body)
    },
    async telegram(text: string): Promise<number> {
      const id = nextId++
      const from = { id: 7, is_bot: false, first_name: 'Ada' }
      const found = /https?:\S+/.exec(text)
      const entities = found === null ? [] : [{ type: 'url', offset: found.index, length: found[0].length }]
      const message = {
        message_id: id,
        date: Math.floor(Date.now() / 1000),
        chat: { id: 7, type: 'private' },
        from,
        text,
      }
      const preview = { link_preview_options: { url: found?.[0] ?? '', is_disabled: false } }
      const body = JSON.stringify({ update_id: id, message: { ...message, entities, ...preview } })
      return post('telegram', { 'x-telegram-bot-api-secret-token': webhookSecret }, body)
    },
  }
  const post = async (channel: string, headers: Record<string, string>, body: string): Promise<number> => {
    const url = `${gateway.url}/hooks/${channel}/default`
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    })
    return answer.status
  }
  const asked = (): readonly string[] =>
    // Signs of typing come and go with the time an answer takes.
    [...slack.calls, ...telegram.calls].map(({ route }) => route).filter((route) => !/setStatus|ChatAction/.test(route))
  const until = async (isTrue: () => boolean): Promise<void> => {
    for (let tries = 0; tries < 1_500 && !isTrue(); tries += 1) await new Promise((resolve) => setTimeout(resolve, 10))
    expect(isTrue()).toBe(true)
  }

  test.each(['slack', 'telegram'] as const)(
    'on %s asks nobody for anything that one without does not',
    async (channel) => {
      const link = `${site.origin}/article?id=7`
      const opened = watchConnections()
      const rounds: (readonly string[])[] = []
      // The first opens connections to the platform that the others use again.
      for (const text of ['good morning', 'what is new?', `what is new at ${link} then?`]) {
        const before = asked().length
        const answered = heard.length + 1
        expect(await say[channel](channel === 'slack' ? text.replace(link, `<${link}|the article>`) : text)).toBe(200)
        await until(
          () =>
            heard.length === answered &&
            asked().filter((route) => /send|post|stopStream/i.test(route)).length >= answered,
        )
        rounds.push(asked().slice(before).toSorted())
      }
      const ports = opened.stop()
      expect(heard[2]).toContain(link)
      expect({ calls: site.calls, unexpected: site.unexpected }).toEqual({ calls: [], unexpected: [] })
      expect(ports).not.toContain(Number(new URL(site.origin).port))
      expect(rounds[2]).toEqual(rounds[1])
    },
  )
})

/** The ports of every connection this process opens. */
function watchConnections(): { readonly stop: () => readonly number[] } {
  const ports: number[] = []
  const note = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket }
    socket.once('connect', () => ports.push(socket.remotePort ?? 0))
  }
  subscribe('net.client.socket', note)
  return {
    stop() {
      unsubscribe('net.client.socket', note)
      // Those to the platform are among them, or nothing was watched at all.
      expect(ports.length).toBeGreaterThan(0)
      return ports
    },
  }
}
