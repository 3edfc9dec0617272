// DKIM keys: generated once, kept in one file for its owner alone, and the DNS records to publish for them.
import { decodeBase64, encodeBase64, GatewayError, secret } from '../../../src/lib/index.ts'
import { importNodeFs } from '../deliver/node-modules.ts'
import type { DeliverySettings, DkimKey } from '../deliver/settings.ts'

const rsa = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
}
const ed25519 = { name: 'Ed25519' }

/** What a resolver finds under `selector._domainkey.domain`. */
export type DkimRecord = { readonly selector: string; readonly value: string }

/** A key that is there already stays: mail that it signed is still on its way, and what is published is for it. */
export async function readOrMakeDkimKeys(
  path: string,
  domain: string,
  now: Date,
): Promise<{ readonly file: DkimKeyFile; readonly isNew: boolean }> {
  const files = await importNodeFs()
  const there = await files.readFile(path, 'utf8').catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOENT')) return undefined
    throw new GatewayError('bad_request', `${path} cannot be read; correct EMAIL_DKIM_KEY or its permissions`)
  })
  if (there !== undefined) return { file: requireKeyFileOfDomain(there, path, domain), isNew: false }
  const text = await generateDkimKeyFileText(domain, now)
  const folder = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) || '/' : '.'
  const part = `${path}.${crypto.randomUUID()}.part`
  try {
    await files.mkdir(folder, { recursive: true, mode: 0o700 })
    const file = await files.open(part, 'wx', 0o600)
    await file.writeFile(text)
    await file.sync()
    await file.close()
    // Whole or not at all, and never over another one.
    await files.link(part, path)
  } catch (error) {
    if (hasErrorCode(error, 'EEXIST')) return readOrMakeDkimKeys(path, domain, now)
    throw new GatewayError('bad_request', `${path} cannot be written; set EMAIL_DKIM_KEY to a place that can`)
  } finally {
    await files.unlink(part).catch(() => undefined)
  }
  return { file: requireKeyFileOfDomain(text, path, domain), isNew: true }
}

/** The keys that are there; undefined where there are none. */
export async function readDkimKeys(path: string, domain: string): Promise<DkimKeyFile | undefined> {
  const text = await (await importNodeFs()).readFile(path, 'utf8').catch(() => undefined)
  return text === undefined ? undefined : requireKeyFileOfDomain(text, path, domain)
}

function requireKeyFileOfDomain(text: string, path: string, domain: string): DkimKeyFile {
  const file = parseDkimKeyFile(text)
  if (file === undefined) throw new GatewayError('bad_request', `${path} is no key file of ours; move it away first`)
  if (file.domain === domain) return file
  throw new GatewayError('bad_request', `${path} holds the keys of ${file.domain}; set EMAIL_DKIM_KEY to another file`)
}

/** Selectors say when a key was made, so that the next one can stand beside it. */
async function generateDkimKeyFileText(domain: string, now: Date): Promise<string> {
  const day = now.toISOString().slice(0, 10).replaceAll('-', '')
  const usages = ['sign', 'verify'] as const
  const made = await Promise.all([
    crypto.subtle.generateKey(rsa, true, [...usages]),
    crypto.subtle.generateKey(ed25519, true, [...usages]),
  ])
  // Casts, here and below: the types of Workers leave open what each algorithm and format gives.
  const pems = await Promise.all((made as readonly CryptoKeyPair[]).map(({ privateKey }) => exportPem(privateKey)))
  const keys = pems.map((privateKey, at) => ({ selector: `p${day}${at === 0 ? 'r' : 'e'}`, privateKey }))
  return `${JSON.stringify({ domain, keys }, undefined, 2)}\n`
}

async function exportPem(key: CryptoKey): Promise<string> {
  const text = encodeBase64(new Uint8Array((await crypto.subtle.exportKey('pkcs8', key)) as ArrayBuffer))
  return `-----BEGIN PRIVATE KEY-----\n${text.replace(/(.{64})(?=.)/g, '$1\n')}\n-----END PRIVATE KEY-----\n`
}

export async function dkimDnsRecords({ keys }: DkimKeyFile): Promise<readonly DkimRecord[]> {
  return Promise.all(
    keys.map(async ({ selector, privateKey }) => {
      const pem = privateKey.reveal().replace(/-----[^-]+-----|\s/g, '')
      const bytes = decodeBase64(pem)
      const isRsa = bytes.length > 64
      const algorithm = isRsa ? rsa : ed25519
      const own = await crypto.subtle.importKey('pkcs8', bytes, algorithm, true, ['sign'])
      const { kty, n, e, crv, x } = (await crypto.subtle.exportKey('jwk', own)) as JsonWebKey
      // An Ed25519 key is published as it is (RFC 8463, 4), an RSA key in its wrapping (RFC 6376, 3.6.1).
      if (!isRsa) return { selector, value: `v=DKIM1; k=ed25519; p=${base64UrlToBase64(x ?? '')}` }
      const open = { kty, n, e, crv } as JsonWebKey
      const key = await crypto.subtle.importKey('jwk', open, algorithm, true, ['verify'])
      const spki = (await crypto.subtle.exportKey('spki', key)) as ArrayBuffer
      return { selector, value: `v=DKIM1; k=rsa; p=${encodeBase64(new Uint8Array(spki))}` }
    }),
  )
}

function base64UrlToBase64(text: string): string {
  const plain = text.replaceAll('-', '+').replaceAll('_', '/')
  return plain.padEnd(Math.ceil(plain.length / 4) * 4, '=')
}

function hasErrorCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code
}

// Keys come from the settings, or from the file that `parley email setup` wrote.

type DkimKeyFile = { readonly domain: string; readonly keys: readonly DkimKey[] }

/** Throws where the file is not what it should be: without its signature a mail would be taken for a forged one. */
export async function loadDkimKeys({
  domain,
  dkimKeys: given = [],
  dkimKeyFile: file,
}: DeliverySettings): Promise<readonly DkimKey[]> {
  if (given.length > 0 || file === undefined) return given
  const { readFile } = await importNodeFs()
  const found = parseDkimKeyFile(await readFile(file, 'utf8').catch(() => ''))
  if (found?.domain === domain) return found.keys
  const what = found === undefined ? 'is no key file' : 'is for another domain'
  throw new GatewayError('config_invalid', `[email] EMAIL_DKIM_KEY ${what}; run: parley email setup ${domain}`)
}

/** Undefined: it is something else. */
function parseDkimKeyFile(text: string): DkimKeyFile | undefined {
  try {
    const { domain, keys } = JSON.parse(text) as { domain: unknown; keys: readonly Record<string, unknown>[] }
    const read = keys.flatMap(({ selector, privateKey }) =>
      isSelector(selector) && typeof privateKey === 'string' ? [{ selector, privateKey: secret(privateKey) }] : [],
    )
    return typeof domain === 'string' && read.length > 0 && read.length === keys.length
      ? { domain, keys: read }
      : undefined
  } catch {
    return undefined
  }
}

function isSelector(text: unknown): text is string {
  return typeof text === 'string' && /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i.test(text)
}
