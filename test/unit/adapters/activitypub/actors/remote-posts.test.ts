// Posts of others: how often one server is asked, for whom, and for how long it is known that nobody answered.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openRemoteScene, type RemoteScene } from './remote-setup.ts'

let scene: RemoteScene
beforeEach(async () => {
  scene = await openRemoteScene()
})
afterEach(() => scene.stop())

const host = 'social.example.com'
const braked = { kind: 'refused', reason: 'too_often' }
const post = (name: number | string): string => `${scene.social}/posts/${name}`
const ask = async (count: number, asker?: string): Promise<number> => {
  let refused = 0
  for (let at = 0; at < count; at += 1) {
    const found = await scene.remote.post(post(`${asker}-${at}`), asker)
    if (found.kind === 'refused' && found.reason === 'too_often') refused += 1
  }
  return refused
}

describe('a post', () => {
  test('is asked for at most thirty times for one other server, and sixty for all', async () => {
    expect(await ask(31, 'a.example.com')).toBe(1)
    expect(await ask(31, 'b.example.com')).toBe(1)
    expect(await scene.remote.post(post('c'), 'c.example.com')).toEqual(braked)
    scene.pass(20 * 60 * 1000)
    expect(await scene.remote.post(post('d'), 'a.example.com')).toEqual({ kind: 'gone' })
  })

  test('is asked for sixty times where its own server speaks of it, or nobody does', async () => {
    expect(await ask(30, new URL(scene.social).host)).toBe(0)
    expect(await ask(31)).toBe(1)
  })

  test('that nobody answered for is asked for again after a minute, one that is not there after five', async () => {
    scene.net.put(host, '/posts/slow', { status: 503 })
    const asked = (name: string) => scene.net.seen.filter((at) => at === `${host} /posts/${name}`).length
    const both = () => Promise.all([scene.remote.post(post('slow')), scene.remote.post(post('gone'))])
    expect(await both()).toEqual([{ kind: 'unreachable' }, { kind: 'gone' }])
    const [slow, gone] = [asked('slow'), asked('gone')]
    scene.pass(59_000)
    await both()
    expect([asked('slow'), asked('gone')]).toEqual([slow, gone])
    scene.pass(2_000)
    await both()
    expect([asked('slow'), asked('gone')]).toEqual([2 * slow, gone])
  })
})
