// What other servers find of ours.
import { Ajv } from 'ajv'
import { expect } from 'vitest'
import type { JsonObject } from '../../../src/lib/json-value.ts'
import { activityJson, openDocuments, origin } from '../../unit/adapters/activitypub/documents/documents-setup.ts'
import type { Case } from '../conform.ts'

const ldJson = 'application/ld+json; profile="https://www.w3.org/ns/activitystreams"'
const alice = 'https://social.example/alice'

/** What the schemas of NodeInfo 2.0 and 2.1 ask for, as far as we use them. */
const nodeinfoSchema = (version: string) => ({
  type: 'object',
  additionalProperties: false,
  required: ['version', 'software', 'protocols', 'services', 'openRegistrations', 'usage', 'metadata'],
  properties: {
    version: { const: version },
    software: {
      type: 'object',
      additionalProperties: false,
      required: ['name', 'version'],
      properties: { name: { type: 'string', pattern: '^[a-z0-9-]+$' }, version: { type: 'string' } },
    },
    protocols: { type: 'array', minItems: 1, items: { enum: ['activitypub'] } },
    services: {
      type: 'object',
      additionalProperties: false,
      required: ['inbound', 'outbound'],
      properties: { inbound: { type: 'array', maxItems: 0 }, outbound: { type: 'array', maxItems: 0 } },
    },
    openRegistrations: { type: 'boolean' },
    usage: {
      type: 'object',
      additionalProperties: false,
      required: ['users'],
      properties: {
        users: {
          type: 'object',
          additionalProperties: false,
          properties: {
            total: { type: 'integer', minimum: 0 },
            activeHalfyear: { type: 'integer', minimum: 0 },
            activeMonth: { type: 'integer', minimum: 0 },
          },
        },
        localPosts: { type: 'integer', minimum: 0 },
      },
    },
    metadata: { type: 'object' },
  },
})

export const documentCases: readonly Case[] = [
  {
    id: 'AP-006',
    claim: 'servers are given ActivityStreams and browsers pages, and caches are told that it depends on who asks',
    async run() {
      const scene = openDocuments()
      await scene.post('n1', 'public')
      const seen: string[] = []
      for (const path of ['/ap/demo', '/@demo', '/ap/demo/notes/n1'])
        for (const accept of [activityJson, ldJson, 'text/html', '*/*']) {
          const response = await scene.ask(path, { accept })
          expect([response.status, response.headers.get('vary')]).toEqual([200, 'Accept'])
          seen.push((response.headers.get('content-type') ?? '').split(';')[0] ?? '')
        }
      return seen
    },
    equals: new Array(3).fill([activityJson, activityJson, 'text/html', 'text/html']).flat(),
  },
  {
    id: 'AP-007',
    claim: 'an agent is a Service whose keys, inboxes and wishes are written down',
    async run() {
      const scene = openDocuments()
      const actor = await scene.json('/ap/demo')
      const key = actor['publicKey'] as JsonObject
      // The address of the key leads to a document that contains it.
      const holder = await scene.json(new URL(String(key['id'])).pathname)
      return { ...actor, isFound: (holder['publicKey'] as JsonObject)['id'] === key['id'] }
    },
    expected: {
      type: 'Service',
      isFound: true,
      publicKey: { owner: `${origin}/ap/demo`, publicKeyPem: expect.stringMatching(/^-----BEGIN PUBLIC KEY-----\n/) },
      assertionMethod: [{ type: 'Multikey', publicKeyMultibase: expect.stringMatching(/^z6Mk/) }],
      endpoints: { sharedInbox: `${origin}/ap/inbox` },
      discoverable: false,
      indexable: false,
    },
  },
  {
    id: 'AP-008',
    claim: 'of an agent that is gone for good only its grave is left; one that is merely unknown has none',
    async run() {
      const scene = openDocuments()
      const init = { method: 'POST', body: '{}', headers: { 'content-type': activityJson } }
      const asked = [
        await scene.ask('/ap/old', { accept: activityJson }),
        await scene.ask('/ap/old/inbox', { init }),
        await scene.ask('/@old'),
        await scene.ask('/ap/nobody', { accept: activityJson }),
      ]
      return { statuses: asked.map(({ status }) => status), grave: await asked[0]?.json() }
    },
    expected: { statuses: [410, 410, 410, 404], grave: { id: `${origin}/ap/old`, type: 'Tombstone' } },
  },
  {
    id: 'AP-009',
    claim: 'NodeInfo fits its schemas in both versions',
    async run() {
      const scene = openDocuments({ operator: 'A co-op' })
      await scene.post('n1', 'public')
      await scene.post('n2', 'direct')
      const links = (await scene.json('/.well-known/nodeinfo'))['links'] as readonly JsonObject[]
      const ajv = new Ajv()
      const found = await Promise.all(
        links.map(async ({ rel, href }) => {
          const version = String(rel).split('/').at(-1) ?? ''
          const document = await scene.json(String(href))
          return { version, fits: ajv.validate(nodeinfoSchema(version), document), posts: document['usage'] }
        }),
      )
      return found
    },
    equals: ['2.1', '2.0'].map((version) => ({
      version,
      fits: true,
      posts: { users: { total: 2, activeMonth: 2, activeHalfyear: 2 }, localPosts: 1 },
    })),
  },
  {
    id: 'AP-010',
    claim: 'the instance is shown to whoever asks, without a signature',
    run: () => openDocuments().json('/ap/actor'),
    expected: { id: `${origin}/ap/actor`, type: 'Application', publicKey: { id: `${origin}/ap/actor#main-key` } },
  },
  {
    id: 'AP-011',
    claim: 'a post to one person is there for that person, and for nobody else',
    async run() {
      const scene = openDocuments()
      await scene.post('n1', 'direct', { to: [alice] })
      const path = '/ap/demo/notes/n1'
      const asked = [
        await scene.ask(path, { accept: activityJson }),
        await scene.ask(path, { accept: 'text/html' }),
        await scene.ask(path, { accept: activityJson, signer: 'https://social.example/mallory' }),
        await scene.ask(path, { accept: activityJson, signer: alice }),
      ]
      const never = await scene.ask('/ap/demo/notes/never', { accept: activityJson })
      expect(await asked[0]?.text()).toBe(await never.text())
      return asked.map(({ status, headers }) => [status, headers.get('cache-control')])
    },
    equals: [
      [404, 'no-store'],
      [404, 'no-store'],
      [404, 'no-store'],
      [200, 'private, no-store'],
    ],
  },
  {
    id: 'AP-012',
    claim: 'the collections say how many there are, and show nothing that is not for everybody',
    async run() {
      const scene = openDocuments()
      await scene.post('open', 'public')
      await scene.post('secret', 'direct')
      await scene.post('friends', 'followers')
      const names = ['outbox', 'followers', 'following', 'featured']
      const found = await Promise.all(names.map((name) => scene.json(`/ap/demo/${name}`)))
      const page = JSON.stringify(await scene.json('/ap/demo/outbox?page=true'))
      return {
        found: found.map(({ type, totalItems }) => [type, totalItems]),
        page: ['open', 'secret', 'friends'].map((word) => page.includes(word)),
      }
    },
    equals: {
      found: [1, 0, 0, 0].map((count) => ['OrderedCollection', count]),
      page: [true, false, false],
    },
  },
]
