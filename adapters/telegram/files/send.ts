// Hop 8: stored files go out as one upload, streamed from where they are kept.
import { type Api, InputFile } from 'grammy/web'
import type { DeliveryOutcome, FileSource } from '../../../src/contract/index.ts'
import type { ClientSignal } from '../deliver/api.ts'
import type { AlbumCall, FileCall } from '../wire/call.ts'
import { maxUploadBytes } from './kind.ts'

export type Upload = {
  readonly kind: 'opened'
  /** The number Telegram gave the message, the first of several. Lets go of bytes that were not taken. */
  readonly send: (api: Api, signal: ClientSignal) => Promise<string | undefined>
}

type OpenedUpload = { readonly kind: 'file'; readonly file: InputFile; readonly end: () => Promise<void> }

/** What cannot be sent is refused before any call. */
export async function openUpload(
  call: FileCall | AlbumCall,
  files: FileSource | undefined,
): Promise<Upload | DeliveryOutcome> {
  const wanted = call.method === 'sendMediaGroup' ? call.files : [call.file]
  const opened: OpenedUpload[] = []
  const closeOpened = async (): Promise<void> => void (await Promise.all(opened.map((each) => each.end())))
  for (const each of wanted) {
    const file = await openStoredUpload(each, files)
    if (file.kind !== 'file') {
      await closeOpened()
      return file
    }
    opened.push(file)
  }
  return {
    kind: 'opened',
    async send(api, signal) {
      try {
        const sent = await sendOpenedFiles(api, call, { files: opened.map(({ file }) => file), signal })
        return sent === undefined ? undefined : String(sent.message_id)
      } finally {
        await closeOpened()
      }
    },
  }
}

async function openStoredUpload(
  { attachment, name }: FileCall['file'],
  files: FileSource | undefined,
): Promise<OpenedUpload | DeliveryOutcome> {
  const source = await Promise.resolve(files?.open(attachment)).catch(() => null)
  if (source === null) return { kind: 'retry', reason: 'file_unavailable' }
  if (source === undefined) return { kind: 'refused', reason: 'file_gone' }
  const reader = source.body.getReader()
  const closeReader = (): Promise<void> => reader.cancel().catch(() => undefined)
  if (source.size > 0 && source.size <= maxUploadBytes)
    return { kind: 'file', file: new InputFile(readFileChunks(reader), quotedFileName(name)), end: closeReader }
  await closeReader()
  return { kind: 'refused', reason: source.size === 0 ? 'file_empty' : 'file_too_large' }
}

type Sent = { readonly message_id: number }
type Bytes = { readonly files: readonly InputFile[]; readonly signal: ClientSignal }

async function sendOpenedFiles(
  api: Api,
  call: FileCall | AlbumCall,
  { files, signal }: Bytes,
): Promise<Sent | undefined> {
  const { payload } = call
  if (call.method === 'sendMediaGroup') return sendAlbum(api, call, { files, signal })
  const [file] = files
  // One was opened for every one that was wanted.
  if (file === undefined) throw new TypeError('there is no file')
  switch (call.method) {
    case 'sendPhoto':
      return api.raw.sendPhoto({ ...payload, photo: file }, signal)
    case 'sendVideo':
      return api.raw.sendVideo({ ...payload, video: file, supports_streaming: true }, signal)
    case 'sendAnimation':
      return api.raw.sendAnimation({ ...payload, animation: file }, signal)
    case 'sendAudio':
      return api.raw.sendAudio({ ...payload, audio: file }, signal)
    case 'sendVoice':
      return api.raw.sendVoice({ ...payload, voice: file }, signal)
    case 'sendDocument':
      return api.raw.sendDocument({ ...payload, document: file }, signal)
    default:
      return call satisfies never
  }
}

/** The words stand below pictures as a whole, and below the last of other files. */
async function sendAlbum(
  api: Api,
  { payload, files: items }: AlbumCall,
  { files, signal }: Bytes,
): Promise<Sent | undefined> {
  const { caption, caption_entities, ...place } = payload
  const isSeen = items[0]?.kind === 'photo' || items[0]?.kind === 'video'
  const words = {
    ...(caption === undefined ? {} : { caption }),
    ...(caption_entities === undefined ? {} : { caption_entities }),
  }
  const media = files.map((file, index) => ({
    type: items[index]?.kind ?? 'document',
    media: file,
    ...(index === (isSeen ? 0 : files.length - 1) ? words : {}),
  }))
  // Cast: the items are of one family, which the types of the client want to see one by one.
  const group = { ...place, media } as unknown as Parameters<Api['raw']['sendMediaGroup']>[0]
  const [first] = await api.raw.sendMediaGroup(group, signal)
  return first
}

async function* readFileChunks(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value
}

/** The client writes the name into a header as it is given: quoted, so that nothing in it can end it. */
function quotedFileName(name: string): string {
  return `"${name.replace(/[\u0000-\u001f\u007f"\\]/g, '_')}"`
}
