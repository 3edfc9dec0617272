// The headers of a request as a plain record, read from what Node parsed: making the standard's Headers costs more than the rest.
import type { IncomingMessage } from 'node:http'
import type { Context } from 'hono'

/** Names in lower case, repeated ones joined as the Fetch standard joins them. */
export function nodeRequestHeaders(context: Context): Readonly<Record<string, string>> {
  // The Node server puts the incoming message into the environment of every context.
  const { incoming } = context.env as { incoming?: IncomingMessage }
  return incoming === undefined ? context.req.header() : joinedHeaders(incoming.rawHeaders)
}

export function joinedHeaders(raw: readonly string[]): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = (raw[index] ?? '').toLowerCase()
    const value = raw[index + 1] ?? ''
    const known = Object.hasOwn(headers, name) ? headers[name] : undefined
    headers[name] = known === undefined ? value : `${known}${name === 'cookie' ? '; ' : ', '}${value}`
  }
  return headers
}
