// Other servers of the fediverse on this machine: one real HTTP server that answers for every name a test gives it.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isPublicAddress } from '../../src/lib/index.ts'
import type { SafeFetch } from '../../src/lib/safe-fetch-port.ts'
import { createPinnedFetch } from '../../src/node/guarded-fetch.ts'

export type FediverseAnswer = {
  readonly status?: number
  readonly type?: string
  readonly body?: unknown
  readonly location?: string
  /** Whoever wants to answer by hand. */
  readonly by?: (request: IncomingMessage, response: ServerResponse) => void
}

export type Fediverse = {
  /** `http://{host}:{port}`. */
  origin(host: string): string
  /** What is at `host` and `path` from now on. */
  put(host: string, path: string, answer: FediverseAnswer): void
  /** `host path` of every request, in order. */
  readonly seen: readonly string[]
  readonly headers: readonly IncomingMessage['headers'][]
  readonly guardedFetch: SafeFetch
  /** For the names above. */
  origins(...hosts: readonly string[]): readonly string[]
  stop(): Promise<void>
}

export async function startFediverse(): Promise<Fediverse> {
  const answers = new Map<string, FediverseAnswer>()
  const seen: string[] = []
  const headers: IncomingMessage['headers'][] = []
  const server = createServer((request, response) => {
    const at = `${(request.headers.host ?? '').split(':')[0]} ${request.url}`
    seen.push(at)
    headers.push(request.headers)
    respond(answers.get(at) ?? { status: 404 }, request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const origin = (host: string): string => `http://${host}:${port}`
  // Names of the test lead here; which address counts as public is the test's word too.
  const guardedFetch = createPinnedFetch({
    resolve: async (host) => (host.startsWith('private.') ? ['10.0.0.1'] : ['127.0.0.1']),
    isPublic: (address) => address === '127.0.0.1' || isPublicAddress(address),
  })
  return {
    origin,
    put: (host, path, answer) => void answers.set(`${host} ${path}`, answer),
    seen,
    headers,
    guardedFetch,
    origins: (...hosts) => hosts.map(origin),
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function respond(answer: FediverseAnswer, request: IncomingMessage, response: ServerResponse): void {
  if (answer.by !== undefined) {
    answer.by(request, response)
    return
  }
  const { status = 200, type = 'application/activity+json', body = '', location } = answer
  response.writeHead(status, { 'content-type': type, ...(location === undefined ? {} : { location }) })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

const exponent = Uint8Array.from([1, 0, 1])

/** A key pair of somebody elsewhere, as their documents show it. */
export async function remoteKeyPair(): Promise<{
  readonly pem: string
  readonly spki: string
  readonly privateKey: CryptoKey
}> {
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 2048, publicExponent: exponent }
  const { publicKey, privateKey } = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const spki = Buffer.from(await crypto.subtle.exportKey('spki', publicKey)).toString('base64')
  return { spki, privateKey, pem: pemOf(spki) }
}

export function pemOf(spki: string): string {
  return `-----BEGIN PUBLIC KEY-----\n${spki.match(/.{1,64}/g)?.join('\n')}\n-----END PUBLIC KEY-----\n`
}

/** A person as Mastodon describes one. */
export function aPerson(
  id: string,
  pem: string,
  more: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  return {
    '@context': ['https://www.w3.org/ns/activitystreams', 'https://w3id.org/security/v1'],
    id,
    type: 'Person',
    preferredUsername: id.split('/').at(-1),
    name: 'Alice',
    inbox: `${id}/inbox`,
    outbox: `${id}/outbox`,
    followers: `${id}/followers`,
    endpoints: { sharedInbox: `${new URL(id).origin}/inbox` },
    publicKey: { id: `${id}#main-key`, owner: id, publicKeyPem: pem },
    ...more,
  }
}
