// The address of a request as its bytes said it: a Request has resolved dots and escapes before it is read.
import type { IncomingMessage } from 'node:http'
import type { Context } from 'hono'

export function rawRequestUrl(context: Context): string {
  // The Node server puts the incoming message into the environment of every context.
  const { incoming } = context.env as { incoming?: IncomingMessage }
  return incoming?.url ?? context.req.url
}
