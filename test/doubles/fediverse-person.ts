// Somebody on another server of this machine: a document, a key, an inbox that writes down what comes, and requests signed by hand.
// Nothing here is the gateway's own code, so that what both sides agree on is the protocol.
import { createHash, createSign, createVerify, generateKeyPairSync, type KeyPairKeyObjectResult } from 'node:crypto'
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { aPerson, type Fediverse } from './fediverse.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies are looked into by the tests that name them.
type Body = any

/** `at`: by the clock that only goes forward. `status`: what it was answered. */
export type Delivered = {
  readonly at: number
  readonly status: number
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: Body
}

export type Person = {
  readonly id: string
  /** What came to their own inbox and to that of their server, in order. */
  readonly received: readonly Delivered[]
  /** What their server answers from now on; 202 before. */
  answer(status: number): void
  /** Signed and posted to an inbox; answers the status. */
  post(inbox: string, activity: object): Promise<number>
  /** The headers of a request to an inbox. */
  sign(inbox: string, bytes: Buffer): Readonly<Record<string, string>>
  /** `headers`: others than the signature's own. */
  send(inbox: string, bytes: Buffer, headers?: Readonly<Record<string, string>>): Promise<number>
}

export const everybody = 'https://www.w3.org/ns/activitystreams#Public'

export function personKeys(): KeyPairKeyObjectResult {
  return generateKeyPairSync('rsa', { modulusLength: 2048 })
}

/** Without keys of their own they get new ones. */
export function settlePerson(
  fediverse: Fediverse,
  host: string,
  name = 'alice',
  more: Readonly<Record<string, unknown>> = {},
  { privateKey, publicKey } = personKeys(),
): Person {
  const id = `${fediverse.origin(host)}/users/${name}`
  const received: Delivered[] = []
  let status = 202
  const take = (request: IncomingMessage, response: ServerResponse) =>
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const text = Buffer.concat(chunks).toString('utf8')
      const [path, at] = [request.url ?? '', performance.now()]
      received.push({ path, at, status, headers: request.headers, text, body: JSON.parse(text) })
      response.writeHead(status).end()
    })()
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
  fediverse.put(host, `/users/${name}`, { body: aPerson(id, pem, more) })
  fediverse.put(host, `/users/${name}/inbox`, { by: take })
  fediverse.put(host, '/inbox', { by: take })
  const sign: Person['sign'] = (inbox, bytes) => {
    const { host: authority, pathname } = new URL(inbox)
    const date = new Date().toUTCString()
    const digest = `SHA-256=${createHash('sha256').update(bytes).digest('base64')}`
    const text = `(request-target): post ${pathname}\nhost: ${authority}\ndate: ${date}\ndigest: ${digest}`
    const signature = createSign('sha256').update(text).sign(privateKey, 'base64')
    return {
      host: authority,
      date,
      digest,
      'content-type': 'application/activity+json',
      signature: `keyId="${id}#main-key",algorithm="rsa-sha256",headers="(request-target) host date digest",signature="${signature}"`,
    }
  }
  const send: Person['send'] = (inbox, bytes, headers = {}) => {
    const { pathname, search, port } = new URL(inbox)
    return new Promise((resolve, reject) => {
      const path = pathname + search
      const options = { host: '127.0.0.1', port, path, method: 'POST', headers: { ...sign(inbox, bytes), ...headers } }
      const request = httpRequest(options, (response) => {
        response.resume()
        response.on('end', () => resolve(response.statusCode ?? 0))
      })
      request.on('error', reject)
      request.end(bytes)
    })
  }
  return {
    id,
    received,
    answer(next) {
      status = next
    },
    sign,
    send,
    post: (inbox, activity) => send(inbox, Buffer.from(JSON.stringify(activity))),
  }
}

/** Whether a delivery was signed by the key of this document, over its body and its way (draft-cavage 12). */
export function isSignedBy(delivered: Delivered, publicKeyPem: string): boolean {
  const { headers, text, path } = delivered
  const fields = new Map(
    [...String(headers['signature']).matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value]),
  )
  const lines = (fields.get('headers') ?? '')
    .split(' ')
    .map((name) => (name === '(request-target)' ? `${name}: post ${path}` : `${name}: ${headers[name]}`))
  const digest = `SHA-256=${createHash('sha256').update(text).digest('base64')}`
  const isBody = lines.includes(`digest: ${digest}`)
  return (
    isBody &&
    createVerify('sha256')
      .update(lines.join('\n'))
      .verify(publicKeyPem, fields.get('signature') ?? '', 'base64')
  )
}

let count = 0

/** A post that mentions somebody, as Mastodon writes one. */
export function aMention(from: Person, whom: string, html: string, note: Readonly<Record<string, unknown>> = {}): Body {
  count += 1
  const id = `${from.id}/statuses/${count}`
  const published = new Date().toISOString()
  const to = [everybody]
  const cc = [`${from.id}/followers`, whom]
  const name = `@${whom.split('/').at(-1)}@${new URL(whom).host}`
  const object = {
    id,
    type: 'Note',
    attributedTo: from.id,
    published,
    to,
    cc,
    content: `<p><span class="h-card"><a href="${whom}" class="u-url mention">@<span>${whom.split('/').at(-1)}</span></a></span> ${html}</p>`,
    tag: [{ type: 'Mention', href: whom, name }],
    ...note,
  }
  return {
    '@context': 'https://www.w3.org/ns/activitystreams',
    id: `${id}/activity`,
    type: 'Create',
    actor: from.id,
    published,
    to: object.to,
    cc: object.cc,
    object,
  }
}
