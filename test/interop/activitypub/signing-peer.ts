// Somebody called carol on a server that is nothing but http-message-signatures: it signs what she sends by RFC 9421, and believes
// no delivery that it does not find genuine, in whichever form it was signed.
import { createHash, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { aPerson } from '../../doubles/fediverse.ts'
import { loadPeer, type Peer, provePeer } from '../peer.ts'
import { askForPerson, type Deed, type ServerPeer, toldBy } from './peers.ts'

type Message = { readonly method: string; readonly url: string; readonly headers: Readonly<Record<string, string>> }
type Form = {
  signMessage(config: object, message: Message): Promise<Message>
  verifyMessage(config: object, message: Message): Promise<boolean | null>
}
export type Library = {
  readonly httpbis: Form
  readonly cavage: Form
  createSigner(key: KeyObject, algorithm: string, id: string): unknown
  createVerifier(pem: string, algorithm: string): unknown
}
// biome-ignore lint/suspicious/noExplicitAny: what others wrote, looked into by the tests.
type Document = any

const algorithm = 'rsa-v1_5-sha256'
const activityType = 'application/activity+json'

/** It has shown the document of carol, and signed and verified one request. */
export async function findSigningPeer(): Promise<Peer<() => Promise<ServerPeer>>> {
  const library = await findSignatures()
  if ('problem' in library) return library
  const start = () => startSigningPeer(library.module)
  return provePeer('a server on http-message-signatures', { module: start }, () => askForPerson(start, '/users/carol'))
}

/** It has signed one request and found it genuine. */
export function findSignatures(): Promise<Peer<Library>> {
  const loaded = loadPeer<Library>('http-message-signatures', (require) => require('http-message-signatures'))
  return provePeer('http-message-signatures', loaded, async ({ httpbis, createSigner, createVerifier }) => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const key = createSigner(privateKey, algorithm, 'smoke')
    const plain = { method: 'GET', url: 'https://people.example/', headers: {} }
    const signed = await httpbis.signMessage({ key, fields: ['@method', '@target-uri'] }, plain)
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const keyLookup = async (): Promise<unknown> => ({ id: 'smoke', verify: createVerifier(pem, algorithm) })
    if ((await httpbis.verifyMessage({ keyLookup }, signed)) !== true)
      throw new Error('it does not verify what it signed')
  })
}

async function startSigningPeer(library: Library): Promise<ServerPeer> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const told: Document[] = []
  const statuses: number[] = []
  const server = createServer(
    (request, response) =>
      void (async () => {
        if (request.method === 'GET') {
          const isHere = request.url === '/users/carol'
          response.writeHead(isHere ? 200 : 404, { 'content-type': activityType })
          return response.end(isHere ? JSON.stringify(person()) : '')
        }
        const body = await bodyOf(request)
        const status = (await isGenuine(library, origin, request, body)) ? 202 : 401
        statuses.push(status)
        if (status === 202) told.push(heard(JSON.parse(body.toString())))
        return response.writeHead(status).end()
      })(),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const id = `${origin}/users/carol`
  const person = (): object => aPerson(id, publicKey.export({ type: 'spki', format: 'pem' }).toString())
  const signer = library.createSigner(privateKey, algorithm, `${id}#main-key`)

  const post = async (inbox: string, activity: object): Promise<number> => {
    const body = Buffer.from(JSON.stringify(activity))
    const digest = `sha-256=:${createHash('sha256').update(body).digest('base64')}:`
    const fields = ['@method', '@target-uri', 'content-digest']
    const plain = { method: 'POST', url: inbox, headers: { 'content-type': activityType, 'content-digest': digest } }
    const { headers } = await library.httpbis.signMessage({ key: signer, fields }, plain)
    return (await fetch(inbox, { method: 'POST', headers, body })).status
  }
  return {
    ...toldBy(async () => ({ told, statuses })),
    origin,
    async act(deed) {
      const activity = activityOf(id, deed)
      const inboxes = deed.inboxes ?? (await inboxesOf([...deed.to, ...(deed.cc ?? [])]))
      const answers = await Promise.all(inboxes.map((inbox) => post(inbox, activity)))
      return { id: activity.id, object: idOf(activity.object), statuses: answers }
    },
    async read(url) {
      const asked = { method: 'GET', url, headers: { accept: activityType } }
      const { headers } = await library.httpbis.signMessage({ key: signer, fields: ['@method', '@target-uri'] }, asked)
      return (await fetch(url, { headers })).status
    },
    async forget() {
      told.length = 0
      statuses.length = 0
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function activityOf(actor: string, { type, object, to, cc = [] }: Deed): Document {
  const id = `${actor}/did/${randomUUID()}`
  const isNote = typeof object === 'object' && object['type'] === 'Note'
  const said = isNote ? { id: `${id}/note`, attributedTo: actor, to, cc, ...object } : object
  return { '@context': 'https://www.w3.org/ns/activitystreams', id, type, actor, to, cc, object: said }
}

const idOf = (object: Document): string => (typeof object === 'string' ? object : object.id)

/** Inboxes of those of the readers who are somebody. */
async function inboxesOf(readers: readonly string[]): Promise<readonly string[]> {
  const people = readers.filter((iri) => !iri.includes('#') && !iri.endsWith('/followers'))
  return Promise.all(people.map(async (iri) => (await documentAt(iri)).inbox))
}

async function documentAt(iri: string): Promise<Document> {
  return (await fetch(iri, { headers: { accept: activityType } })).json()
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** By the key that the sender's own document shows, over the body that came. */
async function isGenuine(library: Library, origin: string, request: IncomingMessage, body: Buffer): Promise<boolean> {
  const headers = request.headers as Readonly<Record<string, string>>
  const sender = await documentAt(JSON.parse(body.toString()).actor)
  const { id, publicKeyPem } = sender.publicKey
  const keyLookup = async ({ keyid }: { readonly keyid?: string }): Promise<unknown> =>
    keyid === id ? { id, verify: library.createVerifier(publicKeyPem, algorithm) } : null
  const digest = createHash('sha256').update(body).digest('base64')
  const message = { method: request.method ?? '', url: `${origin}${request.url}`, headers }
  const isNew = headers['signature-input'] !== undefined
  const isBody = isNew ? headers['content-digest']?.includes(digest) : headers['digest'] === `SHA-256=${digest}`
  return (
    isBody === true && (await (isNew ? library.httpbis : library.cavage).verifyMessage({ keyLookup }, message)) === true
  )
}

function heard({ type, id, actor, object }: Document): Document {
  const to = [object.to ?? [], object.cc ?? []].flat()
  return { type, id, actor, object: object.id, content: object.content, inReplyTo: object.inReplyTo, to }
}
