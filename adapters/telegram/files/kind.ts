// What a file is sent as, by its type and size: what Telegram cannot show goes as a document. Pure.
import type { FileMethod } from '../wire/call.ts'

export type FileKind = 'photo' | 'video' | 'animation' | 'audio' | 'voice' | 'document'

/** What the Bot API takes from a bot, and of that as a picture. */
export const maxUploadBytes = 50_000_000
const maxPhotoBytes = 10_000_000

export const sendMethods: Readonly<Record<FileKind, FileMethod>> = {
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

export function chooseFileKind(mime: string, size: number | undefined): FileKind {
  const type = (mime.split(';')[0] ?? '').trim().toLowerCase()
  const kind = Object.hasOwn(kindsByMimeType, type) ? (kindsByMimeType[type] ?? 'document') : 'document'
  return kind === 'photo' && (size === undefined || size > maxPhotoBytes) ? 'document' : kind
}
