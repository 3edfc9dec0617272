// Files at Slack: opened with the bot's token, which goes to Slack's own file hosts and nowhere else, and uploaded.
import * as z from 'zod'
import type { ChannelDeps, DeliveryResult, OpenedFile } from '../../src/contract/index.ts'
import { createUnpinnedFetch, type JsonObject, type SafeFetch, type Secret } from '../../src/lib/index.ts'
import { allowedFileOrigins, type SlackSettings } from './config.ts'
import type { CallWebApi, SlackTokenLookup, WebApiAnswer } from './deliver/web-api.ts'
import { slackDeliveryOutcome } from './deliver/web-api.ts'
import { maxUploadBytes } from './render/reply.ts'
import { fileSchema, type SlackCall } from './wire.ts'

/** Slack's own limit; the file store applies its own. */
const maxBytes = 1_000_000_000

const refSchema = z.object({
  account: z.string().min(1),
  file_id: z.string().min(1),
  url: z.string().optional(),
  mime: z.string().optional(),
})

type Refused = Extract<OpenedFile, { kind: 'refused' }>['reason']

export function createSlackFileOpener(
  settings: SlackSettings,
  deps: Pick<ChannelDeps, 'fetch'>,
  { call, tokenOf }: { readonly call: CallWebApi; readonly tokenOf: SlackTokenLookup },
): (ref: JsonObject, signal: AbortSignal) => Promise<OpenedFile> {
  // The hosts are the operator's word or Slack's own, so there is no address to pin.
  const guarded = createUnpinnedFetch(deps.fetch)
  const origins = allowedFileOrigins(settings)
  return async (ref, signal) => {
    const parsed = refSchema.safeParse(ref)
    if (!parsed.success) return refusedFile('gone')
    const { account, file_id, mime } = parsed.data
    const held = await tokenOf(account)
    if (held.kind !== 'token') return held.kind === 'gone' ? refusedFile('not_allowed') : held
    const { token } = held
    const given = parsed.data.url ?? readDownloadUrl(await call(token, 'files.info', { file: file_id }, signal))
    if (typeof given !== 'string') return given
    const url = parseAllowedUrl(given, origins)
    return url === undefined
      ? refusedFile('not_allowed')
      : downloadFromSlack(guarded, url, { token, origins, mime, signal })
  }
}

/** A stub of a shared channel says where the file is only when asked. */
function readDownloadUrl(answer: WebApiAnswer): string | OpenedFile {
  if (answer.kind === 'error')
    return refusedFile(/^file_(not_found|deleted)$/.test(answer.error) ? 'gone' : 'not_allowed')
  if (answer.kind !== 'ok') return { kind: 'retry', reason: `files_info_${answer.kind}` }
  const { data: file } = fileSchema.safeParse(answer.data['file'])
  const url = file?.url_private_download ?? file?.url_private
  if (file === undefined || url === undefined) return refusedFile('gone')
  return file.is_external === true || file.mode === 'external' ? refusedFile('not_allowed') : url
}

function parseAllowedUrl(given: string, origins: readonly string[]): URL | undefined {
  if (!URL.canParse(given, origins[0])) return undefined
  const url = new URL(given, origins[0])
  return origins.includes(url.origin) && url.username === '' && url.password === '' ? url : undefined
}

type Download = {
  readonly token: Secret
  readonly origins: readonly string[]
  readonly mime: string | undefined
  readonly signal: AbortSignal
}

async function downloadFromSlack(
  guarded: SafeFetch,
  url: URL,
  { token, origins, mime, signal }: Download,
): Promise<OpenedFile> {
  const headers = { authorization: `Bearer ${token.reveal()}` }
  const outcome = await guarded.fetch(url.href, { headers, origins, hosts: [url.hostname], maxBytes, signal })
  if (outcome.kind === 'refused') return refusedFile(outcome.reason === 'too_large' ? 'too_large' : 'not_allowed')
  if (outcome.kind === 'failed') return { kind: 'retry', reason: `download_${outcome.reason}` }
  const { response } = outcome
  const refusal = slackDownloadRefusal(response, mime)
  if (refusal === undefined && response.body !== null) {
    const size = Number(response.headers.get('content-length') ?? Number.NaN)
    return {
      kind: 'opened',
      body: response.body,
      ...(mime === undefined ? {} : { mime }),
      ...(Number.isSafeInteger(size) ? { size } : {}),
    }
  }
  await response.body?.cancel().catch(() => undefined)
  return refusal ?? { kind: 'retry', reason: 'download_without_body' }
}

/** Undefined: these are the bytes. Without the right to a file Slack answers with its login page, and says it is fine. */
function slackDownloadRefusal({ status, headers }: Response, mime: string | undefined): OpenedFile | undefined {
  if (status === 404 || status === 410) return refusedFile('gone')
  if (status === 401 || status === 403) return refusedFile('not_allowed')
  if (status !== 200) return { kind: 'retry', reason: `download_${status}` }
  const isPage = /^text\/html\b/i.test(headers.get('content-type') ?? '')
  return isPage && mime !== 'text/html' ? refusedFile('login_page') : undefined
}

function refusedFile(reason: Refused): OpenedFile {
  return { kind: 'refused', reason }
}

// An upload has three steps. Only the last one shows anything, so only it can be in doubt.

type UploadCall = Extract<SlackCall, { method: 'upload' }>
type UploadDeps = {
  readonly settings: SlackSettings
  readonly deps: Pick<ChannelDeps, 'fetch' | 'files'>
  readonly send: (method: string, args: Readonly<Record<string, unknown>>) => Promise<WebApiAnswer>
}

export async function uploadFile(means: UploadDeps, call: UploadCall, signal: AbortSignal): Promise<DeliveryResult> {
  const bytes = await readStoredFile(means.deps, call.file.attachment)
  if (!(bytes instanceof Uint8Array)) return bytes
  const name = call.file.name.replace(/[\u0000-\u001f\u007f]/g, '_')
  const offered = await means.send('files.getUploadURLExternal', { filename: name, length: bytes.length })
  if (offered.kind !== 'ok') return slackDeliveryOutcome(offered, true)
  const { upload_url: url, file_id: id } = offered.data
  if (typeof url !== 'string' || typeof id !== 'string') return { kind: 'retry', reason: 'no_upload_url' }
  const refusal = await putUploadBytes(means, url, bytes, signal)
  if (refusal !== undefined) return refusal
  const { channel_id, thread_ts, team_id } = call.payload
  const shared = await means.send('files.completeUploadExternal', {
    files: [{ id, title: name }],
    channel_id,
    ...(thread_ts === undefined ? {} : { thread_ts }),
    ...(team_id === undefined ? {} : { team_id }),
  })
  return shared.kind === 'ok' ? { kind: 'delivered', vendorId: id } : slackDeliveryOutcome(shared, false)
}

/** What cannot be sent is refused before any call. */
async function readStoredFile(
  { files }: Pick<ChannelDeps, 'files'>,
  attachment: string,
): Promise<Uint8Array<ArrayBuffer> | DeliveryResult> {
  const source = await Promise.resolve(files?.open(attachment)).catch(() => null)
  if (source === null) return { kind: 'retry', reason: 'file_unavailable' }
  if (source === undefined) return { kind: 'refused', reason: 'file_gone' }
  if (source.size === 0 || source.size > maxUploadBytes) {
    await source.body.cancel().catch(() => undefined)
    return { kind: 'refused', reason: source.size === 0 ? 'file_empty' : 'file_too_large' }
  }
  try {
    // Slack wants the length before the bytes, and a body of a known length.
    const bytes = new Uint8Array(await new Response(source.body).arrayBuffer())
    return bytes.length === 0 ? { kind: 'refused', reason: 'file_empty' } : bytes
  } catch {
    return { kind: 'retry', reason: 'file_unavailable' }
  }
}

/** The address comes from outside: it must be Slack's, and it is its own permission, so no token goes there. */
async function putUploadBytes(
  { settings, deps }: UploadDeps,
  url: string,
  body: Uint8Array<ArrayBuffer>,
  signal: AbortSignal,
): Promise<DeliveryResult | undefined> {
  if (!URL.canParse(url) || !allowedFileOrigins(settings).includes(new URL(url).origin)) {
    return { kind: 'refused', reason: 'upload_host_not_allowed' }
  }
  try {
    const headers = { 'content-type': 'application/octet-stream' }
    const response = await deps.fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal })
    await response.body?.cancel().catch(() => undefined)
    if (response.status === 200) return undefined
    const isOpen = response.status >= 500 || response.status === 429
    return { kind: isOpen ? 'retry' : 'refused', reason: `upload_http_${response.status}` }
  } catch {
    return { kind: 'retry', reason: 'upload_failed' }
  }
}
