// Renders a reply with files into its text and uploads, several of a kind together, with the words as a caption where they fit.
// Pure.

import { isKnownPart, type NormalizedResponse, type Part } from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/index.ts'
import type { TelegramSay } from '../sentences.ts'
import {
  type AlbumCall,
  type AlbumItem,
  type FileCall,
  type FileMethod,
  type FilePayload,
  maxCaptionLength,
  replyToSchema,
  type TelegramCall,
} from '../wire/calls.ts'
import { renderTelegram } from './render.ts'
import type { RichUse } from './rich-message.ts'
import { threadFields } from './text.ts'

type Rendered = { readonly call: TelegramCall; readonly primary: boolean }
type Upload = { readonly kind: FileKind; readonly attachment: string; readonly name: string }

const maxAlbum = 10

/** The text says nothing about files that are sent; those that cannot be are named in it. */
export function renderTelegramWithFiles(
  say: TelegramSay,
  reply: NormalizedResponse,
  to: JsonObject,
  mayNotify: ReadonlySet<string>,
  hasLive: boolean,
  rich: RichUse = 'off',
): readonly Rendered[] {
  const { guest_query_id: guest } = replyToSchema.parse(to)
  // A guest may not write to the chat, so files are named in the one answer it has.
  const uploads = guest === undefined ? reply.parts.flatMap((part) => toUpload(part) ?? []) : []
  if (uploads.length === 0) return renderTelegram(say, reply, to, mayNotify, hasLive, rich)
  const parts = reply.parts.filter((part) => toUpload(part) === undefined)
  // A live message is finished by words, whatever comes after it.
  const isSilent = !hasLive && reply.status === 'completed' && parts.every((part) => part.kind === 'tool_call')
  const text = isSilent ? [] : renderTelegram(say, { ...reply, parts }, to, mayNotify, hasLive, rich)
  const files = groupIntoAlbums(uploads).map((album) => telegramUploadCall(album, to))
  const captioned = mergeTextAsCaption(text, files)
  if (captioned !== undefined) return [{ call: captioned, primary: true }]
  return [...text, ...files.map((call) => ({ call, primary: true }))]
}

function toUpload(part: Part): Upload | undefined {
  if (!isKnownPart(part) || (part.kind !== 'file' && part.kind !== 'artifact')) return undefined
  const { attachment, mime = '', name = 'file' } = part
  const size = part.kind === 'file' ? part.size : undefined
  if (attachment === undefined || (size ?? 1) > maxUploadBytes || size === 0) return undefined
  return { kind: chooseFileKind(mime, size), attachment: attachment.id, name }
}

const albumFamilies: Readonly<Record<FileKind, string | undefined>> = {
  photo: 'seen',
  video: 'seen',
  audio: 'heard',
  document: 'read',
  // Telegram shows these by themselves only.
  animation: undefined,
  voice: undefined,
}

/** Neighbours that Telegram shows together, ten at most. */
function groupIntoAlbums(uploads: readonly Upload[]): readonly (readonly [Upload, ...Upload[]])[] {
  const albums: [Upload, ...Upload[]][] = []
  for (const upload of uploads) {
    const last = albums.at(-1)
    const family = albumFamilies[upload.kind]
    const isSame = last !== undefined && family !== undefined && albumFamilies[last[0].kind] === family
    if (isSame && last.length < maxAlbum) last.push(upload)
    else albums.push([upload])
  }
  return albums
}

function telegramUploadCall([first, ...more]: readonly [Upload, ...Upload[]], to: JsonObject): FileCall | AlbumCall {
  const address = replyToSchema.parse(to)
  const { chat_id, business_connection_id: business } = address
  const payload = {
    chat_id: Number(chat_id),
    ...(business === undefined ? {} : { business_connection_id: business }),
    ...threadFields(address),
  }
  const { kind, ...file } = first
  if (more.length === 0) return { method: sendMethods[kind], payload, file }
  // Only kinds with a family come in company, and those are the kinds of an album.
  return { method: 'sendMediaGroup', payload, files: [first, ...more] as readonly AlbumItem[] }
}

/** Undefined: the words are a message of their own. */
function mergeTextAsCaption(
  text: readonly Rendered[],
  files: readonly (FileCall | AlbumCall)[],
): TelegramCall | undefined {
  const [words, ...moreWords] = text
  const [file, ...moreFiles] = files
  if (file === undefined || moreFiles.length + moreWords.length > 0 || words?.call.method !== 'sendMessage')
    return undefined
  const { finishesLive, rich, payload: said } = words.call
  const isPlain = finishesLive === undefined && rich === undefined && said.reply_markup === undefined
  if (!isPlain || said.text.length > maxCaptionLength) return undefined
  const payload: FilePayload = {
    ...file.payload,
    ...(said.reply_parameters === undefined ? {} : { reply_parameters: said.reply_parameters }),
    caption: said.text,
    ...(said.entities === undefined ? {} : { caption_entities: said.entities }),
  }
  return { ...file, payload }
}

// A file is sent by its type and size: what Telegram cannot show goes as a document. Pure.

type FileKind = 'photo' | 'video' | 'animation' | 'audio' | 'voice' | 'document'

/** What the Bot API takes from a bot, and of that as a picture. */
export const maxUploadBytes = 50_000_000
const maxPhotoBytes = 10_000_000

const sendMethods: Readonly<Record<FileKind, FileMethod>> = {
  photo: 'sendPhoto',
  video: 'sendVideo',
  animation: 'sendAnimation',
  audio: 'sendAudio',
  voice: 'sendVoice',
  document: 'sendDocument',
}

/** Only what every app of Telegram's plays; a picture must be known to be small enough. */
const kindsByMimeType: Readonly<Record<string, FileKind>> = {
  'image/jpeg': 'photo',
  'image/png': 'photo',
  'image/webp': 'photo',
  'image/gif': 'animation',
  'video/mp4': 'video',
  'audio/mpeg': 'audio',
  'audio/mp3': 'audio',
  'audio/mp4': 'audio',
  'audio/m4a': 'audio',
  'audio/x-m4a': 'audio',
  'audio/ogg': 'voice',
  'audio/opus': 'voice',
}

function chooseFileKind(mime: string, size: number | undefined): FileKind {
  const type = (mime.split(';')[0] ?? '').trim().toLowerCase()
  const kind = Object.hasOwn(kindsByMimeType, type) ? (kindsByMimeType[type] ?? 'document') : 'document'
  return kind === 'photo' && (size === undefined || size > maxPhotoBytes) ? 'document' : kind
}
