// Whether a caller sits on this machine: its address, the name it called us by, and no proxy in between.
import type { IncomingMessage } from 'node:http'
import type { Context } from 'hono'

const loopbackAddress = /^(::1|(::ffff:)?127(\.\d{1,3}){3})$/
const proxyHeaders = ['forwarded', 'x-forwarded-for', 'x-real-ip'] as const
const loopbackName = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|parley\.localhost)(:\d+)?$/i

export function isLoopback(context: Context): boolean {
  // The Node server puts the incoming message into the environment of every context.
  const { incoming } = context.env as { incoming?: IncomingMessage }
  return incoming !== undefined && isFromHere(incoming, (name) => context.req.header(name))
}

export function isFromHere(
  { socket }: Pick<IncomingMessage, 'socket'>,
  header: (name: string) => string | undefined,
): boolean {
  // A page in somebody's browser can reach 127.0.0.1 through a name of its own; a proxy makes everybody local.
  const isProxied = proxyHeaders.some((name) => header(name) !== undefined)
  if (isProxied || !loopbackName.test(header('host') ?? '')) return false
  // The socket in the data folder has no address: whoever may open it sits here.
  return socket.remoteAddress === undefined || loopbackAddress.test(socket.remoteAddress)
}
