// Signs the finished bytes with DKIM (RFC 6376, 8463), relaxed/relaxed. Every header that counts is listed once more than it
// occurs, so that none can be added; signers of the libraries list only what is there.
import { decodeBase64, encodeBase64, GatewayError, type Secret, sha256Bytes } from '../../../src/lib/index.ts'
import type { DkimKey } from '../deliver/settings.ts'

/** In the order in which they are signed. */
const covered = [
  'from',
  'to',
  'cc',
  'subject',
  'date',
  'message-id',
  'in-reply-to',
  'references',
  'reply-to',
  'content-type',
  'mime-version',
  'auto-submitted',
  'x-agent-hop',
]
const [tab, lf, cr, space] = [9, 10, 13, 32]

/** The bytes with a signature of every key before them; as they are where there is no key. */
export async function signMail(
  raw: Uint8Array,
  keys: readonly DkimKey[],
  { domain, at }: { readonly domain: string; readonly at: Date },
): Promise<Uint8Array> {
  if (keys.length === 0) return raw
  const bodyStart = findBodyStart(raw)
  const fields = canonicalizeHead(new TextDecoder().decode(raw.subarray(0, bodyStart - 2)))
  const bodyHash = encodeBase64(await sha256Bytes(canonicalizeCrlfBodyRelaxed(raw.subarray(bodyStart))))
  const time = Math.floor(at.getTime() / 1000)
  const signatures: string[] = []
  for (const { selector, privateKey } of keys) {
    const key = await importSigningKey(privateKey)
    const facts = `v=1; a=${key.name}; c=relaxed/relaxed; d=${domain}; s=${selector};`
    const head = `DKIM-Signature: ${facts}\r\n t=${time}; bh=${bodyHash};\r\n h=${signedFieldList(fields)};\r\n b=`
    const signed = `${joinCanonicalFields(fields)}${canonicalizeFieldRelaxed(head)}`
    const signature = encodeBase64(await key.sign(new TextEncoder().encode(signed)))
    signatures.push(`${head}${signature.replace(/(.{72})(?=.)/g, '$1\r\n ')}\r\n`)
  }
  const lead = new TextEncoder().encode(signatures.join(''))
  const whole = new Uint8Array(lead.length + raw.length)
  whole.set(lead)
  whole.set(raw, lead.length)
  return whole
}

function findBodyStart(raw: Uint8Array): number {
  for (let at = 0; at + 3 < raw.length; at += 1) {
    if (raw[at] === cr && raw[at + 1] === lf && raw[at + 2] === cr && raw[at + 3] === lf) return at + 4
  }
  return raw.length
}

type Field = { readonly name: string; readonly canonical: string }

function canonicalizeHead(head: string): readonly Field[] {
  const lines = head.split(/\r\n(?![ \t])/).filter((line) => line !== '')
  return lines.map((line) => {
    const canonical = canonicalizeFieldRelaxed(line)
    return { name: canonical.slice(0, canonical.indexOf(':')), canonical }
  })
}

/** RFC 6376, 3.4.2. */
function canonicalizeFieldRelaxed(field: string): string {
  const colon = field.indexOf(':')
  const value = field
    .slice(colon + 1)
    .replaceAll('\r\n', '')
    .replace(/[ \t]+/g, ' ')
    .trim()
  return `${field.slice(0, colon).trim().toLowerCase()}:${value}`
}

/** Each as often as it is there, from the last one on, and once more. */
function signedFieldList(fields: readonly Field[]): string {
  const names = covered.flatMap((name) => [...fields.filter((each) => each.name === name), name].map(() => name))
  return names.join(':').replace(/(.{50,60}:)(?=.)/g, '$1\r\n ')
}

function joinCanonicalFields(fields: readonly Field[]): string {
  const there = covered.flatMap((name) => fields.filter((each) => each.name === name).toReversed())
  return there.map(({ canonical }) => `${canonical}\r\n`).join('')
}

/** RFC 6376, 3.4.4: spaces within a line are one, none ends a line, no empty line ends the body. */
function canonicalizeCrlfBodyRelaxed(body: Uint8Array): Uint8Array {
  const out = new Uint8Array(body.length + 2)
  let [size, lineStart, end, isSpaced] = [0, 0, 0, false]
  const appendByte = (byte: number): void => {
    out[size] = byte
    size += 1
  }
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at] ?? 0
    if (byte === space || byte === tab) isSpaced = true
    else if (byte === cr && body[at + 1] === lf) {
      const isFilled = size > lineStart
      appendByte(cr)
      appendByte(lf)
      if (isFilled) end = size
      ;[at, lineStart, isSpaced] = [at + 1, size, false]
    } else {
      if (isSpaced) appendByte(space)
      appendByte(byte)
      isSpaced = false
    }
  }
  if (size > lineStart) {
    appendByte(cr)
    appendByte(lf)
    end = size
  }
  return out.subarray(0, end)
}

type SigningKey = { readonly name: string; readonly sign: (bytes: Uint8Array) => Promise<Uint8Array> }

/** RSA or Ed25519, as PKCS #8 in PEM: whatever the key itself is. */
async function importSigningKey(pem: Secret): Promise<SigningKey> {
  const rsa = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
  try {
    const bytes = decodeBase64(pem.reveal().replace(/-----[^-]+-----|\s/g, ''))
    const importPkcs8 = (algorithm: typeof rsa | { readonly name: 'Ed25519' }): Promise<CryptoKey> =>
      crypto.subtle.importKey('pkcs8', bytes, algorithm, false, ['sign'])
    // An Ed25519 key is 48 bytes; no RSA key is as short.
    if (bytes.length > 64) {
      const key = await importPkcs8(rsa)
      return {
        name: 'rsa-sha256',
        sign: async (data) => new Uint8Array(await crypto.subtle.sign(rsa, key, asArrayBufferView(data))),
      }
    }
    const key = await importPkcs8({ name: 'Ed25519' })
    const signEd25519 = async (data: Uint8Array): Promise<Uint8Array> =>
      new Uint8Array(await crypto.subtle.sign({ name: 'Ed25519' }, key, asArrayBufferView(await sha256Bytes(data))))
    return { name: 'ed25519-sha256', sign: signEd25519 }
  } catch {
    // A mail that should be signed and is not would be taken for a forged one.
    throw new GatewayError(
      'config_invalid',
      '[email] a DKIM key cannot sign; it must be RSA or Ed25519 in PKCS #8: run parley email setup',
    )
  }
}

/** What may be shared memory by its type, and never is. */
function asArrayBufferView(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes as Uint8Array<ArrayBuffer>
}
