// One bounded request to an issuer: seconds and kilobytes, and no redirect.
import type { SafeFetch, SafeFetchOptions } from '../../contract/index.ts'
import { parseBoundedJson } from '../../lib/index.ts'

const defaultTimeoutMs = 5000
const maxBytes = 256 * 1024

export type IssuerFetch = {
  /** For origins the operator wrote down, wherever they are. */
  readonly own: SafeFetch
  /** For what a document of the issuer's names: public addresses only. */
  readonly guarded: SafeFetch
  /** For a whole answer. Without it: five seconds. */
  readonly timeoutMs?: number
}

export type IssuerAnswer =
  | { readonly ok: true; readonly body: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly reason: string }

export async function fetchIssuerJson(
  { own, guarded, timeoutMs = defaultTimeoutMs }: IssuerFetch,
  url: string,
  written: readonly string[],
  options: Pick<SafeFetchOptions, 'method' | 'headers' | 'body'> = {},
): Promise<IssuerAnswer> {
  const { origin } = new URL(url)
  const isWritten = written.some((each) => new URL(each).origin === origin)
  // Over the body as well: an issuer that sends it slowly must not hold a caller.
  const bounds = { maxBytes, timeoutMs, signal: AbortSignal.timeout(timeoutMs) }
  const asked = { ...options, ...bounds, headers: { accept: 'application/json', ...options.headers } }
  const outcome = isWritten ? await own.fetch(url, { ...asked, origins: [origin] }) : await guarded.fetch(url, asked)
  if (outcome.kind !== 'answered')
    return { ok: false, reason: outcome.reason === 'aborted' ? 'timeout' : outcome.reason }
  const { response } = outcome
  if (response.status !== 200) {
    await response.body?.cancel().catch(() => undefined)
    return { ok: false, reason: `status_${response.status}` }
  }
  const bytes = await response.arrayBuffer().catch(() => undefined)
  if (bytes === undefined) return { ok: false, reason: 'cut_off_or_too_large' }
  const json = parseBoundedJson(new Uint8Array(bytes))
  return json.ok ? { ok: true, body: json.value } : json
}
