// Hop 8: one loopback call to its outcome, in the four ways a platform can make repeating safe, or not.
import type { Attempt, Capabilities, DeliveryOutcome, LookupOutcome } from '../../../src/contract/index.ts'
import type { LoopbackSettings } from './config.ts'
import type { LoopbackCall } from './wire.ts'

export type SendClass = Capabilities['idempotentSend']

type Deps = { readonly fetch: typeof fetch; readonly settings: LoopbackSettings; readonly sendClass: SendClass }

export async function deliverLoopback(deps: Deps, call: LoopbackCall, attempt: Attempt): Promise<DeliveryOutcome> {
  const mark = attempt.isMaybeRepeat ? 'Possibly sent before: ' : ''
  try {
    const response = await deps.fetch(...requestFor(deps, { ...call, text: mark + call.text }, attempt))
    return await outcomeOf(response)
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined
    const isRefused = typeof cause === 'object' && cause !== null && 'code' in cause && cause.code === 'ECONNREFUSED'
    return isRefused ? { kind: 'retry', reason: 'unreachable' } : { kind: 'unknown', reason: 'no_readable_answer' }
  }
}

export async function reconcileLoopback(deps: Deps, attempt: Attempt): Promise<LookupOutcome> {
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

function requestFor({ settings, sendClass }: Deps, call: LoopbackCall, attempt: Attempt): [string, RequestInit] {
  const isEdit = sendClass === 'edit'
  const hasId = sendClass === 'client-id' || sendClass === 'lookup'
  const url = `${settings.vendorUrl}/messages${isEdit ? `/${encodeURIComponent(attempt.clientId)}` : ''}`
  const body = {
    ...call,
    ...(hasId ? { clientId: attempt.clientId } : {}),
    ...(sendClass === 'client-id' ? { deduplicate: true } : {}),
  }
  const headers = { 'content-type': 'application/json' }
  return [url, { method: isEdit ? 'PUT' : 'POST', headers, body: JSON.stringify(body), signal: attempt.signal }]
}

async function outcomeOf(response: Response): Promise<DeliveryOutcome> {
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
