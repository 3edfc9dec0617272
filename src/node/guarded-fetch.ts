// Guarded fetch on Node: every address of a host name is checked, and the connection goes to those very addresses.
import { lookup } from 'node:dns/promises'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIPv6, type LookupFunction } from 'node:net'
import { Readable } from 'node:stream'
import { createSafeFetch, type DialRequest, isPublicAddress, rejectWhenAborted, tooLateError } from '../lib/index.ts'
import type { FetchRefusal, SafeFetch } from '../lib/safe-fetch-port.ts'

export type PinnedFetchOptions = {
  /** All addresses of a name; without it the system's resolver. */
  readonly resolve?: (host: string) => Promise<readonly string[]>
  readonly isPublic?: (address: string) => boolean
}

export function createPinnedFetch(options: PinnedFetchOptions = {}): SafeFetch {
  const { resolve = resolveHostAddresses, isPublic = isPublicAddress } = options
  return createSafeFetch({
    pins: true,
    isPublic,
    async dial(request) {
      const { url, literal, signal } = request
      const addresses = literal === undefined ? await rejectWhenAborted(resolve(url.hostname), signal) : [literal]
      if (addresses.length === 0) throw new Error('no address')
      // One that is private among public ones is how a name is made to lead inside.
      if (!addresses.every(isPublic)) return 'address'
      return toReadableResponse(await requestAtPinnedAddress(request, addresses))
    },
  })
}

async function resolveHostAddresses(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address)
}

/** No agent: a connection made for one judged address is not used for another request. */
function requestAtPinnedAddress(target: DialRequest, addresses: readonly string[]): Promise<IncomingMessage> {
  const { url, method, headers, body, signal, mayLeave } = target
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const outgoing = send(
      url,
      {
        method,
        headers: { 'accept-encoding': 'identity', ...headers },
        agent: false,
        lookup: createPinnedLookup(addresses),
        signal,
      },
      resolve,
    )
    outgoing.once('error', reject)
    // Held back until the connection stands: a pause of the whole process may end in between.
    outgoing.once('socket', (socket) => {
      socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
        if (mayLeave()) outgoing.end(body)
        else outgoing.destroy(tooLateError())
      })
    })
  })
}

/** A second lookup is told what was judged, and nothing newer. */
function createPinnedLookup(addresses: readonly string[]): LookupFunction {
  const known = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
  return (_host, { all }, answer) => {
    const [first] = known
    if (all === true) answer(null, known)
    else answer(null, first?.address ?? '', first?.family)
  }
}

function toReadableResponse(incoming: IncomingMessage): Response | FetchRefusal {
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value)
  }
  // Node's own stream types and the web's differ in name only.
  const raw = Readable.toWeb(incoming) as unknown as ReadableStream<Uint8Array<ArrayBuffer>>
  const body = decompressBody(raw, headers.get('content-encoding'))
  if (body === undefined) {
    incoming.destroy()
    return 'encoding'
  }
  // What is handed on is unpacked, and longer than was announced.
  for (const name of ['content-encoding', 'content-length']) if (body !== raw) headers.delete(name)
  const status = incoming.statusCode ?? 502
  return new Response([204, 205, 304].includes(status) ? null : body, { status, headers })
}

/** We ask for plain bytes; a server that compresses all the same is unpacked piece by piece, under the same limit. */
function decompressBody(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  encoding: string | null,
): ReadableStream<Uint8Array> | undefined {
  switch ((encoding ?? '').trim().toLowerCase()) {
    case '':
    case 'identity':
      return body
    case 'gzip':
    case 'x-gzip':
      return body.pipeThrough(new DecompressionStream('gzip'))
    case 'deflate':
      return body.pipeThrough(new DecompressionStream('deflate'))
    default:
      return undefined
  }
}
