// Signs a request as its receiver wants it: the old draft that every server reads, or RFC 9421. Always at the moment it is sent.
// Ours and not the library's: it signs the bytes we send and nothing has to be parsed for it.

import { encodeBase64, sha256Bytes } from '../../../src/lib/index.ts'
import { encodeUtf8 } from './key-material.ts'
import type { ActorKeys, KeyOwner } from './own-keys.ts'

export type SignatureScheme = 'cavage' | 'rfc9421'

/** An RSA key, and the IRI its public half is found at. */
export type SigningKey = { readonly id: string; readonly privateKey: CryptoKey }

export type ToSign = {
  readonly method: 'GET' | 'POST'
  readonly url: string
  /** Of a POST. */
  readonly body?: Uint8Array<ArrayBuffer>
  readonly key: SigningKey
  readonly scheme: SignatureScheme
  readonly nowMs: number
}

type Headers = Readonly<Record<string, string>>

/** Headers that are sent beside those of the body; the host is the URL's. */
export function signedHeaders(request: ToSign): Promise<Headers> {
  return request.scheme === 'cavage' ? signCavage(request) : signRfc9421(request)
}

/** draft-cavage-http-signatures-12 §2.3, with the fields that Mastodon and Misskey insist on. */
async function signCavage({ method, url, body, key, nowMs }: ToSign): Promise<Headers> {
  const { host, pathname, search } = new URL(url)
  const date = new Date(nowMs).toUTCString()
  // The label in capitals: some take no other.
  const digest = body === undefined ? undefined : `SHA-256=${encodeBase64(await sha256Bytes(body))}`
  const lines = [
    ['(request-target)', `${method.toLowerCase()} ${pathname}${search}`],
    ['host', host],
    ['date', date],
    ...(digest === undefined ? [] : [['digest', digest]]),
  ]
  const signature = await signRsaSha256(key, lines.map(([name, value]) => `${name}: ${value}`).join('\n'))
  const names = lines.map(([name]) => name).join(' ')
  return {
    date,
    ...(digest === undefined ? {} : { digest }),
    signature: `keyId="${key.id}",algorithm="rsa-sha256",headers="${names}",signature="${signature}"`,
  }
}

/** RFC 9421 §2.5, with the components that Mastodon asks for. */
async function signRfc9421({ method, url, body, key, nowMs }: ToSign): Promise<Headers> {
  const digest = body === undefined ? undefined : `sha-256=:${encodeBase64(await sha256Bytes(body))}:`
  const components = [
    ['@method', method],
    ['@target-uri', new URL(url).href],
    ...(digest === undefined ? [] : [['content-digest', digest]]),
  ]
  const names = components.map(([name]) => `"${name}"`).join(' ')
  const created = Math.floor(nowMs / 1000)
  const parameters = `(${names});created=${created};keyid="${key.id}";alg="rsa-v1_5-sha256"`
  const lines = [...components.map(([name, value]) => `"${name}": ${value}`), `"@signature-params": ${parameters}`]
  return {
    ...(digest === undefined ? {} : { 'content-digest': digest }),
    'signature-input': `sig1=${parameters}`,
    signature: `sig1=:${await signRsaSha256(key, lines.join('\n'))}:`,
  }
}

async function signRsaSha256({ privateKey }: SigningKey, text: string): Promise<string> {
  return encodeBase64(await crypto.subtle.sign('RSASSA-PKCS1-v1_5', privateKey, encodeUtf8(text)))
}

// Requests to servers that answer only verified ones are signed by our instance, in the form that every one of them knows.

export type SignGetDeps = { readonly keys: ActorKeys; readonly instance: KeyOwner; readonly now: () => number }

/** Headers for a GET of this URL and no other (draft-cavage-http-signatures-12). */
export function createGetSigner({
  keys,
  instance,
  now,
}: SignGetDeps): (url: string) => Promise<Record<string, string>> {
  return async (url) => {
    const { rsa } = await keys.of(instance)
    const { host, pathname, search } = new URL(url)
    const date = new Date(now()).toUTCString()
    const signed = [`(request-target): get ${pathname}${search}`, `host: ${host}`, `date: ${date}`].join('\n')
    const bytes = new TextEncoder().encode(signed)
    const signature = encodeBase64(new Uint8Array(await crypto.subtle.sign(rsaName, rsa.privateKey, bytes)))
    const facts = [
      `keyId="${rsa.id}"`,
      'algorithm="rsa-sha256"',
      'headers="(request-target) host date"',
      `signature="${signature}"`,
    ]
    return { date, signature: facts.join(',') }
  }
}

const rsaName = 'RSASSA-PKCS1-v1_5'
