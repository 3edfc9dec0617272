// Hop 8: one loopback call to its outcome, in the four ways a platform can make repeating safe, or not.

import type {
  Attempt,
  Capabilities,
  DeliveryResult,
  FileSource,
  LookupResult,
  OpenedFile,
} from '../../../src/contract/index.ts'
import { createUnpinnedFetch } from '../../../src/lib/index.ts'
import type { JsonObject } from '../../../src/lib/json-value.ts'
import type { LoopbackSettings } from './config.ts'
import type { LoopbackCall } from './wire.ts'

export type SendClass = Capabilities['idempotentSend']

type Deps = {
  readonly fetch: typeof fetch
  readonly settings: LoopbackSettings
  readonly sendClass: SendClass
  readonly files: FileSource | undefined
}

export async function deliverLoopback(deps: Deps, call: LoopbackCall, attempt: Attempt): Promise<DeliveryResult> {
  const mark = attempt.isMaybeRepeat ? 'Possibly sent before: ' : ''
  const upload = call.file === undefined ? { file: undefined } : await uploadOf(deps, call.file)
  if (!('file' in upload)) return upload
  try {
    const text = call.file === undefined ? mark + call.text : ''
    const response = await deps.fetch(
      ...requestFor(deps, { ...call, text, ...(upload.file === undefined ? {} : { file: upload.file }) }, attempt),
    )
    return await outcomeOf(response)
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined
    const isRefused = typeof cause === 'object' && cause !== null && 'code' in cause && cause.code === 'ECONNREFUSED'
    return isRefused ? { kind: 'retry', reason: 'unreachable' } : { kind: 'unknown', reason: 'no_readable_answer' }
  }
}

export async function reconcileLoopback(deps: Deps, attempt: Attempt): Promise<LookupResult> {
  const url = `${deps.settings.vendorUrl}/messages?reference=${encodeURIComponent(attempt.clientId)}`
  try {
    const response = await deps.fetch(url, { signal: attempt.signal })
    if (response.status === 404) return { kind: 'absent' }
    if (response.ok) return { kind: 'found', vendorId: await idOf(response) }
    return { kind: 'undecided', reason: `vendor_${response.status}` }
  } catch {
    return { kind: 'undecided', reason: 'unreachable' }
  }
}

/** This platform takes files as text, so small ones only. */
async function uploadOf(
  { files }: Deps,
  { attachment, name }: NonNullable<LoopbackCall['file']>,
): Promise<DeliveryResult | { readonly file: JsonObject }> {
  const source = await files?.open(attachment)
  if (source === undefined) return { kind: 'refused', reason: 'file_gone' }
  if (source.size === 0) return { kind: 'refused', reason: 'file_empty' }
  const bytes = new Uint8Array(await new Response(source.body).arrayBuffer())
  return { file: { name, data: Buffer.from(bytes).toString('base64') } }
}

/** The platform's credential is part of the address, as it is on some. */
export function openLoopbackFile({ fetch, settings }: Pick<Deps, 'fetch' | 'settings'>) {
  const guarded = createUnpinnedFetch(fetch)
  const { origin, hostname } = new URL(settings.vendorUrl)
  return async (ref: JsonObject, signal: AbortSignal): Promise<OpenedFile> => {
    const url = `${settings.vendorUrl}/files/${settings.secret.reveal()}/${encodeURIComponent(String(ref['id']))}`
    const outcome = await guarded.fetch(url, { origins: [origin], hosts: [hostname], signal })
    if (outcome.kind !== 'answered')
      return outcome.kind === 'failed'
        ? { kind: 'retry', reason: 'unreachable' }
        : { kind: 'refused', reason: 'not_allowed' }
    const { status, headers, body } = outcome.response
    if (status === 404) return { kind: 'refused', reason: 'gone' }
    if (status === 413) return { kind: 'refused', reason: 'too_large' }
    if (status !== 200 || body === null) return { kind: 'retry', reason: `vendor_${status}` }
    const type = headers.get('content-type') ?? ''
    return type.startsWith('text/html')
      ? { kind: 'refused', reason: 'login_page' }
      : { kind: 'opened', body, mime: type }
  }
}

function requestFor({ settings, sendClass }: Deps, call: JsonObject, attempt: Attempt): [string, RequestInit] {
  const edited = attempt.liveReference ?? (sendClass === 'edit' ? attempt.clientId : undefined)
  const isEdit = edited !== undefined
  const hasId = sendClass === 'client-id' || sendClass === 'lookup'
  const url = `${settings.vendorUrl}/messages${isEdit ? `/${encodeURIComponent(edited)}` : ''}`
  const body = {
    ...call,
    ...(hasId ? { clientId: attempt.clientId } : {}),
    ...(sendClass === 'client-id' ? { deduplicate: true } : {}),
  }
  const headers = { 'content-type': 'application/json' }
  const method = isEdit ? 'PUT' : 'POST'
  return [url, { method, headers, body: JSON.stringify(body), signal: attempt.signal, redirect: 'manual' }]
}

async function outcomeOf(response: Response): Promise<DeliveryResult> {
  if (response.ok) return { kind: 'delivered', vendorId: await idOf(response) }
  if (response.status === 429) {
    const after = response.headers.get('retry-after')
    const asked = after === null ? {} : { afterMs: Number(after) * 1000, scope: 'conversation' as const }
    return { kind: 'retry', reason: 'rate_limited', ...asked }
  }
  if (response.status >= 500) return { kind: 'unknown', reason: `vendor_${response.status}` }
  return { kind: 'refused', reason: `vendor_${response.status}` }
}

async function idOf(response: Response): Promise<string> {
  const body: unknown = await response.json()
  const id = typeof body === 'object' && body !== null && 'id' in body ? body.id : undefined
  if (typeof id !== 'string') throw new Error('the vendor gave no id')
  return id
}
