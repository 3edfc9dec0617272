// Up a chain of replies: as far as it goes, and never for ever (AP-100, AP-101).
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openRemoteScene, type RemoteScene } from './scene.ts'

let scene: RemoteScene
beforeEach(async () => {
  scene = await openRemoteScene()
})
afterEach(() => scene.stop())

const post = (at: number): string => `${scene.social}/posts/${at}`

function putPosts(count: number, more: (at: number) => object = (at) => ({ inReplyTo: post(at + 1) })): void {
  for (let at = 0; at < count; at += 1)
    scene.net.put('social.example.com', `/posts/${at}`, { body: { id: post(at), type: 'Note', ...more(at) } })
}

test('ends at the post that answers nothing', async () => {
  putPosts(4, (at) => (at === 3 ? {} : { inReplyTo: [post(at + 1)] }))
  expect(await scene.remote.rootOf(post(0))).toMatchObject({ root: post(3), isTruncated: false })
})

test('ends at the first that names its conversation', async () => {
  putPosts(4, (at) => ({ inReplyTo: post(at + 1), ...(at === 1 ? { context: 'tag:social,2026:c' } : {}) }))
  expect(await scene.remote.rootOf(post(0))).toMatchObject({ root: post(1), context: 'tag:social,2026:c' })
})

test('AP-100: goes up twenty posts of a thousand, and says that there are more', async () => {
  putPosts(1000)
  const { visited: _visited, ...end } = await scene.remote.rootOf(post(0))
  expect(end).toEqual({ root: post(19), context: undefined, isTruncated: true })
  expect(scene.net.seen).toHaveLength(20)
})

test('AP-101: goes round a circle once', async () => {
  putPosts(3, (at) => ({ inReplyTo: post((at + 1) % 3) }))
  expect(await scene.remote.rootOf(post(0))).toMatchObject({ root: post(2), isTruncated: true })
  expect(scene.net.seen).toHaveLength(3)
})

test('ends at a post of our own, which is not asked for', async () => {
  putPosts(3)
  const end = await scene.remote.rootOf(post(0), async (iri) => iri === post(2))
  expect(end).toMatchObject({ root: post(2), isTruncated: false, visited: [post(0), post(1)] })
})

test('is not followed to where nothing may be asked', async () => {
  putPosts(1, () => ({ inReplyTo: 'http://169.254.169.254/latest' }))
  expect(await scene.remote.rootOf(post(0))).toMatchObject({ root: post(0), isTruncated: false })
})
