// What the adapter kit needs to know about the fediverse: a person on another server with a key, activities with their twins, and answers of
// other servers.
import type { ChannelDeps, JsonObject, RawRequest, Records, SafeFetchResult } from '../../src/contract/index.ts'
import directNote from './fixtures/direct-note.json' with { type: 'json' }
import editedNote from './fixtures/edited-note.json' with { type: 'json' }
import follow from './fixtures/follow.json' with { type: 'json' }
import publicMention from './fixtures/public-mention.json' with { type: 'json' }
import withdrawnNote from './fixtures/withdrawn-note.json' with { type: 'json' }
import { activitypubChannel } from './index.ts'

const now = Date.parse('2026-03-01T12:00:00.000Z')
const origin = 'https://agents.example'
const alice = 'https://social.example/users/alice'

const rsa = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' } as const

/** Made at the first signature. */
const pairs = new Map<string, Promise<CryptoKeyPair>>()

function pairOf(name: 'right' | 'wrong'): Promise<CryptoKeyPair> {
  const size = { modulusLength: 2048, publicExponent: Uint8Array.from([1, 0, 1]) }
  const made = pairs.get(name) ?? crypto.subtle.generateKey({ ...rsa, ...size }, true, ['sign', 'verify'])
  pairs.set(name, made)
  return made
}

/** Our own, which take long to make: one set serves every clause. */
const keys = new Map<string, Promise<string>>()

const base64 = (bytes: ArrayBuffer): string => btoa(String.fromCharCode(...new Uint8Array(bytes)))

async function sign(
  bytes: Uint8Array,
  how: { readonly key?: 'wrong'; readonly at?: number; readonly as?: string } = {},
): Promise<RawRequest> {
  const { privateKey } = await pairOf(how.key ?? 'right')
  const date = new Date(how.at ?? now).toUTCString()
  const digest = `SHA-256=${base64(await crypto.subtle.digest('SHA-256', new Uint8Array(bytes)))}`
  const path = '/ap/demo/inbox'
  const { host } = new URL(origin)
  const text = `(request-target): post ${path}\nhost: ${host}\ndate: ${date}\ndigest: ${digest}`
  const signature = base64(await crypto.subtle.sign(rsa.name, privateKey, new TextEncoder().encode(text)))
  const signer = how.as ?? signerOf(bytes)
  return {
    bytes,
    headers: {
      ':path': path,
      ':authority': host,
      host,
      date,
      digest,
      'content-type': 'application/activity+json',
      signature: `keyId="${signer}#main-key",algorithm="rsa-sha256",headers="(request-target) host date digest",signature="${signature}"`,
    },
    receivedAt: new Date(now).toISOString(),
    from: 'remote',
  }
}

/** Whose activity it is. */
function signerOf(bytes: Uint8Array): string {
  try {
    const { actor } = JSON.parse(new TextDecoder().decode(bytes)) as { readonly actor?: unknown }
    return typeof actor === 'string' ? actor : alice
  } catch {
    return alice
  }
}

async function personAt(id: string): Promise<JsonObject> {
  const spki = base64(await crypto.subtle.exportKey('spki', (await pairOf('right')).publicKey))
  const pem = `-----BEGIN PUBLIC KEY-----\n${spki}\n-----END PUBLIC KEY-----\n`
  return {
    '@context': 'https://www.w3.org/ns/activitystreams',
    id,
    type: 'Person',
    preferredUsername: 'alice',
    name: 'Alice',
    inbox: `${id}/inbox`,
    followers: `${id}/followers`,
    url: 'https://social.example/@alice',
    publicKey: { id: `${id}#main-key`, owner: id, publicKeyPem: pem },
  }
}

/** People are read from here; what is sent goes to the vendor's stand-in. */
function ports(vendorOrigin: string, fetcher: typeof fetch): Partial<ChannelDeps> {
  const kept = new Map<string, JsonObject>()
  const records = memoryRecords(kept)
  return {
    publicUrl: origin,
    // What is queued again is the same but for its names.
    newId: () => 'id-of-the-kit',
    records,
    notes: {
      async keep({ family, key, value = {}, isOnce = false }) {
        const isThere = kept.has(`note ${family} ${key}`)
        if (!(isOnce && isThere)) kept.set(`note ${family} ${key}`, value)
        return !(isOnce && isThere)
      },
      read: async (family, key) => kept.get(`note ${family} ${key}`),
      async take(family, key) {
        const found = kept.get(`note ${family} ${key}`)
        kept.delete(`note ${family} ${key}`)
        return found
      },
    },
    ownKeys: {
      keep(name, make) {
        const made = keys.get(name) ?? make()
        keys.set(name, made)
        return made
      },
      async ring(name, make) {
        const made = await this.keep(name, make)
        return made === undefined ? undefined : { signing: made, all: [made] }
      },
    },
    guardedFetch: {
      pins: true,
      async fetch(url, options = {}): Promise<SafeFetchResult> {
        const { method = 'GET', headers = {}, body, signal } = options
        if (method === 'GET') {
          const type = { 'content-type': 'application/activity+json' }
          return { kind: 'answered', url, response: Response.json(await personAt(url), { headers: type }) }
        }
        try {
          const init = {
            method,
            headers: { ...headers },
            ...(body === undefined ? {} : { body }),
            ...(signal && { signal }),
          }
          return { kind: 'answered', url, response: await fetcher(`${vendorOrigin}${new URL(url).pathname}`, init) }
        } catch {
          return { kind: 'failed', reason: signal?.aborted === true ? 'timeout' : 'unreachable' }
        }
      },
    },
  }
}

function memoryRecords(kept: Map<string, JsonObject>): Records {
  const name = (family: string, key: string): string => `record ${family} ${key}`
  return {
    async put(family, key, value, { isOnce = false } = {}) {
      const isThere = kept.has(name(family, key))
      if (!(isOnce && isThere)) kept.set(name(family, key), value)
      return !(isOnce && isThere)
    },
    get: async (family, key) => kept.get(name(family, key)),
    remove: async (family, key) => kept.delete(name(family, key)),
    list: async () => [],
    count: async () => 0,
  }
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: ' ' }

/** What a reader sees, without whom it calls and which of several it is. */
function textOf(call: JsonObject): string {
  const note = call['note'] as JsonObject | undefined
  return String(note?.['content'])
    .replace(/<[^>]*>/g, ' ')
    .replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_all, name: string) => entities[name] ?? '')
    .replace(/^[\s@]*alice(?:@social\.example)?/, '')
    .replace(/\(\d+\/\d+\)\s*$/, '')
}

/** The only links are to the people it answers; no other actor is tagged. */
function isInert(calls: readonly JsonObject[]): boolean {
  return calls.every((call) => {
    const note = call['note'] as JsonObject
    const links = String(note['content']).match(/href="[^"]*"/g) ?? []
    const tags = (note['tag'] as readonly JsonObject[]).map(({ href }) => href)
    return (
      !/<(?:script|img|iframe|style)/i.test(String(note['content'])) &&
      links.every((link) => link === `href="${alice}"` || link.startsWith('href="https://evil.example')) &&
      tags.every((href) => href === alice)
    )
  })
}

export const fixtures = {
  definition: activitypubChannel,
  connection: { tenant: 'default', id: 'default', agent: 'demo', domain: 'agents.example' },
  now,
  settings: () => ({}),
  secrets: {},
  environment: { ACTIVITYPUB: 'on', PARLEY_PUBLIC_URL: origin },
  sign,
  ports,
  subjectPrefixes: ['https://'],
  credentialHeaders: ['signature', 'digest', 'date'],
  captured: [
    { name: 'public mention', ...publicMention },
    { name: 'direct note', ...directNote },
    { name: 'edited note', ...editedNote },
    { name: 'withdrawn note', ...withdrawnNote },
    { name: 'follow', ...follow },
  ],
  own: [
    {
      '@context': 'https://www.w3.org/ns/activitystreams',
      id: `${origin}/ap/demo/notes/1#create`,
      type: 'Create',
      actor: `${origin}/ap/demo`,
      to: [`${origin}/ap/demo`],
      object: { id: `${origin}/ap/demo/notes/1`, type: 'Note', content: 'an echo', to: [`${origin}/ap/demo`] },
    },
  ],
  replyTo: {
    actor: alice,
    inbox: `${alice}/inbox`,
    shared_inbox: null,
    handle: '@alice@social.example',
    visibility: 'public',
    agent: 'demo',
    followers: `${alice}/followers`,
    participants: [],
    reply_to_object: `${alice}/statuses/1`,
    reply_to_context: null,
    reply_to_conversation: null,
    reply_to_as_summary: null,
    reply_to_language: null,
  },
  textOf,
  keyOf: (body: unknown) => String((typeof body === 'string' ? JSON.parse(body) : (body as JsonObject)).id),
  hostile: [
    { said: 'ask @admin@social.example and @bob', isInert },
    { said: '<script>x()</script><img src=x onerror=x()> [x](javascript:x) [y](https://evil.example/)', isInert },
  ],
  vendor: {
    success: { status: 202, body: '' },
    rateLimit: { status: 429, body: '', headers: { 'retry-after': '30' } },
    serverFault: { status: 500, body: '' },
    refusal: { status: 410, body: '' },
    ambiguous: 'retry' as const,
  },
  skips: {
    'verify: rejects an old timestamp':
      'servers differ by an hour; what is older is shown by AP-029 in the signature cases',
    'verify: rejects a future timestamp':
      'servers differ by an hour; what is later is shown by AP-029 in the signature cases',
    'verify: answers the handshake': 'there is none between servers',
    'verify: never normalizes a rejected arrival':
      'what is no JSON is refused before another server is asked for a key, with its own status',
    'config: leaving out any secret fails at start': 'no secret stands in its settings: keys are made here and sealed',
    'config: an incomplete environment names what is missing':
      'one word switches it on; what it needs then is shown in test/unit/adapters/activitypub/config',
    'normalize: arbitrary JSON never crashes':
      'what is no activity is refused at the gate; test/unit/adapters/activitypub/normalize throws activities at it instead',
    'evidence: no name a sender chose is part of it':
      'names come with the actor and not with the activity; AP-098 shows that they prove nothing',
    'verb: reconcile finds what arrived and misses what did not':
      'another server cannot be asked; a note keeps its name instead',
    'verb: acknowledge answers every acceptance': 'its own inboxes answer, in the statuses of the protocol',
    'verb: openFile gives the bytes, or says why not, and never how it asked':
      'attachments are links that readers may follow',
    'deliver: a file is one upload, and none where there is nothing to upload':
      'files of replies are links others fetch',
  },
}
