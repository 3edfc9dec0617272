// Hop 3: the file a message carries, as far as Telegram says what it is. Its bytes stay where they are. Pure.
import { cleanText, type KnownPart } from '../../../src/contract/index.ts'
import { type FileField, fileFields, fileSchema, type TelegramFile } from '../wire/file.ts'

/** Undefined: it carries none, or none that can be asked for. */
export function telegramFilePart(message: Readonly<Record<string, unknown>>): KnownPart | undefined {
  for (const field of fileFields) {
    const file = parseLargestFile(message[field])
    if (file === undefined) continue
    const mime = fileMimeType(field, file)
    const name = inboundFileName(field, file, mime)
    return {
      kind: 'file',
      bytes_ref: { kind: 'channel', ref: { file_id: file.file_id, ...(mime === undefined ? {} : { mime }) } },
      ...(mime === undefined ? {} : { mime }),
      ...(name === undefined ? {} : { name }),
      ...(file.file_size === undefined ? {} : { size: file.file_size }),
    }
  }
  return undefined
}

/** A photo comes in several sizes, the largest last. */
function parseLargestFile(value: unknown): TelegramFile | undefined {
  return fileSchema.safeParse(Array.isArray(value) ? value.at(-1) : value).data
}

/** What Telegram makes itself has one type, and says none. */
function fileMimeType(field: FileField, { mime_type, is_animated, is_video }: TelegramFile): string | undefined {
  if (mime_type !== undefined) return mime_type
  switch (field) {
    case 'photo':
      return 'image/jpeg'
    case 'voice':
      return 'audio/ogg'
    case 'video':
    case 'video_note':
    case 'animation':
      return 'video/mp4'
    case 'sticker':
      return is_video === true ? 'video/webm' : is_animated === true ? 'application/gzip' : 'image/webp'
    case 'audio':
    case 'document':
      return undefined
    default:
      return field satisfies never
  }
}

const fileExtensions: Readonly<Record<string, string>> = {
  'image/jpeg': 'jpg',
  'audio/ogg': 'ogg',
  'video/mp4': 'mp4',
  'video/webm': 'webm',
  'image/webp': 'webp',
  'application/gzip': 'tgs',
}

function inboundFileName(field: FileField, { file_name }: TelegramFile, mime: string | undefined): string | undefined {
  const given = cleanText(file_name ?? '').slice(0, 255)
  if (given !== '') return given
  const ending = fileExtensions[mime ?? '']
  return ending === undefined ? undefined : `${field.replace('_', '-')}.${ending}`
}
