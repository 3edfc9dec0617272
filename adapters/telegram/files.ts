// Files at Telegram: opened with the bot's token, which stands in their address, and uploaded. Neither token nor address leaves
// this file.
import { type Api, GrammyError, InputFile } from 'grammy/web'
import * as z from 'zod'
import type { DeliveryResult, FileSource, OpenedFile } from '../../src/contract/index.ts'
import { createUnpinnedFetch, type JsonObject, type SafeFetch } from '../../src/lib/index.ts'
import type { TelegramSettings } from './config.ts'
import { type ClientSignal, createBotApi, toClientSignal } from './deliver/bot-api.ts'
import { maxUploadBytes } from './render/files.ts'
import type { AlbumCall, FileCall } from './wire/calls.ts'

/** A server of one's own gives away two gigabytes; the file store applies its own limit. */
const maxBytes = 2_000_000_000

const refSchema = z.object({ file_id: z.string().min(1), mime: z.string().optional() })

type Refused = Extract<OpenedFile, { kind: 'refused' }>['reason']

export function openTelegramFile(
  settings: TelegramSettings,
  deps: { readonly fetch: typeof fetch },
): (ref: JsonObject, signal: AbortSignal) => Promise<OpenedFile> {
  const api = createBotApi(settings, deps)
  // The host is the operator's word and not a stranger's, so there is no address to pin.
  const guarded = createUnpinnedFetch(deps.fetch)
  return async (ref, signal) => {
    const parsed = refSchema.safeParse(ref)
    if (!parsed.success) return refusedFile('gone')
    try {
      const { file_id, mime } = parsed.data
      const file = await api.raw.getFile({ file_id }, toClientSignal(signal))
      const path = safeFilePath(file.file_path)
      if (path === undefined) return refusedFile('not_allowed')
      return await downloadFromTelegram(guarded, settings, { path, mime, size: file.file_size, signal })
    } catch (error) {
      // Errors of the client carry the address of the call, and with it the token.
      return error instanceof GrammyError ? botApiRefusal(error) : { kind: 'retry', reason: 'no_readable_answer' }
    }
  }
}

/** A path below the file root. A server in local mode names a place on its own disk, which is not ours to read. */
function safeFilePath(path: string | undefined): string | undefined {
  const segments = (path ?? '').split('/')
  const isPlain = segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..')
  return isPlain ? segments.map(encodeURIComponent).join('/') : undefined
}

type Download = {
  readonly path: string
  readonly mime: string | undefined
  readonly size: number | undefined
  readonly signal: AbortSignal
}

async function downloadFromTelegram(
  guarded: SafeFetch,
  settings: TelegramSettings,
  { path, mime, size, signal }: Download,
): Promise<OpenedFile> {
  const { origin, hostname } = new URL(settings.apiRoot)
  const url = `${settings.apiRoot}/file/bot${settings.botToken.reveal()}/${path}`
  const outcome = await guarded.fetch(url, { origins: [origin], hosts: [hostname], maxBytes, signal })
  if (outcome.kind === 'refused') return refusedFile(outcome.reason === 'too_large' ? 'too_large' : 'not_allowed')
  if (outcome.kind === 'failed') return { kind: 'retry', reason: `download_${outcome.reason}` }
  const { response } = outcome
  const refusal = telegramDownloadRefusal(response, mime)
  if (refusal === undefined && response.body !== null) {
    const length = Number(response.headers.get('content-length') ?? size ?? Number.NaN)
    return {
      kind: 'opened',
      body: response.body,
      ...(mime === undefined ? {} : { mime }),
      ...(Number.isSafeInteger(length) ? { size: length } : {}),
    }
  }
  await response.body?.cancel().catch(() => undefined)
  return refusal ?? { kind: 'retry', reason: 'download_without_body' }
}

/** Undefined: these are the bytes. */
function telegramDownloadRefusal({ status, headers }: Response, mime: string | undefined): OpenedFile | undefined {
  if (status === 404 || status === 410) return refusedFile('gone')
  if (status === 401 || status === 403) return refusedFile('not_allowed')
  if (status !== 200) return { kind: 'retry', reason: `download_${status}` }
  const isPage = /^text\/html\b/i.test(headers.get('content-type') ?? '')
  return isPage && mime !== 'text/html' ? refusedFile('login_page') : undefined
}

function botApiRefusal({ error_code: code, description }: GrammyError): OpenedFile {
  if (code === 429 || code >= 500 || /temporarily unavailable/i.test(description))
    return { kind: 'retry', reason: `telegram_${code}` }
  if (/too big/i.test(description)) return refusedFile('too_large')
  return refusedFile(code === 401 || code === 403 ? 'not_allowed' : 'gone')
}

function refusedFile(reason: Refused): OpenedFile {
  return { kind: 'refused', reason }
}

// Stored files go out as one upload, streamed from where they are kept.

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
): Promise<Upload | DeliveryResult> {
  const wanted = call.method === 'sendMediaGroup' ? call.files : [call.file]
  const opened: OpenedUpload[] = []
  const closeOpenedFiles = async (): Promise<void> => void (await Promise.all(opened.map((each) => each.end())))
  for (const each of wanted) {
    const file = await openStoredUpload(each, files)
    if (file.kind !== 'file') {
      await closeOpenedFiles()
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
        await closeOpenedFiles()
      }
    },
  }
}

async function openStoredUpload(
  { attachment, name }: FileCall['file'],
  files: FileSource | undefined,
): Promise<OpenedUpload | DeliveryResult> {
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
