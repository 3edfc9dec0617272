// What the cases of Slack share: an adapter as the kit makes it, events in Slack's form, and what becomes of them.
import { expect } from 'vitest'
import type { NormalizeResult } from '../../../src/contract/adapter.ts'
import type { Adapter, InboundEvent, InboundMessage, RawRequest } from '../../../src/contract/index.ts'
import { createWebHmac } from '../../../src/lib/index.ts'
import type { JsonObject } from '../../../src/lib/json-value.ts'
import { type AdapterFixtures, createAdapterFromFixtures } from '../../../src/testing/adapter-fixtures.ts'
import { type SlackApi, startSlackApi } from '../../doubles/slack-api.ts'
import { fixtures, type SignOptions } from '../../fixtures/slack/index.ts'

export const kit: AdapterFixtures = fixtures
export const { now } = fixtures
export const bot = 'U0PARLEY1'
export const ada = 'U0ADA0001'

const encoder = new TextEncoder()

export const bytesOf = (payload: unknown): Uint8Array =>
  encoder.encode(typeof payload === 'string' ? payload : JSON.stringify(payload))

export function adapterWith(settings: object = {}, changes: object = {}): Adapter {
  const deps = { connection: kit.connection, fetch, now: () => now, hmac: createWebHmac(), ...changes }
  return kit.definition.create({ ...kit.settings('http://127.0.0.1:9'), ...settings }, deps)
}

export async function receive(
  payload: unknown,
  how: SignOptions = {},
  adapter = createAdapterFromFixtures(kit),
): Promise<NormalizeResult> {
  return adapter.receive(await fixtures.sign(bytesOf(payload), how), kit.connection)
}

/** The very headers, signed over whatever the time header says. */
export async function signedAs(time: string, body = '{}'): Promise<RawRequest> {
  const arrival = await fixtures.sign(bytesOf(body))
  const signature = `v0=${await fixtures.hmacHex(fixtures.secrets.signingSecret, time, bytesOf(body))}`
  const headers = { ...arrival.headers, 'x-slack-request-timestamp': time, 'x-slack-signature': signature }
  return { ...arrival, headers }
}

export function envelope(event: object, changes: object = {}): object {
  const authorization = {
    enterprise_id: null,
    team_id: 'T0PARLEY1',
    user_id: bot,
    is_bot: true,
    is_enterprise_install: false,
  }
  return {
    type: 'event_callback',
    team_id: 'T0PARLEY1',
    api_app_id: 'A0PARLEY1',
    event_id: 'Ev1',
    authorizations: [authorization],
    event,
    ...changes,
  }
}

/** A person's message in a channel; later fields win. */
export function message(fields: object = {}, changes: object = {}): object {
  return envelope(
    {
      type: 'message',
      user: ada,
      channel: 'C0GENERAL1',
      channel_type: 'channel',
      text: 'hi',
      ts: '1763300000.000100',
      event_ts: '1763300000.000100',
      ...fields,
    },
    changes,
  )
}

export async function arrived(payload: unknown, settings: object = {}): Promise<InboundEvent> {
  const reception = await receive(payload, {}, adapterWith(settings))
  const first = reception.kind === 'read' ? reception.events[0] : undefined
  return first ?? expect.unreachable(`nothing arrived: ${JSON.stringify(reception)}`)
}

export async function read(payload: unknown, settings: object = {}): Promise<InboundMessage> {
  const first = await arrived(payload, settings)
  return first.kind === 'message' ? first : expect.unreachable(`ignored: ${first.reason}`)
}

export const wordsOf = (each: InboundMessage): readonly string[] =>
  each.message.parts.map((part) => ('content' in part ? String(part.content) : part.kind))

export const place: JsonObject = { account: 'T0PARLEY1', channel: 'C0GENERAL1', thread_ts: '1763300010.000200' }

export async function withApi<T>(
  run: (api: SlackApi, adapter: Adapter) => Promise<T>,
  { settings = {}, deps = {} }: { readonly settings?: object; readonly deps?: object } = {},
): Promise<T> {
  const api = await startSlackApi()
  const vendor = { apiUrl: `${api.origin}/api/`, fileOrigins: [api.origin] }
  try {
    const result = await run(api, adapterWith({ ...vendor, ...settings }, deps))
    expect(api.unexpected).toEqual([])
    return result
  } finally {
    await api.close()
  }
}
