// Hop 8: a stored file to Slack in its three steps. Only the last one shows anything, so only it can be in doubt.
import type { ChannelDeps, DeliveryOutcome } from '../../../src/contract/index.ts'
import { allowedFileOrigins, type SlackSettings } from '../config.ts'
import type { WebApiAnswer } from '../deliver/call-slack.ts'
import { slackDeliveryOutcome } from '../deliver/outcome-of.ts'
import type { SlackCall } from '../wire/call.ts'
import { maxUploadBytes } from './render.ts'

type UploadCall = Extract<SlackCall, { method: 'upload' }>
type UploadDeps = {
  readonly settings: SlackSettings
  readonly deps: Pick<ChannelDeps, 'fetch' | 'files'>
  readonly send: (method: string, args: Readonly<Record<string, unknown>>) => Promise<WebApiAnswer>
}

export async function uploadFile(means: UploadDeps, call: UploadCall, signal: AbortSignal): Promise<DeliveryOutcome> {
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
): Promise<Uint8Array<ArrayBuffer> | DeliveryOutcome> {
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
): Promise<DeliveryOutcome | undefined> {
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
