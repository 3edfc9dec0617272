// A second opinion on signatures: Amazon's own signer computes again what a request carries.
import { createHash, createHmac } from 'node:crypto'

type Signable = {
  readonly method: string
  readonly protocol: string
  readonly hostname: string
  readonly path: string
  readonly query: Record<string, string>
  readonly headers: Record<string, string>
}
type Signer = {
  sign(request: Signable, options: { signingDate: Date; signableHeaders: Set<string> }): Promise<Signable>
  presign(
    request: Signable,
    options: { signingDate: Date; expiresIn: number; unhoistableHeaders: Set<string>; unsignableHeaders: Set<string> },
  ): Promise<Signable>
}
/** What is used of @smithy/signature-v4. */
export type SignerModule = { readonly SignatureV4: new (options: object) => Signer }

export type Account = { readonly accessKeyId: string; readonly secretAccessKey: string; readonly region: string }

/** The hash interface that Amazon's packages pass around, on Node's own. */
class Sha256 {
  readonly #hash
  constructor(key?: string | Uint8Array) {
    this.#hash = key === undefined ? createHash('sha256') : createHmac('sha256', key)
  }
  update(bytes: string | Uint8Array): void {
    this.#hash.update(bytes)
  }
  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }
}

function signerFor({ SignatureV4 }: SignerModule, { region, ...credentials }: Account): Signer {
  return new SignatureV4({
    credentials,
    region,
    service: 's3',
    sha256: Sha256,
    uriEscapePath: false,
    applyChecksum: false,
  })
}

/** Whether the Authorization header is what Amazon would have computed. */
export async function isSignedByAmazon(module: SignerModule, account: Account, request: Request): Promise<boolean> {
  const authorization = request.headers.get('authorization') ?? ''
  const covered = /SignedHeaders=([^,]+)/.exec(authorization)?.[1]?.split(';') ?? []
  const url = new URL(request.url)
  const headers = Object.fromEntries(
    covered.map((name) => [name, name === 'host' ? url.host : (request.headers.get(name) ?? '')]),
  )
  const again = await signerFor(module, account).sign(
    signable(request.method, url, Object.fromEntries(url.searchParams), headers),
    {
      signingDate: dateOf(request.headers.get('x-amz-date') ?? ''),
      signableHeaders: new Set(covered),
    },
  )
  return signatureIn(again.headers['authorization'] ?? '') === signatureIn(authorization)
}

/** Whether the query's signature is what Amazon would have computed for a GET. */
export async function isPresignedByAmazon(module: SignerModule, account: Account, signed: string): Promise<boolean> {
  const url = new URL(signed)
  const {
    'X-Amz-Signature': given,
    'X-Amz-Date': date = '',
    'X-Amz-Expires': expires,
    ...rest
  } = Object.fromEntries(url.searchParams)
  const query = Object.fromEntries(Object.entries(rest).filter(([name]) => !name.startsWith('X-Amz-')))
  // A presigned GET covers no body; the header says so to the signer and is no part of the URL.
  const only = new Set(['x-amz-content-sha256'])
  const headers = { host: url.host, 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' }
  const again = await signerFor(module, account).presign(signable('GET', url, query, headers), {
    signingDate: dateOf(date),
    expiresIn: Number(expires),
    unhoistableHeaders: only,
    unsignableHeaders: only,
  })
  return given !== undefined && again.query['X-Amz-Signature'] === given
}

function signable(method: string, url: URL, query: Record<string, string>, headers: Record<string, string>): Signable {
  return { method, protocol: url.protocol, hostname: url.hostname, path: url.pathname, query, headers }
}

function signatureIn(authorization: string): string | undefined {
  return /Signature=([0-9a-f]{64})$/.exec(authorization)?.[1]
}

function dateOf(basic: string): Date {
  return new Date(basic.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
}
