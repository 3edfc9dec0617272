// What the Telegram cases share: an adapter, updates written after the Bot API's documentation, and what becomes of them.

import type { Adapter, InboundEvent, InboundMessage } from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/json-value.ts'
import { jsonToBytes } from '../../../src/testing/adapter-contract.ts'
import { createAttempt } from '../../../src/testing/adapter-contract-outbound.ts'
import { type AdapterFixtures, createAdapterFromFixtures } from '../../../src/testing/adapter-fixtures.ts'
import { fixtures } from '../../fixtures/telegram/index.ts'

export const kit: AdapterFixtures = fixtures
const adapter: Adapter = createAdapterFromFixtures(kit)
export const ada = { id: 5_000_000_000, is_bot: false, first_name: 'Ada', username: 'ada' }
export const us = { id: 7_000_001, is_bot: true, first_name: 'Gateway', username: 'gw_bot' }
export const group = { id: -1_002_345_678_901, type: 'supergroup', title: 'Engines' }
export const dm = { id: 5_000_000_000, type: 'private' }

export const message = (fields: object): { update_id: number; message: object } => ({
  update_id: 500,
  message: { message_id: 7, date: 1_763_300_000, chat: group, from: ada, text: 'hi', ...fields },
})

export const click = (fields: object = {}): object => ({
  update_id: 501,
  callback_query: {
    id: '4382bfdwdsb323b2d9',
    from: ada,
    chat_instance: '1',
    message: { message_id: 70, date: 1_763_300_000, chat: group, from: us, text: 'May I?' },
    data: 'a:0f3c9a',
    ...fields,
  },
})

export async function arrivals(payload: unknown, by: Adapter = adapter): Promise<readonly InboundEvent[]> {
  const reception = await by.receive(fixtures.sign(jsonToBytes(payload)), kit.connection)
  if (reception.kind !== 'read') throw new Error(`not read: ${JSON.stringify(reception)}`)
  return reception.events
}

export async function ignored(payload: unknown): Promise<string> {
  const [first] = await arrivals(payload)
  if (first?.kind !== 'ignored') throw new Error('it was read as a message')
  return first.reason
}

export async function read(payload: unknown): Promise<InboundMessage> {
  const [first] = await arrivals(payload)
  if (first?.kind !== 'message') throw new Error(`ignored: ${first?.reason ?? 'nothing arrived'}`)
  return first
}

export async function texts(payload: unknown): Promise<readonly string[]> {
  const { message: normalized } = await read(payload)
  return normalized.parts.map((part) => ('content' in part ? String(part.content) : part.kind))
}

export function parts(...given: readonly object[]): Parameters<Adapter['render']>[0] {
  const frame = { thread_id: 't', in_reply_to: 'm', agent: 'demo', status: 'completed' as const }
  // The parts are written by hand, as an agent would write them.
  return { ...frame, parts: given as unknown as Parameters<Adapter['render']>[0]['parts'] }
}

export const question = (code = '0f3c9a'): object => ({
  kind: 'policy',
  policy: {
    kind: 'approval_required',
    message: `I need an approval: delete it.\nReply /approve_${code} or /reject_${code}.`,
    question: 'I need an approval: delete it.',
    action_id: `01997a00-0000-7000-8000-0000${code}00`,
    code,
    summary: 'delete it',
    expires_at: null,
    choices: ['approve', 'reject'],
  },
})

export const saying = (content: string): object => ({ kind: 'text', mime: 'text/plain', content })

export function calls(reply: Parameters<Adapter['render']>[0], to: JsonObject, hasLive = false): readonly JsonObject[] {
  return adapter.render(reply, to, new Set(), hasLive).map(({ call }) => call)
}

export { createAttempt }
