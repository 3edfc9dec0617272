// Posts as others read them: in lists, alone, as pages, and when they are no more.
import { createHash } from 'node:crypto'
import { Create, Note } from '@fedify/vocab'
import { getDocumentLoader } from '@fedify/vocab-runtime'
import { beforeEach, describe, expect, test } from 'vitest'
import { prefersActivityJson } from '../../../../../adapters/activitypub/documents/serve.ts'
import { parseDocumentPath } from '../../../../../adapters/activitypub/documents/urls.ts'
import { buildNoteUpdateActivity } from '../../../../../adapters/activitypub/render/note-activity.ts'
import { followerKey, ownFamilies } from '../../../../../adapters/activitypub/wire/records.ts'
import type { JsonObject } from '../../../../../src/lib/json-value.ts'
import { activityJson, type DocumentScene, openDocuments, origin } from './documents-setup.ts'

let scene: DocumentScene
beforeEach(() => {
  scene = openDocuments()
})

const itemsOf = (page: JsonObject): readonly string[] =>
  (page['orderedItems'] as readonly JsonObject[]).map(({ id }) => String(id).split('/').at(-1) ?? '')

describe('the outbox', () => {
  test('goes page by page from the newest to the oldest, with what anybody may read and nothing else', async () => {
    for (let at = 0; at < 45; at += 1) {
      await scene.post(`n${at}`, at % 9 === 0 ? 'direct' : 'unlisted')
      scene.pass(1000)
    }
    const outbox = await scene.json('/ap/demo/outbox')
    expect(outbox).toMatchObject({ type: 'OrderedCollection', totalItems: 40 })
    const seen: string[] = []
    const sizes: number[] = []
    for (let next = outbox['first']; next !== undefined; ) {
      const page = await scene.json(String(next))
      seen.push(...itemsOf(page))
      sizes.push(itemsOf(page).length)
      next = page['next']
    }
    const expected = Array.from({ length: 45 }, (_, at) => 44 - at).filter((at) => at % 9 !== 0)
    expect(seen).toEqual(expected.map((at) => `n${at}#create`))
    expect(sizes).toEqual([20, 20])
  })

  test('of another agent is its own', async () => {
    await scene.post('n1', 'public')
    expect(await scene.json('/ap/other-one/outbox')).toMatchObject({ totalItems: 0 })
  })
})

describe('a post', () => {
  test('means the same fetched, listed and delivered: its words are those of one vocabulary', async () => {
    const note = await scene.post('n1', 'public', {
      sensitive: true,
      conversation: `${origin}/ap/demo/notes/n1#context`,
    })
    const change = { content: '', source: '', version: 1, updated: '2026-11-17T13:00:00Z' }
    const delivered = buildNoteUpdateActivity({ note }, change)['@context']
    const [fetched, page] = [await scene.json('/ap/demo/notes/n1'), await scene.json('/ap/demo/outbox?page=true')]
    expect([fetched['@context'], page['@context']]).toEqual([delivered, delivered])
    const preloaded = getDocumentLoader()
    const loaders = { contextLoader: (url: string) => preloaded(url) }
    const [create] = page['orderedItems'] as readonly JsonObject[]
    const listed = await Create.fromJsonLd({ '@context': page['@context'], ...create }, loaders)
    const read = [await Note.fromJsonLd(fetched, loaders), await listed.getObject(loaders)]
    expect(read.map((each) => each?.sensitive)).toEqual([true, true])
  })

  test('for followers is shown to followers', async () => {
    await scene.post('n1', 'followers', { to: [`${origin}/ap/demo/followers`] })
    const bob = 'https://social.example/bob'
    expect((await scene.ask('/ap/demo/notes/n1', { signer: bob })).status).toBe(404)
    await scene.records.put(ownFamilies.follower, followerKey('demo', bob), { actor: bob }, { agent: 'demo' })
    const shown = await scene.ask('/ap/demo/notes/n1', { signer: bob, accept: activityJson })
    expect([shown.status, shown.headers.get('cache-control')]).toEqual([200, 'private, no-store'])
  })

  test('that says something else is shown so, and one that was taken back is gone, also from the outbox', async () => {
    await scene.post('n1', 'public')
    await scene.post('n1', 'public', { content: '<p>Better words</p>', updated: '2026-11-17T12:05:00Z' })
    expect(await scene.json('/ap/demo/notes/n1')).toMatchObject({ content: '<p>Better words</p>' })
    await scene.takeBack('n1', 'public')
    const gone = await scene.ask('/ap/demo/notes/n1', { accept: activityJson })
    expect([gone.status, await gone.json()]).toEqual([
      410,
      {
        '@context': 'https://www.w3.org/ns/activitystreams',
        id: `${origin}/ap/demo/notes/n1`,
        type: 'Tombstone',
        deleted: '2026-11-17T13:00:00Z',
      },
    ])
    const { first } = await scene.json('/ap/demo/outbox')
    expect(itemsOf(await scene.json(String(first)))).toEqual([])
  })

  test('between two people leaves no trace when it is taken back', async () => {
    await scene.post('n1', 'direct')
    await scene.takeBack('n1', 'direct')
    expect((await scene.ask('/ap/demo/notes/n1', { signer: 'https://social.example/alice' })).status).toBe(404)
  })

  test('is a page without scripts, whatever stands in it', async () => {
    await scene.post('n1', 'public', {
      content: '<p>Hi <script>alert(1)</script><a href="javascript:x" onclick="y">there</a></p>',
      summary: 'A "warning" <i>',
      inReplyTo: 'javascript:alert(1)',
      attachment: [{ type: 'Image', mediaType: 'image/png', url: 'https://f.example/a.png', name: '"><b>' }],
    })
    const page = await scene.ask('/ap/demo/notes/n1', { accept: 'text/html' })
    const html = await page.text()
    const style = /<style>(.*?)<\/style>/s.exec(html)?.[1] ?? ''
    const hash = createHash('sha256').update(style).digest('base64')
    expect(page.headers.get('content-security-policy')).toMatch(`default-src 'none'; style-src 'sha256-${hash}';`)
    expect(html).not.toMatch(/<script|onclick|javascript:|<b>/)
    expect(html).toContain('alt="&quot;&gt;&lt;b&gt;"')
    expect(html).toContain('<summary>A &quot;warning&quot;')
  })
})

describe('an inbox', () => {
  const init = {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': activityJson, signature: 'keyId="k"' },
  } as const

  test.each(['/ap/demo/inbox?a=1', '/ap/inbox'])('hands %s in with its path', async (path) => {
    expect((await scene.ask(path, { init })).status).toBe(202)
    expect(scene.arrived.map(({ headers, bytes }) => [headers[':path'], headers[':authority'], bytes.length])).toEqual([
      [path, 'agents.example.com', 2],
    ])
  })

  test('reads nothing of what brings no signature', async () => {
    const unsigned = { ...init, headers: { 'content-type': activityJson } }
    expect((await scene.ask('/ap/demo/inbox', { init: unsigned })).status).toBe(401)
    expect(scene.arrived).toEqual([])
  })

  test('takes only activities of a size, by POST, for whom there is', async () => {
    const large = 'x'.repeat(256 * 1024 + 1)
    const plain = { ...init, headers: { 'content-type': 'text/plain' } }
    const statuses = await Promise.all([
      scene.ask('/ap/demo/inbox'),
      scene.ask('/ap/demo/inbox', { init: plain }),
      scene.ask('/ap/demo/inbox', { init: { ...init, body: large } }),
      scene.ask('/ap/nobody/inbox', { init }),
      scene.ask('/ap/old/inbox', { init }),
    ])
    expect(statuses.map(({ status }) => status)).toEqual([405, 415, 413, 404, 410])
    expect(scene.arrived).toEqual([])
  })

  test.each([
    [{ kind: 'rejected', reason: 'bad_signature', trace: 't' }, 401],
    [{ kind: 'rejected', reason: 'malformed_request', trace: 't' }, 400],
    [{ kind: 'handshake', answer: { status: 200 } }, 200],
    [{ kind: 'limited', reason: 'x', seconds: 9, isDropped: false, trace: 't' }, 429],
    [{ kind: 'spent', reason: 'strangers_spent', isUnproven: true, retryAfterSeconds: 9, trace: 't' }, 429],
    [{ kind: 'unreadable', reason: 'x', acceptances: [] }, 400],
    [{ kind: 'rejected_event', reason: 'x', remedy: 'y', acceptances: [] }, 202],
    [{ kind: 'later', reason: 'x' }, 503],
  ] as const)('answers %o with %i', async (answer, status) => {
    expect((await openDocuments({}, answer).ask('/ap/demo/inbox', { init })).status).toBe(status)
  })
})

describe('paths and types', () => {
  test.each([
    '/ap',
    '/ap/',
    '/ap/demo/',
    '/ap/demo/notes',
    '/ap/demo/notes/a/b',
    '/ap/demo/outbox/x',
    '/ap/demo/unknown',
    '/ap/actor/outbox',
    '/ap/demo/notes/a%2Fb',
    '/ap/Demo',
    '/@demo/x',
    '/nodeinfo/3.0',
  ])('there is nothing at %s', async (path) => {
    expect(parseDocumentPath(path)).toBeUndefined()
    expect((await scene.ask(path)).status).toBe(404)
  })

  test.each([
    ['application/activity+json', true],
    ['application/ld+json; profile="https://www.w3.org/ns/activitystreams", application/activity+json', true],
    ['application/json', true],
    ['application/activity+json, text/html;q=0.1', true],
    ['text/html, application/xhtml+xml, */*;q=0.8', false],
    ['text/html;q=0.5, application/activity+json;q=0.4', false],
    ['application/activity+json;q=0, */*', false],
    ['application/activity+json, */*', true],
    ['image/png', false],
    ['', false],
    [null, false],
  ])('%s is ActivityStreams: %s', (accept, expected) => {
    expect(prefersActivityJson(accept)).toBe(expected)
  })

  test('what is only read is not written, and a stranger page may read it', async () => {
    const written = await scene.ask('/ap/demo', { init: { method: 'PUT', body: 'x' } })
    expect([written.status, written.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
    const head = await scene.ask('/ap/demo', { init: { method: 'HEAD' }, accept: activityJson })
    expect([head.status, await head.text()]).toEqual([200, ''])
    expect(head.headers.get('access-control-allow-origin')).toBe('*')
  })
})
