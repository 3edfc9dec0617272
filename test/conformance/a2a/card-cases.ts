// Cards and how they are found.
import { createLocalJWKSet, flattenedVerify, generateKeyPair } from 'jose'
import { expect } from 'vitest'
import { a2a, a2aChannel } from '../../../adapters/a2a/index.ts'
import { cardSigningText, makePrivateCardKeyJson, readCardKey } from '../../../adapters/a2a/protocol/card-signature.ts'
import { createDocumentCache } from '../../../adapters/a2a/server/agent-card.ts'
import {
  bothVersionsSchemes,
  type SchemeFacts,
  securitySchemes,
} from '../../../adapters/a2a/server/security-schemes.ts'
import { canonicalJson } from '../../../src/lib/index.ts'
import type { JsonObject } from '../../../src/lib/json-value.ts'
import { aMessage, type Body } from '../../doubles/a2a-peer.ts'
import { type A2aCase, refused, type Scene } from './a2a-setup.ts'

const cardPath = '/a2a/demo/.well-known/agent-card.json'
const rootPath = '/.well-known/agent-card.json'

async function card(scene: Scene, path = cardPath, headers: Readonly<Record<string, string>> = {}): Promise<Body> {
  return (await scene.request(path, { headers })).json()
}

const members = [
  'name',
  'description',
  'supportedInterfaces',
  'provider',
  'version',
  'documentationUrl',
  'capabilities',
  'securitySchemes',
  'securityRequirements',
  'defaultInputModes',
  'defaultOutputModes',
  'skills',
  'signatures',
  'iconUrl',
]
const required = [
  'name',
  'description',
  'supportedInterfaces',
  'version',
  'capabilities',
  'defaultInputModes',
  'defaultOutputModes',
  'skills',
]
const terms = { tokenUrl: 'https://as.example/token', scopes: { run: 'talk' } }
const schemes: readonly SchemeFacts[] = [
  { kind: 'http', name: 'a', scheme: 'Bearer', format: 'JWT' },
  { kind: 'apiKey', name: 'b', location: 'header', parameter: 'X-Key' },
  { kind: 'oauth2', name: 'c', flow: 'clientCredentials', terms },
  { kind: 'openIdConnect', name: 'd', url: 'https://as.example/.well-known/openid-configuration' },
  { kind: 'mtls', name: 'e' },
]

async function verify(signed: Body, keys: Body): Promise<string> {
  const [signature] = signed.signatures
  const payload = new TextEncoder().encode(cardSigningText(signed as JsonObject))
  const { protectedHeader } = await flattenedVerify(
    { ...signature, payload: btoaUrl(payload) },
    createLocalJWKSet(keys),
  )
  return JSON.stringify(protectedHeader)
}

function btoaUrl(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
}

export const cardCases: readonly A2aCase[] = [
  {
    id: 'CD-01',
    claim: 'an agent’s card has every required member and no other than the protocol’s',
    isOnce: true,
    async run(scene) {
      const response = await scene.request(cardPath)
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe('application/json')
      const body = await response.json()
      expect(Object.keys(body).filter((name) => !members.includes(name))).toEqual([])
      expect(required.filter((name) => body[name] === undefined)).toEqual([])
      expect(body).toMatchObject({ name: 'Agent demo', skills: [{ id: 'demo', tags: ['chat'] }] })
    },
  },
  {
    id: 'CD-02',
    claim: 'every kind of security scheme is written under its own member, and with a type for 0.3',
    isOnce: true,
    async run() {
      expect(securitySchemes(schemes)).toEqual({
        a: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' } },
        b: { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } },
        c: { oauth2SecurityScheme: { flows: { clientCredentials: terms } } },
        d: { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://as.example/.well-known/openid-configuration' } },
        e: { mtlsSecurityScheme: {} },
      })
      expect(bothVersionsSchemes(schemes)).toMatchObject({ a: { type: 'http' }, b: { type: 'apiKey', in: 'header' } })
    },
  },
  {
    id: 'CD-03',
    claim: 'a card says how long it may be kept, its name and its date',
    isOnce: true,
    async run(scene) {
      const { headers } = await scene.request(cardPath)
      expect(headers.get('cache-control')).toBe('public, max-age=300')
      expect(headers.get('etag')).toMatch(/^W\/"[0-9a-f]{32}"$/)
      expect(Date.parse(headers.get('last-modified') ?? '')).toBeLessThanOrEqual(Date.now())
    },
  },
  {
    id: 'CD-04',
    claim: 'who has the card is told so, without a body',
    isOnce: true,
    async run(scene) {
      const { headers } = await scene.request(cardPath)
      for (const condition of [
        { 'if-none-match': headers.get('etag') ?? '' },
        { 'if-modified-since': headers.get('last-modified') ?? '' },
      ]) {
        const again = await scene.request(cardPath, { headers: condition })
        expect([again.status, await again.text()]).toEqual([304, ''])
      }
      const other = { 'if-none-match': '"other"', 'if-modified-since': headers.get('last-modified') ?? '' }
      expect((await scene.request(cardPath, { headers: other })).status).toBe(200)
    },
  },
  {
    id: 'CD-05',
    claim: 'a card that changed has another name and date, and is signed once for as long as it stays the same',
    isOnce: true,
    async run() {
      let nowMs = 10_000
      let signed = 0
      const cache = createDocumentCache(() => nowMs)
      const sign = async (content: JsonObject): Promise<JsonObject> => {
        signed += 1
        return { ...content, signed }
      }
      const first = await cache('card', { name: 'one' }, sign)
      nowMs = 20_000
      expect(await cache('card', { name: 'one' }, sign)).toBe(first)
      const second = await cache('card', { name: 'two' }, sign)
      expect([signed, second.modifiedMs, second.etag === first.etag]).toEqual([2, 20_000, false])
    },
  },
  {
    id: 'CD-06',
    claim: 'who says 1.0 is given the strict card, and caches are told what it depends on',
    isOnce: true,
    async run(scene) {
      const response = await scene.request(rootPath, { headers: { 'a2a-version': '1.0' } })
      expect(response.headers.get('vary')).toBe('A2A-Version')
      const body = await response.json()
      expect(Object.keys(body).filter((name) => !members.includes(name))).toEqual([])
      expect(body.signatures).toHaveLength(1)
    },
  },
  {
    id: 'CD-07',
    claim: 'who says nothing finds what 0.3 reads at the root as well',
    isOnce: true,
    async run(scene) {
      const response = await scene.request(rootPath, {}, { headers: { 'a2a-version': '' } })
      expect(await response.json()).toMatchObject({
        protocolVersion: '0.3.0',
        url: 'http://localhost/a2a',
        preferredTransport: 'JSONRPC',
        additionalInterfaces: [{ transport: 'JSONRPC' }, { transport: 'HTTP+JSON' }],
        supportedInterfaces: [{ protocolBinding: 'JSONRPC', protocolVersion: '1.0' }, {}, {}, {}],
      })
    },
  },
  {
    id: 'CD-08',
    claim: 'two agents on one host have cards of their own, whose interfaces lie below their own addresses',
    isOnce: true,
    async run(scene) {
      for (const slug of ['demo', 'lean']) {
        const body = await card(scene, `/a2a/${slug}/.well-known/agent-card.json`)
        expect(body.name).toBe(`Agent ${slug}`)
        expect(new Set(body.supportedInterfaces.map(({ url }: Body) => url))).toEqual(
          new Set([`http://localhost/a2a/${slug}`]),
        )
      }
      expect((await scene.request('/a2a/nobody/.well-known/agent-card.json')).status).toBe(404)
      const byAddress = await card(scene, '/.well-known/agent-card/lean')
      expect(byAddress).toMatchObject({ address: '@lean@parley.localhost', protocol_version: '0.1' })
    },
  },
  {
    id: 'CD-09',
    claim: 'the first interface is preferred, and every one of them answers',
    isOnce: true,
    async run(scene) {
      const { supportedInterfaces } = await card(scene)
      expect(supportedInterfaces[0]).toMatchObject({ protocolBinding: 'JSONRPC', protocolVersion: '1.0' })
      for (const { url, protocolBinding, protocolVersion } of supportedInterfaces) {
        const isRpc = protocolBinding === 'JSONRPC'
        const isNew = protocolVersion === '1.0'
        const path = new URL(url).pathname + (isRpc ? '' : isNew ? '/tasks/none' : '/v1/tasks/none')
        const method = isNew ? 'GetTask' : 'tasks/get'
        const rpc = { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { id: 'none' } }) }
        const headers = { 'content-type': 'application/json', 'a2a-version': protocolVersion }
        const body = await (await scene.request(path, { ...(isRpc ? rpc : {}), headers })).json()
        expect(JSON.stringify(body), `${protocolBinding} ${protocolVersion}`).toContain('task not found')
      }
    },
  },
  {
    id: 'CD-10',
    claim: 'a card that could not say how its callers show who they are stops the start',
    isOnce: true,
    async run() {
      expect(() => a2aChannel.create({ anonymous: 'yes' }, {} as Body)).toThrow('[a2a] anonymous')
      expect(() => a2aChannel.create(a2a().settings, {} as Body)).toThrow('[a2a] needs')
    },
  },
  {
    id: 'CD-11',
    claim: 'a strict card is signed with a key that the host publishes',
    isOnce: true,
    async run(scene) {
      const signed = await card(scene)
      const header = JSON.parse(await verify(signed, await card(scene, '/a2a/.well-known/jwks.json')))
      expect(header).toEqual({
        alg: 'ES256',
        typ: 'JOSE',
        kid: expect.any(String),
        jku: 'http://localhost/a2a/.well-known/jwks.json',
      })
      expect(JSON.stringify(await card(scene, '/a2a/.well-known/jwks.json'))).not.toContain('"d"')
    },
  },
  {
    id: 'CD-12',
    claim: 'the example of section 8.4.1 gives the bytes of the section',
    isOnce: true,
    async run() {
      const fragment = {
        name: 'Example Agent',
        description: '',
        capabilities: { streaming: false, pushNotifications: false, extensions: [] },
        skills: [],
      }
      expect(cardSigningText(fragment)).toBe(
        '{"capabilities":{"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent","skills":[]}',
      )
    },
  },
  {
    id: 'CD-13',
    claim: 'names and numbers are written as RFC 8785 writes them',
    isOnce: true,
    async run() {
      // RFC 8785 section 3.2.3 and 3.2.2.
      const names = { '€': 1, '\r': 2, '\ufb33': 3, '1': 4, '😀': 5, '\u0080': 6, ö: 7 }
      expect(canonicalJson(names)).toBe('{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}')
      const numbers = JSON.parse('[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001,1.0,-0]')
      expect(canonicalJson(numbers)).toBe('[333333333.3333333,1e+30,4.5,0.002,1e-27,1,0]')
      expect(canonicalJson('€$\u000f\u000aA\'B"\\\\"/\u2028')).toBe('"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/\u2028"')
      expect(() => canonicalJson('\ud800')).toThrow('half a character')
      expect(() => canonicalJson([Number.NaN])).toThrow('only JSON')
    },
  },
  {
    id: 'CD-14',
    claim: 'a card that was changed, or signed with another key, is not believed',
    isOnce: true,
    async run(scene) {
      const signed = await card(scene)
      const keys = await card(scene, '/a2a/.well-known/jwks.json')
      await expect(verify({ ...signed, name: 'Mallory' }, keys)).rejects.toThrow()
      const other = await readCardKey(await makePrivateCardKeyJson())
      await expect(verify(await other.sign(signed, 'https://evil.example/jwks.json'), keys)).rejects.toThrow()
      await expect(readCardKey(JSON.stringify(await generateKeyPair('EdDSA')))).rejects.toThrow('P-256')
    },
  },
  {
    id: 'CD-15',
    claim: 'the extended card is off, not there, for those who show a credential, and then there',
    async run(scene, binding) {
      const ask = (base: string) => refused(scene, binding, 'GetExtendedAgentCard', {}, { base })
      expect((await ask('/bare')).code).toBe(-32004)
      expect((await ask('/unset')).code).toBe(-32007)
      const stranger = { base: '/extended', isElsewhere: true }
      const anonymous = await scene.call(binding, 'GetExtendedAgentCard', {}, stranger)
      expect([anonymous.status, anonymous.headers.get('www-authenticate')]).toEqual([
        401,
        'Bearer realm="parley.localhost"',
      ])
      const token = await scene.token()
      const { result } = await scene.call(binding, 'GetExtendedAgentCard', {}, { base: '/extended', token })
      expect(result.skills.map(({ id }: Body) => id)).toContain('books')
      const open = await card(scene, '/extended/.well-known/agent-card.json')
      expect(open.skills.map(({ id }: Body) => id)).not.toContain('books')
    },
  },
  {
    id: 'CD-16',
    claim: 'a card is read, looked at and asked about, and nothing else',
    isOnce: true,
    async run(scene) {
      const head = await scene.request(cardPath, { method: 'HEAD' })
      expect([head.status, await head.text(), head.headers.get('etag')]).toEqual([200, '', expect.any(String)])
      const options = await scene.request(cardPath, { method: 'OPTIONS' })
      expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS'])
      const post = await scene.request(cardPath, { method: 'POST', body: JSON.stringify(aMessage('x')) })
      expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
    },
  },
]
