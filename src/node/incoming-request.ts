// Facts of an incoming request: its headers, its path, and its origin (the socket of the data folder, a port of this machine, or
// anywhere else). Only the socket is the local user, since nothing but a process of this user can open it; a port can be
// forwarded, and what forwards it may say nothing.
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Context } from 'hono'
import { isLoopbackHostName } from '../api/audit-config/facts.ts'
import type { RequestSource } from '../contract/inbound-event.ts'

const loopbackAddress = /^(::1|(::ffff:)?127(\.\d{1,3}){3})$/
const loopbackName = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|parley\.localhost)(:\d{1,5})?$/i

/**
 * Names of headers that proxies, balancers, tunnels and content networks add, and clients do not. By their parts, since every product
 * has its own: a client that is taken for a proxy by mistake sends a token or uses the socket.
 */
const forwardingHeader = new RegExp(
  [
    '(^|[-_])(via|forward(ed|s|ing)?|proxied|proxy(id|user)?|tunnel|ngrok|tailscale|envoy|istio|traefik|haproxy|varnish|squid|nginx)([-_]|$)',
    '(^|[-_])(client|real|remote|source|src|peer|user|end[-_]?user|connecting|orig(in(al|ating)?)?)[-_]?(ip|addr(ess)?|host|port|proto|url|uri|forwarded)([-_]|v[46]$|$)',
    '^(cf|cdn|fly|fastly|akamai|incap|ssl|tls|wl|surrogate)-',
    '^x-(cf|cdn|fly|fastly|akamai|incap|ssl|tls|azure|arr|ms|amz|amzn|aws|google|goog|gfe|appengine|cloud|vercel|nf|netlify|heroku|render|railway|sucuri|edge|varnish|cluster|original|rewrite|remote|client|kong|gateway|lb|elb|waf|b3|k8s|wap)(-|$)',
    '^(x-)?(request|correlation|trace|amzn-trace|varnish|unique)-id$',
    '^x-(request-start|queue-start|scheme|url-scheme|host|server-name|server-port|iinfo|country-code|geo.*)$',
    '^front-end-https$',
  ].join('|'),
  'i',
)
/** Addressed to a proxy by the client itself, and ended there. */
const clientsOwn = /^proxy-(connection|authorization)$/i

const localSockets = new WeakSet<Socket>()

/** From now on callers of this server are the local user. Only for a server on a socket that others cannot open. */
export function treatServerSocketsAsLocal(server: Server): void {
  // Told by the server: a TCP connection that is over has no address either.
  server.on('connection', (socket: Socket) => localSockets.add(socket))
}

/** True for the name of a header that says that a request was passed on. */
export function isForwardingHeader(name: string): boolean {
  return forwardingHeader.test(name) && !clientsOwn.test(name)
}

type IncomingSocket = Pick<IncomingMessage, 'socket' | 'rawHeaders' | 'httpVersion'>

/** Whether it looks as if a process of this machine had asked: what a forwarded request can look like, too. */
export function isFromThisMachine({ socket, rawHeaders, httpVersion }: IncomingSocket): boolean {
  const isHere = localSockets.has(socket) || loopbackAddress.test(socket.remoteAddress ?? '')
  // Proxies with their defaults speak 1.0 to what is behind them; clients of today do not.
  if (!isHere || httpVersion !== '1.1') return false
  let host: string | undefined
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (isForwardingHeader(name)) return false
    // A page in a browser can reach 127.0.0.1 through a name of its own. Of two names none is believed.
    if (name.length === 4 && name.toLowerCase() === 'host')
      host = host === undefined ? (rawHeaders[index + 1] ?? '') : ''
  }
  return loopbackName.test(host ?? '')
}

/** How this gateway is reached decides whether there are guests: behind a public address every TCP caller may be a stranger. */
export type GatewayReachability = { readonly host: string; readonly publicUrl: string | undefined }

export function allowsLocalGuests({ host, publicUrl }: GatewayReachability): boolean {
  return publicUrl === undefined && isLoopbackHostName(host)
}

export function createSourceClassifier(reach: GatewayReachability): (incoming: IncomingSocket) => RequestSource {
  const hasGuests = allowsLocalGuests(reach)
  return (incoming) => {
    if (!isFromThisMachine(incoming)) return 'remote'
    if (localSockets.has(incoming.socket)) return 'local'
    return hasGuests ? 'guest' : 'remote'
  }
}

/** The Node server puts the incoming message into the environment of every context. */
export function getIncomingMessage(context: Context): IncomingMessage | undefined {
  return (context.env as { incoming?: IncomingMessage }).incoming
}

// Headers are a plain record, read from what Node parsed: making the standard's Headers costs more than the rest.

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

// The path is taken as its bytes said it: a Request has resolved dots and escapes before it is read.

export function rawRequestUrl(context: Context): string {
  // The Node server puts the incoming message into the environment of every context.
  const { incoming } = context.env as { incoming?: IncomingMessage }
  return incoming?.url ?? context.req.url
}
