// Stands in for api.telegram.org: the methods Parley calls, with Telegram's own limits and error texts.
import {
  type Fault,
  type RecordedCall,
  type ScriptedServer,
  startScriptedServer,
  type VendorReply,
} from '../../src/testing/scripted-server.ts'

export type SentMessage = {
  readonly message_id: number
  readonly chat_id: string
  text: string
  /** `media`: what an album says of its items. */
  readonly file?: {
    readonly method: string
    readonly name: string
    readonly bytes: Uint8Array
    readonly media?: string
  }
}

/** A file that people sent, by its id. Without a path Telegram refuses to give it away. */
export type HostedFile = { readonly bytes: Uint8Array; readonly path?: string; readonly contentType?: string }

export type TelegramApi = Pick<ScriptedServer, 'calls' | 'unexpected' | 'failNext' | 'failAlways' | 'close'> & {
  readonly apiRoot: string
  readonly token: string
  readonly files: Map<string, HostedFile>
  /** What waits for whoever polls; confirmed by the next offset, and then forgotten. */
  readonly updates: { update_id: number }[]
  /** Messages as they stand in the chats now, in the order of sending. */
  readonly sent: readonly SentMessage[]
  /** Payloads of the calls of one method, whether or not they were carried out. */
  readonly payloads: (method: string) => readonly Record<string, unknown>[]
}

export const testBotToken = '7000001:AAE-test-token-of-the-double-000000000'

const methods = new Set([
  'sendMessage',
  'editMessageText',
  'editMessageReplyMarkup',
  'sendPhoto',
  'sendDocument',
  'getFile',
  'getMe',
  'answerCallbackQuery',
  'answerGuestQuery',
  'setWebhook',
  'deleteWebhook',
  'getWebhookInfo',
  'setMyCommands',
  'sendVideo',
  'sendAnimation',
  'sendAudio',
  'sendVoice',
  'sendMediaGroup',
  'getUpdates',
  'sendChatAction',
  'setMessageReaction',
  'sendMessageDraft',
  'sendRichMessage',
])
const uploads = new Set([
  'sendPhoto',
  'sendDocument',
  'sendVideo',
  'sendAnimation',
  'sendAudio',
  'sendVoice',
  'sendMediaGroup',
])
const maxDownload = 20 * 1024 * 1024

export async function startTelegramApi(
  options: { readonly token?: string; readonly port?: number } = {},
): Promise<TelegramApi> {
  const token = options.token ?? testBotToken
  const sent: SentMessage[] = []
  const files = new Map<string, HostedFile>()
  const updates: { update_id: number }[] = []
  const server = await startScriptedServer(
    {
      notFound: { ok: false, error_code: 404, description: 'Not Found' },
      routeOf: ({ path }) => {
        if (path.startsWith('/file/bot')) return 'file'
        const method = path.split('/').at(-1) ?? ''
        return /^\/bot[^/]+\/\w+$/.test(path) && methods.has(method) ? method : undefined
      },
      apply(route, { path, body }) {
        if (route === 'file') return hostedFile(path, token, files)
        if (!path.startsWith(`/bot${token}/`)) return refusal(401, 'Unauthorized')
        if (route === 'getUpdates') return accepted(waiting(asFields(body), updates))
        if (route === 'getFile') return getFile(asFields(body), files)
        if (uploads.has(route)) return sendFile(route, String(body), sent)
        return carryOut(route, asFields(body), sent)
      },
    },
    options.port,
  )
  const payloads = (method: string) => server.calls.filter(({ route }) => route === method).map(payloadOf)
  return { ...server, apiRoot: server.origin, token, sent, files, updates, payloads }
}

function waiting(payload: Record<string, unknown>, updates: { update_id: number }[]): readonly unknown[] {
  const offset = Number(payload['offset'] ?? 0)
  updates.splice(0, updates.length, ...updates.filter(({ update_id }) => update_id >= offset))
  return updates.slice(0, Number(payload['limit'] ?? 100))
}

function carryOut(method: string, payload: Record<string, unknown>, sent: SentMessage[]): VendorReply {
  switch (method) {
    case 'sendMessage':
      return sendMessage(payload, sent)
    case 'sendRichMessage':
      return sendRichMessage(payload, sent)
    case 'editMessageText':
      return editMessageText(payload, sent)
    case 'getWebhookInfo':
      return accepted({ url: '', has_custom_certificate: false, pending_update_count: 0 })
    case 'getMe':
      return accepted({ id: 7000001, is_bot: true, first_name: 'Gateway', username: 'gw_bot' })
    default:
      return accepted(true)
  }
}

function sendMessage(payload: Record<string, unknown>, sent: SentMessage[]): VendorReply {
  const text = String(payload['text'] ?? '').trim()
  if (payload['chat_id'] === undefined) return refusal(400, 'Bad Request: chat_id is empty')
  if (text === '') return refusal(400, 'Bad Request: text must be non-empty')
  if ([...text].length > 4096) return refusal(400, 'Bad Request: message is too long')
  const message = { message_id: sent.length + 1, chat_id: String(payload['chat_id']), text }
  sent.push(message)
  return accepted(wire(message))
}

function sendRichMessage(payload: Record<string, unknown>, sent: SentMessage[]): VendorReply {
  const text = richText(payload)
  if (payload['text'] !== undefined || text === '') return refusal(400, 'Bad Request: rich message must be non-empty')
  const message = { message_id: sent.length + 1, chat_id: String(payload['chat_id']), text }
  sent.push(message)
  return accepted(wire(message))
}

/** What the blocks say, in one line. */
function richText(payload: Record<string, unknown>): string {
  const { blocks } = asFields(payload['rich_message'])
  const words = (value: unknown): string => {
    if (typeof value === 'string') return value
    if (Array.isArray(value)) return value.map(words).join(' ')
    const { text, blocks: inner, items, cells } = asFields(value)
    return [text, inner, items, cells].map((each) => (each === undefined ? '' : words(each))).join('')
  }
  return words(blocks ?? [])
    .replace(/\s+/g, ' ')
    .trim()
}

function editMessageText(payload: Record<string, unknown>, sent: SentMessage[]): VendorReply {
  const text = String(payload['text'] ?? richText(payload)).trim()
  const message = sent.find(({ message_id }) => message_id === payload['message_id'])
  if (message === undefined) return refusal(400, 'Bad Request: message to edit not found')
  if (message.text === text) return refusal(400, 'Bad Request: message is not modified: specified new message content')
  message.text = text
  return accepted(wire(message))
}

function getFile(payload: Record<string, unknown>, files: ReadonlyMap<string, HostedFile>): VendorReply {
  const id = String(payload['file_id'])
  const file = files.get(id)
  if (file === undefined) return refusal(400, 'Bad Request: wrong file_id')
  if (file.bytes.length > maxDownload) return refusal(400, 'Bad Request: file is too big')
  const path = file.path ?? `documents/${id}`
  return accepted({ file_id: id, file_unique_id: `u${id}`, file_size: file.bytes.length, file_path: path })
}

function hostedFile(path: string, token: string, files: ReadonlyMap<string, HostedFile>): VendorReply {
  const [, wanted = ''] = decodeURIComponent(path).split(`/file/bot${token}/`)
  const found = [...files].find(([id, file]) => (file.path ?? `documents/${id}`) === wanted)?.[1]
  if (found === undefined) return refusal(404, 'Not Found')
  const headers = { 'content-type': found.contentType ?? 'application/octet-stream' }
  return { status: 200, body: found.bytes, headers }
}

/** Multipart as Telegram reads it: fields by name, and each file by the name it is attached under; an album is several messages. */
function sendFile(method: string, body: string, sent: SentMessage[]): VendorReply {
  const [boundary = ''] = body.split('\r\n', 1)
  const parts = body.split(boundary).map((part) => part.split('\r\n\r\n'))
  const fieldOf = (name: string) => parts.find(([head]) => head?.includes(`name="${name}"`))?.[1]?.trim()
  const chat = fieldOf('chat_id')
  const attached = parts.filter(([head]) => head?.includes('filename='))
  if (chat === undefined || attached.length === 0)
    return refusal(400, 'Bad Request: there is no document in the request')
  const media = fieldOf('media')
  const messages: SentMessage[] = []
  for (const upload of attached) {
    const bytes = Buffer.from(upload.slice(1).join('\r\n\r\n').replace(/\r\n$/, ''), 'latin1')
    if (bytes.length === 0) return refusal(400, 'Bad Request: file must be non-empty')
    const head = Buffer.from(upload[0] ?? '', 'latin1').toString('utf8')
    const file = {
      method,
      name: /filename="([^"]*)"/.exec(head)?.[1] ?? '',
      bytes,
      ...(media === undefined ? {} : { media }),
    }
    const text = Buffer.from(fieldOf('caption') ?? '', 'latin1').toString('utf8')
    messages.push({ message_id: sent.length + messages.length + 1, chat_id: chat, text, file })
  }
  sent.push(...messages)
  return accepted(method === 'sendMediaGroup' ? messages.map(wire) : wire(messages[0] as SentMessage))
}

/** 429 as Telegram words it. */
export function rateLimited(retryAfter: number): Fault {
  return apiFault(429, `Too Many Requests: retry after ${retryAfter}`, { retry_after: retryAfter })
}

export function apiFault(code: number, description: string, parameters?: Record<string, unknown>): Fault {
  const body = JSON.stringify({ ok: false, error_code: code, description, ...(parameters ? { parameters } : {}) })
  return { kind: 'answer', status: code, body }
}

/** What a proxy in front of the API answers. */
export const htmlBadGateway: Fault = {
  kind: 'answer',
  status: 502,
  body: '<html><body><h1>502 Bad Gateway</h1></body></html>',
  headers: { 'content-type': 'text/html' },
}

function accepted(result: unknown): VendorReply {
  return { status: 200, body: { ok: true, result } }
}

function refusal(code: number, description: string): VendorReply {
  return { status: code, body: { ok: false, error_code: code, description } }
}

function wire(message: SentMessage): unknown {
  const chat = { id: Number(message.chat_id), type: 'private' }
  return { message_id: message.message_id, date: 1_700_000_000, chat, text: message.text }
}

function asFields(body: unknown): Record<string, unknown> {
  return typeof body === 'object' && body !== null ? { ...body } : {}
}

function payloadOf(call: RecordedCall): Record<string, unknown> {
  return asFields(call.body)
}
