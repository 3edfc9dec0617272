// Hop 8: words on their way: as a message or as the end of a live one, rich where the call has a rich form.
import type { Api } from 'grammy/web'
import type { Attempt, DeliveryOutcome } from '../../../src/contract/index.ts'
import { maxTextLength, type TextCall } from '../wire/call.ts'
import type { RichMessage } from '../wire/rich.ts'
import { clientSignal } from './api.ts'

const repeatMark = 'Possibly sent before:'

type RichPayload = Parameters<Api['raw']['sendRichMessage']>[0]['rich_message']

export async function sendTextMessage(api: Api, call: TextCall, attempt: Attempt): Promise<DeliveryOutcome> {
  const signal = clientSignal(attempt.signal)
  if (call.rich === undefined)
    return deliveredMessage(await api.raw.sendMessage(markRepeat(call.payload, attempt.isMaybeRepeat), signal))
  const { text: _words, entities: _ranges, link_preview_options: _preview, ...place } = call.payload
  const rich_message = markRichRepeat(call.rich, attempt.isMaybeRepeat)
  return deliveredMessage(await api.raw.sendRichMessage({ ...place, rich_message }, signal))
}

/** The growing message becomes the reply; where it stands and what it answers it has said when it was opened. */
export async function finishLiveEdit(
  api: Api,
  { payload, rich }: TextCall,
  reference: string,
  attempt: Attempt,
): Promise<DeliveryOutcome> {
  const {
    message_thread_id: _topic,
    direct_messages_topic_id: _direct,
    reply_parameters: _answered,
    ...words
  } = payload
  const { text: _words, entities: _ranges, link_preview_options: _preview, ...place } = words
  const content = rich === undefined ? words : { ...place, rich_message: markRichRepeat(rich, false) }
  const message_id = Number(reference)
  await api.raw.editMessageText({ ...content, message_id }, clientSignal(attempt.signal))
  return deliveredMessage({ message_id })
}

export function deliveredMessage({ message_id }: { readonly message_id: number }): DeliveryOutcome {
  return { kind: 'delivered', vendorId: String(message_id) }
}

/** A repeat says so where there is room; entities move along with the text. */
function markRepeat(payload: TextCall['payload'], isMaybeRepeat: boolean): TextCall['payload'] {
  const mark = `${repeatMark}\n`
  if (!isMaybeRepeat || payload.text.length + mark.length > maxTextLength) return payload
  const entities = payload.entities?.map((entity) => ({ ...entity, offset: entity.offset + mark.length }))
  return { ...payload, text: mark + payload.text, ...(entities === undefined ? {} : { entities }) }
}

/** Cast: our blocks are read-only, the client's types are not. */
function markRichRepeat({ blocks, ...rest }: RichMessage, isMaybeRepeat: boolean): RichPayload {
  const mark = { type: 'paragraph', text: repeatMark } as const
  return { ...rest, blocks: isMaybeRepeat ? [mark, ...blocks] : blocks } as unknown as RichPayload
}
