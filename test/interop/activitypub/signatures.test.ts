// Requests as we sign them, judged by verifiers nobody here wrote (AP-142): a library for both forms, and Fedify's own.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addProof } from '../../../adapters/activitypub/signatures/integrity-proof.ts'
import { type SignatureScheme, signedHeaders } from '../../../adapters/activitypub/signatures/sign-request.ts'
import { describeBeside, importPeer, provePeer } from '../peer.ts'
import { type OurServer, startOurServer } from './our-server.ts'
import { findSignatures } from './signing-peer.ts'

type Message = {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}
type Fedify = {
  readonly verifyRequest: (request: Request, options: object) => Promise<{ readonly id: URL | null } | null>
  readonly verifyObject: (type: unknown, json: unknown, options: object) => Promise<unknown>
  readonly getDocumentLoader: (options: object) => unknown
  readonly Create: unknown
}

const library = await findSignatures()
const imported = await importPeer<Fedify>('@fedify/fedify', async (importHere) => ({
  ...((await importHere('@fedify/fedify')) as Fedify),
  ...((await importHere('@fedify/vocab')) as Fedify),
}))
const fedify = await provePeer('the verifier of @fedify/fedify', imported, async ({ verifyRequest }) => {
  const unsigned = new Request('https://social.example/inbox', { method: 'POST', body: '{}' })
  if ((await verifyRequest(unsigned, {})) !== null) throw new Error('it believes a request without a signature')
})

const url = 'https://social.example/users/alice/inbox?page=1'
const body = new TextEncoder().encode('{"type":"Create"}')
let ours: OurServer

beforeAll(async () => {
  ours = await startOurServer()
})
afterAll(() => ours.stop())

async function signed(scheme: SignatureScheme, changes: { readonly method?: 'GET' } = {}): Promise<Message> {
  const method = changes.method ?? 'POST'
  const key = ours.keys.rsa
  const sent = method === 'POST' ? { body } : {}
  const headers = await signedHeaders({ method, url, ...sent, key, scheme, nowMs: Date.now() })
  return { method, url, headers: { host: 'social.example', ...headers } }
}

describeBeside('http-message-signatures', library, (module) => {
  const config = () => ({
    keyLookup: async ({ keyid }: { readonly keyid?: string }) =>
      keyid === ours.keys.rsa.id
        ? { id: keyid, verify: module().createVerifier(ours.keys.rsa.publicPem, 'rsa-v1_5-sha256') }
        : null,
  })

  test.each(['GET', 'POST'] as const)(
    'AP-142: a %s of the old form is genuine, and nothing else under its signature',
    async (method) => {
      const { verifyMessage } = module().cavage
      const message = await signed('cavage', method === 'GET' ? { method } : {})
      expect(await verifyMessage(config(), message)).toBe(true)
      const later = { ...message.headers, date: new Date(0).toUTCString() }
      expect(await verifyMessage(config(), { ...message, headers: later })).toBe(false)
      expect(await verifyMessage(config(), { ...message, url: 'https://social.example/other' })).toBe(false)
    },
  )

  test.each(['GET', 'POST'] as const)(
    'AP-142: a %s of RFC 9421 is genuine, and nothing else under its signature',
    async (method) => {
      const { verifyMessage } = module().httpbis
      const message = await signed('rfc9421', method === 'GET' ? { method } : {})
      const requiredFields = ['@method', '@target-uri', ...(method === 'GET' ? [] : ['content-digest'])]
      expect(await verifyMessage({ ...config(), requiredFields }, message)).toBe(true)
      expect(await verifyMessage(config(), { ...message, url: 'https://social.example/other' })).toBe(false)
    },
  )
})

describeBeside('Fedify', fedify, (module) => {
  const loading = () => ({
    documentLoader: async (asked: string) => ({ contextUrl: null, document: ours.document, documentUrl: asked }),
    contextLoader: module().getDocumentLoader({ allowPrivateAddress: true }),
  })
  const judge = async (scheme: SignatureScheme, sent: Uint8Array<ArrayBuffer> = body) => {
    // Without the query: its verifier of the old form leaves it out of what was signed.
    const plain = 'https://social.example/users/alice/inbox'
    const headers = await signedHeaders({
      method: 'POST',
      url: plain,
      body,
      key: ours.keys.rsa,
      scheme,
      nowMs: Date.now(),
    })
    const request = new Request(plain, { method: 'POST', headers: { host: 'social.example', ...headers }, body: sent })
    const spec = scheme === 'cavage' ? 'draft-cavage-http-signatures-12' : 'rfc9421'
    return (await module().verifyRequest(request, { ...loading(), spec }))?.id?.href
  }

  test.each(['cavage', 'rfc9421'] as const)('AP-142: our %s is genuine, and not over another body', async (scheme) => {
    expect(await judge(scheme)).toBe(ours.keys.rsa.id)
    expect(await judge(scheme, new TextEncoder().encode('{"type":"Delete"}'))).toBeUndefined()
  })

  describe('proofs inside activities', () => {
    const activity = () => ({
      '@context': ['https://www.w3.org/ns/activitystreams', 'https://w3id.org/security/data-integrity/v1'],
      id: `${ours.actor}/notes/1#create`,
      type: 'Create',
      actor: ours.actor,
      object: { id: `${ours.actor}/notes/1`, type: 'Note', attributedTo: ours.actor, content: '<p>ä €</p>' },
    })

    test('a proof of ours holds, and for no other words', async () => {
      const proven = await addProof(activity(), ours.keys.ed25519, Date.now())
      const holds = (json: unknown) => module().verifyObject(module().Create, json, loading())
      expect(await holds(proven)).not.toBeNull()
      expect(await holds({ ...proven, object: { ...activity().object, content: '<p>other</p>' } })).toBeNull()
    })
  })
})
