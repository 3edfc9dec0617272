// Somebody who issues tokens, on 127.0.0.1: publishes keys, says where they are, and answers what a token is.
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTHeaderParameters, SignJWT } from 'jose'
import { type ScriptedServer, startScriptedServer, type VendorRequest } from '../../src/testing/scripted-server.ts'

export type SigningKey = {
  readonly kid: string
  readonly alg: string
  readonly privateKey: CryptoKey
  readonly jwk: JWK
}

export async function signingKey(kid: string, alg = 'ES256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

export type Claims = Readonly<Record<string, unknown>>
export type SignOptions = { readonly key?: SigningKey; readonly header?: Partial<JWTHeaderParameters> }

export type TokenIssuerDouble = ScriptedServer & {
  /** What is published; the last one signs. */
  readonly keys: SigningKey[]
  /** What opaque tokens mean. An unknown one is inactive. */
  readonly tokens: Map<string, Claims>
  /** A token for five minutes, from now unless the claims say otherwise; `undefined` leaves a claim out. */
  readonly sign: (claims?: Claims, options?: SignOptions) => Promise<string>
  /** Requests of a route so far. */
  readonly asked: (route: 'keys' | 'metadata' | 'introspect') => number
}

export const audience = 'https://gateway.example'
export const client = { clientId: 'gateway', clientSecret: 'a secret: of the gateway' }

export async function startTokenIssuer(now: () => number = Date.now): Promise<TokenIssuerDouble> {
  const keys = [await signingKey('key-1')]
  const tokens = new Map<string, Claims>()
  let origin = ''
  const server = await startScriptedServer({
    notFound: { error: 'no such route' },
    routeOf: ({ method, path }) => {
      if (method === 'GET' && path === '/keys') return 'keys'
      if (method === 'GET' && path === '/.well-known/openid-configuration') return 'metadata'
      return method === 'POST' && path === '/introspect' ? 'introspect' : undefined
    },
    apply(route, request) {
      if (route === 'keys') return { status: 200, body: { keys: keys.map(({ jwk }) => jwk) } }
      if (route === 'metadata') return { status: 200, body: { issuer: origin, jwks_uri: `${origin}/keys` } }
      return introspected(request, tokens)
    },
  })
  origin = server.origin
  return {
    ...server,
    keys,
    tokens,
    async sign(claims = {}, { key = keys.at(-1), header = {} } = {}) {
      if (key === undefined) throw new Error('nothing to sign with')
      const at = Math.floor(now() / 1000)
      const said = { iss: origin, sub: 'ada', aud: audience, iat: at, exp: at + 300, scope: 'run', ...claims }
      const payload = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined))
      return new SignJWT(payload)
        .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header })
        .sign(key.privateKey)
    },
    asked: (route) => server.calls.filter((call) => call.route === route).length,
  }
}

/** RFC 7662, for whoever shows the client's own secret. */
function introspected({ headers, body }: VendorRequest, tokens: ReadonlyMap<string, Claims>) {
  const [id, secret] = atob((headers['authorization'] ?? '').replace('Basic ', ''))
    .split(':')
    .map(fromForm)
  if (id !== client.clientId || secret !== client.clientSecret)
    return { status: 401, body: { error: 'invalid_client' } }
  const claims = tokens.get(new URLSearchParams(String(body)).get('token') ?? '')
  return { status: 200, body: claims === undefined ? { active: false } : { active: true, ...claims } }
}

function fromForm(text: string): string {
  return new URLSearchParams(`text=${text}`).get('text') ?? ''
}
