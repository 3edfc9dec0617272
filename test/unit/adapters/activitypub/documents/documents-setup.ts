// An instance with two agents as others ask it, without a network: its own documents need none.

import type { DocumentSettings } from '../../../../../adapters/activitypub/documents/document-deps.ts'
import { createOwnNoteReader, isPublicNote } from '../../../../../adapters/activitypub/documents/own-notes.ts'
import { createDocumentServer } from '../../../../../adapters/activitypub/documents/serve.ts'
import { createDocumentUrls, type DocumentUrls } from '../../../../../adapters/activitypub/documents/urls.ts'
import { type ActorKeys, createActorKeys } from '../../../../../adapters/activitypub/signatures/own-keys.ts'
import type { Visibility } from '../../../../../adapters/activitypub/wire/activity.ts'
import { noteFamily, outboxFamily, outboxKey } from '../../../../../adapters/activitypub/wire/delivery.ts'
import type { ChannelKeys } from '../../../../../src/contract/channel.ts'
import type { AgentProfile, FileSource, RawRequest, ReceiveResult, Records } from '../../../../../src/contract/index.ts'
import type { JsonObject } from '../../../../../src/lib/json-value.ts'
import { createMemoryRecords } from '../../../../../src/testing/memory-records.ts'
import { idleDoor } from '../../../../../src/testing/serve-context.ts'

const publicIri = 'https://www.w3.org/ns/activitystreams#Public'
export const origin = 'https://agents.example.com'
export const activityJson = 'application/activity+json'

const skills = [{ id: 'chat', name: 'Chat', description: 'Talks', tags: ['chat'] }]
const demo: AgentProfile = {
  slug: 'demo',
  label: 'Demo',
  description: 'Answers <questions>.\n\nKindly.',
  skills,
}
const other: AgentProfile = { slug: 'other-one', label: 'Other', description: '', skills }

export type DocumentScene = {
  readonly places: DocumentUrls
  readonly keys: ActorKeys
  readonly records: Records
  /** Bodies that were handed in. */
  readonly arrived: RawRequest[]
  /** `signer`: who proves to be asking. */
  ask(path: string, options?: Asked): Promise<Response>
  json(path: string, options?: Asked): Promise<JsonObject>
  post(id: string, visibility: Visibility, more?: JsonObject): Promise<JsonObject>
  takeBack(id: string, visibility: Visibility): Promise<void>
  pass(ms: number): void
}

type Asked = { readonly accept?: string; readonly signer?: string; readonly init?: RequestInit }

function memoryKeys(): Pick<ChannelKeys, 'keep'> {
  const kept = new Map<string, Promise<string>>()
  return {
    keep(name, make) {
      const known = kept.get(name) ?? make()
      kept.set(name, known)
      return known
    },
  }
}

// RSA keys take long to make and one set serves every test of a file.
const sharedKeys = memoryKeys()

export function openDocuments(
  settings: Partial<DocumentSettings> = {},
  answer: ReceiveResult = { kind: 'stored', acceptances: [] },
  files?: FileSource,
): DocumentScene {
  let nowMs = Date.parse('2026-11-17T12:00:00Z')
  const now = (): number => nowMs
  const records = createMemoryRecords(now)
  const places = createDocumentUrls(origin)
  const keys = createActorKeys({ ownKeys: sharedKeys, records, now })
  const notes = createOwnNoteReader(records, places)
  const arrived: RawRequest[] = []
  const serve = createDocumentServer({
    settings: { follow: 'manual', isDiscoverable: false, isIndexable: false, retired: ['old'], ...settings },
    places,
    agents: () => [demo, other],
    keys,
    notes,
    records,
    files,
    version: '0.1.0',
    maxBodyBytes: 256 * 1024,
    acceptsProofs: false,
    signerOf: async (request) => request.headers.get('x-test-signer') ?? undefined,
  })
  const door = {
    ...idleDoor,
    async receive(arrival: RawRequest) {
      arrived.push(arrival)
      return answer
    },
  }
  const ask = async (path: string, { accept, signer, init = {} }: Asked = {}): Promise<Response> => {
    const headers = new Headers(init.headers)
    if (accept !== undefined) headers.set('accept', accept)
    if (signer !== undefined) headers.set('x-test-signer', signer)
    const url = path.startsWith('https:') ? path : `${origin}${path}`
    return (await serve(new Request(url, { ...init, headers }), door)) ?? new Response(null, { status: 599 })
  }
  const keep = async (visibility: Visibility, note: JsonObject & { readonly id: string }): Promise<void> => {
    const { id, published } = note
    await records.put(noteFamily, id, { visibility, note, recipients: [], audience: [] }, { agent: 'demo' })
    if (!isPublicNote(visibility) || typeof published !== 'string') return
    await records.put(outboxFamily, outboxKey(id, published), { id, published }, { agent: 'demo' })
  }
  return {
    places,
    keys,
    records,
    arrived,
    ask,
    json: async (path, options) => (await ask(path, { accept: activityJson, ...options })).json(),
    async post(id, visibility, more = {}) {
      const to = visibility === 'direct' ? ['https://social.example/alice'] : [publicIri]
      const note = {
        id: places.note('demo', id),
        type: 'Note',
        attributedTo: places.actor('demo'),
        content: `<p>Words of ${id}</p>`,
        published: new Date(nowMs).toISOString(),
        to,
        cc: [],
        ...more,
      }
      await keep(visibility, note)
      return note
    },
    takeBack: (id, visibility) =>
      keep(visibility, { id: places.note('demo', id), type: 'Tombstone', deleted: '2026-11-17T13:00:00Z' }),
    pass(ms) {
      nowMs += ms
    },
  }
}
