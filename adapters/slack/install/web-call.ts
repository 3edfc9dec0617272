// One call of Slack's Web API about an installation itself: exchanging a code, refreshing a token, asking who we are.
// Made by hand, because here tokens of different workspaces are near each other: nothing is shared between two calls.
import type { ChannelDeps } from '../../../src/contract/index.ts'

export type OauthAnswer =
  | { readonly kind: 'ok'; readonly body: unknown }
  | { readonly kind: 'refused'; readonly error: string }
  /** No answer, or none that can be read: it may be asked again. */
  | { readonly kind: 'failed' }

const timeoutMs = 10_000

export type OauthCall = {
  readonly apiUrl: string
  readonly method: string
  readonly fields: Readonly<Record<string, string>>
  readonly token?: string
}

export async function callOauthMethod(
  { fetch: send }: Pick<ChannelDeps, 'fetch'>,
  { apiUrl, method, fields, token }: OauthCall,
): Promise<OauthAnswer> {
  try {
    const response = await send(`${apiUrl}${method}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: new URLSearchParams(fields).toString(),
      // A credential is never carried to where a redirect points.
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    })
    if (!response.ok) return { kind: 'failed' }
    return toOauthAnswer(await response.json())
  } catch {
    return { kind: 'failed' }
  }
}

function toOauthAnswer(body: unknown): OauthAnswer {
  if (typeof body !== 'object' || body === null || !('ok' in body)) return { kind: 'failed' }
  if (body.ok === true) return { kind: 'ok', body }
  const error = 'error' in body && typeof body.error === 'string' ? body.error : 'unknown_error'
  return error === 'ratelimited' ? { kind: 'failed' } : { kind: 'refused', error }
}
