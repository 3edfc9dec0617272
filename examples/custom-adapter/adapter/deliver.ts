// One message through the interaction's webhook, and how the application stands.
import type { Attempt, DeliveryResult, ProbeRequest, ProbeResult } from 'parley-gateway'
import type { Settings } from './config.ts'
import type { Call } from './wire.ts'

type Deps = { readonly fetch: typeof fetch; readonly settings: Settings }

/** The platform has no key for repeating: what may have arrived is not sent again. */
export async function deliverMessage(
  { fetch, settings }: Deps,
  call: Call,
  { signal }: Attempt,
): Promise<DeliveryResult> {
  const url = `${settings.apiRoot}/webhooks/${settings.applicationId}/${encodeURIComponent(call.token)}?wait=true`
  const headers = { 'content-type': 'application/json' }
  let response: Response
  try {
    response = await fetch(url, {
      method: 'POST',
      headers,
      body: JSON.stringify(call.body),
      signal,
      redirect: 'manual',
    })
  } catch {
    return { kind: 'unknown', reason: 'no_readable_answer' }
  }
  const body: unknown = await response.json().catch(() => undefined)
  if (response.ok) return hasId(body) ? { kind: 'delivered', vendorId: body.id } : { kind: 'unknown', reason: 'no_id' }
  if (response.status === 429) return { kind: 'retry', reason: 'rate_limited', afterMs: retryAfterMs(response) }
  if (response.status >= 500) return { kind: 'unknown', reason: `vendor_${response.status}` }
  // A token lives for a quarter of an hour; after that there is no way to answer.
  return {
    kind: 'refused',
    reason: response.status === 404 || response.status === 401 ? 'token_expired' : `vendor_${response.status}`,
  }
}

function hasId(body: unknown): body is { readonly id: string } {
  return typeof body === 'object' && body !== null && 'id' in body && typeof body.id === 'string'
}

function retryAfterMs({ headers }: Response): number {
  const seconds = Number(headers.get('retry-after'))
  return Number.isFinite(seconds) && seconds > 0 ? Math.ceil(seconds * 1000) : 1000
}

export async function probeApplication({ fetch, settings }: Deps, { signal }: ProbeRequest): Promise<ProbeResult> {
  const failed = (state: 'failed' | 'degraded', reason: string, problem: string, remedy: string): ProbeResult => ({
    summary: '',
    problems: [{ state, reason, problem, remedy }],
  })
  try {
    const headers = { authorization: `Bot ${settings.botToken.reveal()}` }
    const response = await fetch(`${settings.apiRoot}/applications/@me`, { headers, signal, redirect: 'manual' })
    if (response.status === 401)
      return failed(
        'failed',
        'token_refused',
        'bot token refused (401)',
        'set DISCORD_BOT_TOKEN to the token of this bot',
      )
    if (!response.ok)
      return failed(
        'degraded',
        'unreachable',
        `the platform answers ${response.status}`,
        'wait, or look at its status page',
      )
    const body: unknown = await response.json()
    const verifyKey = typeof body === 'object' && body !== null && 'verify_key' in body ? body.verify_key : undefined
    if (typeof verifyKey === 'string' && verifyKey.toLowerCase() !== settings.publicKey.toLowerCase())
      return failed(
        'failed',
        'wrong_key',
        'the public key is of another application',
        'set DISCORD_PUBLIC_KEY to the one on its page',
      )
    return { summary: `application ${settings.applicationId}`, problems: [] }
  } catch {
    return failed('degraded', 'unreachable', 'the platform does not answer', 'check the network and DISCORD_API_ROOT')
  }
}
