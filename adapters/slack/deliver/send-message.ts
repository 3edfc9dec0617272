// Hop 8: a message that is sent, in blocks or, where Slack does not take them, in plain words.
import type { DeliveryOutcome } from '../../../src/contract/index.ts'
import type { MessagePayload } from '../wire/call.ts'
import type { WebApiAnswer } from './call-slack.ts'
import { isErrorOfClass, slackDeliveryOutcome } from './outcome-of.ts'
import { blocksToPlainText } from './plain-blocks.ts'

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
