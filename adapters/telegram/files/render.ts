// Hop 8: a reply with files to its text and one upload for each file that Telegram takes. Pure.
import { isKnownPart, type JsonObject, type NormalizedResponse, type Part } from '../../../src/contract/index.ts'
import { renderTelegram } from '../render/reply.ts'
import type { RichUse } from '../render/rich.ts'
import { type FileCall, replyToSchema, type TelegramCall } from '../wire/call.ts'

/** What the Bot API takes from a bot, and of that as a picture (slack 3.13). */
export const maxUploadBytes = 50_000_000
const maxPhotoBytes = 10_000_000

const photoTypes: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/webp'])

type Rendered = { readonly call: TelegramCall; readonly primary: boolean }

/** The text says nothing about files that are sent; those that cannot be are named in it. */
export function renderWithFiles(
  reply: NormalizedResponse,
  to: JsonObject,
  mayNotify: ReadonlySet<string>,
  hasLive: boolean,
  rich: RichUse = 'off',
): readonly Rendered[] {
  const { guest_query_id: guest } = replyToSchema.parse(to)
  // A guest may not write to the chat, so files are named in the one answer it has.
  const files = guest === undefined ? reply.parts.flatMap((part) => fileOf(part, to) ?? []) : []
  if (files.length === 0) return renderTelegram(reply, to, mayNotify, hasLive, rich)
  const parts = reply.parts.filter((part) => fileOf(part, to) === undefined)
  // A live message is finished by words, whatever comes after it.
  const isSilent = !hasLive && reply.status === 'completed' && parts.every((part) => part.kind === 'tool_call')
  const text = isSilent ? [] : renderTelegram({ ...reply, parts }, to, mayNotify, hasLive, rich)
  return [...text, ...files.map((call) => ({ call, primary: true }))]
}

function fileOf(part: Part, to: JsonObject): FileCall | undefined {
  if (!isKnownPart(part) || (part.kind !== 'file' && part.kind !== 'artifact')) return undefined
  const { attachment, mime = '', name = 'file' } = part
  const size = part.kind === 'file' ? part.size : undefined
  if (attachment === undefined || (size ?? 1) > maxUploadBytes || size === 0) return undefined
  const isPhoto = photoTypes.has(mime) && size !== undefined && size <= maxPhotoBytes
  const { chat_id, message_thread_id: topic, business_connection_id: business } = replyToSchema.parse(to)
  return {
    method: isPhoto ? 'sendPhoto' : 'sendDocument',
    payload: {
      chat_id: Number(chat_id),
      ...(business === undefined ? {} : { business_connection_id: business }),
      ...(topic === undefined ? {} : { message_thread_id: Number(topic) }),
    },
    file: { attachment: attachment.id, name },
  }
}
