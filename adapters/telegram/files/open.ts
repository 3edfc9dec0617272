// Hop 7: a file at Telegram is opened with the bot's token, which stands in its address. Neither leaves this file.
import { GrammyError } from 'grammy/web'
import * as z from 'zod'
import type { JsonObject, OpenedFile, SafeFetch } from '../../../src/contract/index.ts'
import { createUnpinnedFetch } from '../../../src/lib/index.ts'
import type { TelegramSettings } from '../config.ts'
import { clientSignal, createBotApi } from '../deliver/api.ts'

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
      const file = await api.raw.getFile({ file_id }, clientSignal(signal))
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
