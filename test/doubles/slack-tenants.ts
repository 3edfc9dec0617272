// One app in several workspaces: its adapter, signed payloads for it, and what it then says with whose token.
import { createHmac } from 'node:crypto'
import { slackChannel } from '../../adapters/slack/index.ts'
import type { Installation } from '../../src/contract/channel.ts'
import type { Adapter, DeliveryResult, InboundEvent, InboundMessage, RawRequest } from '../../src/contract/index.ts'
import { createWebHmac } from '../../src/lib/index.ts'
import { createAttempt, createTextReply } from '../../src/testing/adapter-contract-outbound.ts'
import type { MemoryInstallations } from './memory-installations.ts'
import { memoryNotes } from './memory-ttl-store.ts'

export const signingSecret = '8f742231b10e8888abcd99yyyzzz85a5'
export const connection = { tenant: 'default', id: 'default', agent: 'demo', domain: 'parley.localhost' }

export const installSettings = {
  clientId: '11.22',
  clientSecret: 'secret-of-the-client',
  redirectUrl: 'https://bots.example.org/hooks/slack/default/oauth_redirect',
}

export const tokenOf = (account: string): string => `xoxb-token-of-${account}`

export function installed(account: string, changes: Partial<Installation> = {}): Installation {
  const facts = { bot_user_id: `U0BOT${account}`, app_id: 'A0PARLEY1' }
  return { account, credentials: { bot_token: tokenOf(account) }, facts, status: 'active', ...changes }
}

export function tenantAdapter(installations: MemoryInstallations, apiUrl: string): Adapter {
  return slackChannel.create(
    { install: installSettings, signingSecret, apiUrl },
    { connection, fetch, now: Date.now, hmac: createWebHmac(), installations, ttlStore: memoryNotes() },
  )
}

export function signed(body: object | string): RawRequest {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const time = String(Math.floor(Date.now() / 1000))
  const hex = createHmac('sha256', signingSecret).update(`v0:${time}:${text}`).digest('hex')
  return {
    bytes: new TextEncoder().encode(text),
    headers: {
      'content-type': typeof body === 'string' ? 'application/x-www-form-urlencoded' : 'application/json',
      'x-slack-request-timestamp': time,
      'x-slack-signature': `v0=${hex}`,
    },
    receivedAt: new Date().toISOString(),
    from: 'remote',
  }
}

export const form = (fields: Readonly<Record<string, string>>): string => new URLSearchParams(fields).toString()

/** Seconds of today, so that nothing is stale. */
export const stamp = (number: number): string => `${Math.floor(Date.now() / 1000)}.${String(number).padStart(6, '0')}`

export function messageEvent(team: string, event: object = {}, envelope: object = {}): object {
  const ts = stamp(1)
  return {
    type: 'event_callback',
    team_id: team,
    api_app_id: 'A0PARLEY1',
    event_id: `Ev${team}${ts}`,
    authorizations: [
      { team_id: team, enterprise_id: null, user_id: `U0BOT${team}`, is_bot: true, is_enterprise_install: false },
    ],
    event: {
      type: 'message',
      channel: 'D0SAME001',
      channel_type: 'im',
      user: 'U0SAME001',
      text: 'hello',
      ts,
      event_ts: ts,
      ...event,
    },
    ...envelope,
  }
}

export async function received(adapter: Adapter, body: object | string): Promise<readonly InboundEvent[]> {
  const reception = await adapter.receive(signed(body), connection)
  if (reception.kind !== 'read') throw new Error(`not read: ${JSON.stringify(reception)}`)
  return reception.events
}

export async function receivedMessage(adapter: Adapter, body: object | string): Promise<InboundMessage> {
  const [arrived] = await received(adapter, body)
  if (arrived?.kind !== 'message') throw new Error(`no message: ${arrived?.reason}`)
  return arrived
}

/** Says something where a message came from. */
export async function answered(adapter: Adapter, arrived: InboundMessage, text = 'an answer'): Promise<DeliveryResult> {
  const [first] = adapter.render(createTextReply(text), arrived.replyTo)
  if (first === undefined) throw new Error('nothing to say')
  return adapter.deliver(first.call, createAttempt(1))
}
