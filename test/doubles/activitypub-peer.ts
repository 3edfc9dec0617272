// Somebody on another server with real keys, and requests signed by them the way servers sign; nothing here is the gateway's own code.
import { constants, createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { KeyAnswer, KeySource } from '../../adapters/activitypub/signatures/authenticate.ts'
import type { RemoteActor, RemoteKey } from '../../adapters/activitypub/wire/activity.ts'
import type { RawRequest } from '../../src/contract/index.ts'

export const ourOrigin = 'https://agents.example'
export const peerNow = Date.parse('2026-11-17T12:00:00Z')

type KeyPair = { readonly privateKey: KeyObject; readonly key: RemoteKey }
export type Peer = {
  readonly id: string
  readonly actor: RemoteActor
  readonly rsa: KeyPair
  readonly ed25519: KeyPair
  readonly p256: KeyPair
}

export function makePeer(id: string): Peer {
  const pair = (name: string, algorithm: RemoteKey['algorithm']): KeyPair => {
    const { privateKey, publicKey } = generate(algorithm)
    const spki = publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
    return { privateKey, key: { id: `${id}#${name}`, owner: id, algorithm, spki } }
  }
  const [rsa, ed25519, p256] = [pair('main-key', 'rsa'), pair('ed25519-key', 'ed25519'), pair('p256-key', 'p256')]
  return { id, rsa, ed25519, p256, actor: actorOf(id, [rsa.key, ed25519.key, p256.key]) }
}

function generate(algorithm: RemoteKey['algorithm']): { privateKey: KeyObject; publicKey: KeyObject } {
  if (algorithm === 'rsa') return generateKeyPairSync('rsa', { modulusLength: 2048 })
  return algorithm === 'ed25519' ? generateKeyPairSync('ed25519') : generateKeyPairSync('ec', { namedCurve: 'P-256' })
}

export function actorOf(id: string, keys: readonly RemoteKey[]): RemoteActor {
  const name = id.split('/').at(-1) ?? ''
  return {
    id,
    type: 'Person',
    inbox: `${id}/inbox`,
    sharedInbox: undefined,
    followers: `${id}/followers`,
    preferredUsername: name,
    handle: `@${name}@${new URL(id).host}`,
    isHandleConfirmed: true,
    name,
    url: id,
    iconUrl: undefined,
    keys,
    alsoKnownAs: [],
    isNoBot: false,
    fetchedAt: '2026-11-17T00:00:00Z',
  }
}

/** Answers for keys by their names, and writes down who was asked for. */
export function keySource(peers: readonly Peer[]): KeySource & {
  readonly asked: string[]
  readonly answers: Map<string, KeyAnswer>
  readonly fresh: Map<string, KeyAnswer>
} {
  const answers = new Map<string, KeyAnswer>()
  for (const { actor } of peers) for (const key of actor.keys) answers.set(key.id, { kind: 'found', key, actor })
  const fresh = new Map<string, KeyAnswer>()
  const asked: string[] = []
  return {
    asked,
    answers,
    fresh,
    async find(keyId) {
      asked.push(`find ${keyId}`)
      return answers.get(keyId) ?? { kind: 'unreachable' }
    },
    async refresh(keyId) {
      asked.push(`refresh ${keyId}`)
      return fresh.get(keyId) ?? answers.get(keyId) ?? { kind: 'unreachable' }
    },
  }
}

/** To everybody, with a mention of an agent of ours: let in, it is answered. */
export function createNote(peer: Pick<Peer, 'id'>, more: object = {}, note: object = {}): object {
  return {
    '@context': 'https://www.w3.org/ns/activitystreams',
    id: `${peer.id}/notes/1/activity`,
    type: 'Create',
    actor: peer.id,
    to: ['https://www.w3.org/ns/activitystreams#Public'],
    cc: [`${ourOrigin}/ap/concierge`],
    object: {
      id: `${peer.id}/notes/1`,
      type: 'Note',
      attributedTo: peer.id,
      content: '<p>Good morning</p>',
      tag: [{ type: 'Mention', href: `${ourOrigin}/ap/concierge`, name: '@concierge@agents.example' }],
      ...note,
    },
    ...more,
  }
}

export type Post = { readonly path: string; readonly bytes: Uint8Array; readonly headers: Record<string, string> }

export function post(body: object | string | Uint8Array, path = '/ap/concierge/inbox', headers: object = {}): Post {
  const bytes = body instanceof Uint8Array ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const hash = createHash('sha256').update(bytes).digest('base64')
  return {
    path,
    bytes,
    headers: {
      host: new URL(ourOrigin).host,
      date: new Date(peerNow).toUTCString(),
      'content-type': 'application/activity+json',
      digest: `SHA-256=${hash}`,
      'content-digest': `sha-256=:${hash}:`,
      ...headers,
    },
  }
}

export function arrivalOf({ path, bytes, headers }: Post, more: Record<string, string> = {}): RawRequest {
  const pseudo = { ':path': path, ':authority': headers['host'] ?? '' }
  return {
    bytes,
    headers: { ...headers, ...more, ...pseudo },
    receivedAt: new Date(peerNow).toISOString(),
    from: 'remote',
  }
}

export type CavageOptions = {
  readonly headers?: string
  readonly algorithm?: string
  readonly keyId?: string
  readonly target?: string
  readonly created?: number
  readonly expires?: number
  readonly pair?: KeyPair
}

export function signCavage(request: Post, peer: Peer, options: CavageOptions = {}): RawRequest {
  const { headers = '(request-target) host date digest', algorithm = 'rsa-sha256', target = request.path } = options
  const { pair = peer.rsa, created, expires } = options
  const values: Record<string, unknown> = {
    ...request.headers,
    '(request-target)': `post ${target}`,
    '(created)': created,
    '(expires)': expires,
  }
  const text = headers
    .split(' ')
    .map((name) => `${name}: ${values[name]}`)
    .join('\n')
  const hash = pair.key.algorithm === 'ed25519' ? null : 'sha256'
  const signature = sign(hash, Buffer.from(text), pair.privateKey).toString('base64')
  const times = `${created === undefined ? '' : `,created=${created}`}${expires === undefined ? '' : `,expires=${expires}`}`
  const named = `keyId="${options.keyId ?? pair.key.id}",algorithm="${algorithm}"${times}`
  return arrivalOf(request, { signature: `${named},headers="${headers}",signature="${signature}"` })
}

export type MessageSignatureOptions = {
  readonly components?: readonly string[]
  /** Parameters behind the list, beside the key's name; `alg` and `created` by default. */
  readonly params?: string
  readonly keyId?: string
  readonly pair?: KeyPair
  readonly label?: string
  readonly pss?: boolean
}

export const createdNow = `created=${peerNow / 1000}`

export function signMessage(request: Post, peer: Peer, options: MessageSignatureOptions = {}): RawRequest {
  const { components = ['@method', '@target-uri', 'content-digest'], params = createdNow, label = 'sig1' } = options
  const { pair = peer.rsa, pss = false } = options
  const [path = '', query = ''] = request.path.split('?', 2)
  const values: Record<string, string | undefined> = {
    ...request.headers,
    '@method': 'POST',
    '@target-uri': ourOrigin + request.path,
    '@authority': new URL(ourOrigin).host,
    '@path': path,
    '@query': `?${query}`,
  }
  const list = `(${components.map((name) => `"${name}"`).join(' ')})`
  const input = `${list};${params}${params === '' ? '' : ';'}keyid="${options.keyId ?? pair.key.id}"`
  const lines = components.map((name) => `"${name}": ${values[name]}`)
  const base = Buffer.from([...lines, `"@signature-params": ${input}`].join('\n'))
  const signature = signBase(base, pair, pss).toString('base64')
  return arrivalOf(request, { 'signature-input': `${label}=${input}`, signature: `${label}=:${signature}:` })
}

function signBase(base: Buffer, { privateKey, key }: KeyPair, pss: boolean): Buffer {
  if (pss) return sign('sha512', base, { key: privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 64 })
  if (key.algorithm === 'ed25519') return sign(null, base, privateKey)
  return sign('sha256', base, { key: privateKey, dsaEncoding: 'ieee-p1363' })
}

/** Two signatures on one request. */
export function together(one: RawRequest, other: RawRequest): RawRequest {
  const both = (name: string): string => `${one.headers[name]}, ${other.headers[name]}`
  const headers = { ...one.headers, 'signature-input': both('signature-input'), signature: both('signature') }
  return { ...one, headers }
}
