// Sends a message in blocks or, where Slack does not take them, in plain words.

import type { DeliveryOutcome } from '../../../src/contract/index.ts'
import type { Json, JsonObject } from '../../../src/lib/index.ts'
import type { MessagePayload } from '../wire.ts'
import { isErrorOfClass, slackDeliveryOutcome } from './outcome.ts'
import type { WebApiAnswer } from './web-api.ts'

/** One call with the right token and signal. */
export type Send = (method: string, args: Readonly<Record<string, unknown>>) => Promise<WebApiAnswer>

/** Blocks that are not taken are said in plain words, once; a refusal has changed nothing. */
export async function sendWithPlainFallback(
  send: Send,
  method: string,
  payload: MessagePayload,
): Promise<WebApiAnswer> {
  const answer = await send(method, payload)
  if (!isErrorOfClass(answer, 'blocks') || payload.blocks === undefined) return answer
  const { blocks, ...rest } = payload
  return send(method, { ...rest, text: blocksToPlainText(blocks) || payload.text })
}

export function toSendOutcome(answer: WebApiAnswer, isRepeatable: boolean, knownId?: string): DeliveryOutcome {
  if (answer.kind !== 'ok') return slackDeliveryOutcome(answer, isRepeatable)
  const id = answer.data['ts'] ?? answer.data['message_ts'] ?? knownId
  return typeof id === 'string' ? { kind: 'delivered', vendorId: id } : { kind: 'delivered' }
}

/** What Slack shows of one text; it cuts what is longer. */
const maxPlainLength = 39_000

function blocksToPlainText(blocks: readonly JsonObject[]): string {
  const words = blocks.map((block) => blockPlainText(block)).filter((text) => text.trim() !== '')
  const escaped = words.join('\n').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return escaped.slice(0, maxPlainLength).toWellFormed()
}

function blockPlainText(value: Json): string {
  if (Array.isArray(value)) return value.map((each) => blockPlainText(each)).join(isInline(value) ? '' : '\n')
  if (typeof value !== 'object' || value === null) return ''
  const { text, type, user_id: user, url } = value as JsonObject
  if (type === 'user' && typeof user === 'string') return `@${user}`
  if (typeof text === 'string') return type === 'link' && typeof url === 'string' ? `${text} (${url})` : text
  return Object.values(value)
    .map((each) => (typeof each === 'object' ? blockPlainText(each) : ''))
    .filter((each) => each !== '')
    .join('\n')
}

function isInline(values: readonly Json[]): boolean {
  return values.every(
    (each) =>
      typeof each === 'object' &&
      each !== null &&
      'type' in each &&
      ['text', 'link', 'user', 'emoji'].includes(String(each['type'])),
  )
}
