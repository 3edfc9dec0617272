// What an operator does about posts: sees them, has them say something else, takes them back.
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type InboxCall, noteFamily } from '../../../../../adapters/activitypub/wire/delivery.ts'
import type { JsonObject } from '../../../../../src/lib/json-value.ts'
import { type DeliveryScene, deliveryScene } from '../deliver/delivery-setup.ts'
import { type TestKeys, testKeys } from '../own-keys.ts'
import { alice, carol, demo, drafts, replyTo, saying } from '../render/reply-setup.ts'

let keys: TestKeys
let scene: DeliveryScene
beforeAll(async () => {
  keys = await testKeys(demo)
})
beforeEach(() => {
  // Nobody can be reached: what is kept is kept all the same.
  scene = deliveryScene(keys, [])
})

const follower = { actor: 'https://big.example/users/a', inbox: 'https://big.example/a', shared_inbox: null }

async function posted(text: string, to: JsonObject = {}): Promise<{ id: string; call: InboxCall }> {
  const [first] = await scene.expand(drafts(saying(text), replyTo(to)).map((call) => ({ call, primary: true })))
  const call = first?.call as InboxCall
  await scene.deliver(call)
  scene.clock.at += 1000
  return { id: String((call.activity['object'] as JsonObject)['id']), call }
}
const noteAt = async (id: string) => (await scene.records.get(noteFamily, id))?.['note'] as JsonObject
const listed = async (input: JsonObject = {}) => {
  const { value } = await scene.operate('posts.list', input)
  return { posts: value['posts'] as readonly JsonObject[], next: value['next'] as string | null }
}

describe('the list', () => {
  test('is newest first, page by page, with direct ones whose words stay theirs', async () => {
    const one = await posted('One')
    const two = await posted('Two, between us', { visibility: 'direct' })
    const three = await posted('Three')
    const first = await listed({ limit: 2 })
    expect(first.posts.map(({ id, words }) => [id, words])).toEqual([
      [three.id, '@alice@social.example Three'],
      [two.id, null],
    ])
    expect(first.posts[1]).toMatchObject({ visibility: 'direct', to: null })
    const second = await listed({ limit: 2, after: first.next })
    expect([second.posts.map(({ id }) => id), second.next]).toEqual([[one.id], null])
  })

  test('shows the words of direct ones to whoever asks for them', async () => {
    await posted('Between us', { visibility: 'direct' })
    const [post] = (await listed({ private: true })).posts
    expect(post).toMatchObject({ words: '@alice@social.example Between us', to: [alice.actor] })
  })

  test('has what was said in a chat, which is changed and taken back as what it is', async () => {
    const { id, call } = await posted('Between us', { visibility: 'direct', is_chat: true })
    expect((await listed({ private: true })).posts).toMatchObject([{ id, words: 'Between us', visibility: 'direct' }])
    const { sends } = await scene.operate('posts.edit', { id, markdown: 'Other **words**' })
    expect(sends.map((each) => each.call)).toMatchObject([
      {
        activity: {
          type: 'Update',
          object: { id, type: 'ChatMessage', content: '<p>Other <strong>words</strong></p>' },
        },
      },
    ])
    expect(await scene.records.count('outbox')).toBe(0)
    const gone = await scene.operate('posts.delete', { id })
    const object = { id, type: 'Tombstone', formerType: 'ChatMessage' }
    expect(gone.sends.map((each) => each.call)).toMatchObject([
      { activity: { type: 'Delete', to: [alice.actor], object } },
    ])
    expect(await scene.deliver(call)).toEqual({ kind: 'refused', reason: 'note_withdrawn' })
  })

  test('knows only agents that are here', async () => {
    await expect(listed({ agent: 'nobody' })).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('other words', () => {
  test('and taking it back, asked for at the same time, go by one name: only one of them is done', async () => {
    const { id } = await posted('Helo')
    const [edited, deleted] = await Promise.all([
      scene.operate('posts.edit', { id, markdown: 'Hello' }),
      scene.operate('posts.delete', { id }),
    ])
    expect(deleted.deliveryId).toBe(edited.deliveryId)
  })

  test('go to whoever was told and whoever follows, in the order of what went there before', async () => {
    await scene.records.put('follower', `demo ${follower.actor}`, follower, { agent: 'demo' })
    const { id } = await posted('Helo', { participants: [carol] })
    const { sends, value, deliveryId } = await scene.operate('posts.edit', { id, markdown: 'Hello' })
    expect(value).toEqual({ id, told: 2, isChanged: true })
    expect(deliveryId).toBe(`${id}#change-1`)
    expect(sends.map(({ orderKey }) => orderKey)).toEqual([`demo ${alice.actor} >`, `demo ${follower.inbox}`])
    expect(new Set(sends.map(({ clientId }) => clientId)).size).toBe(2)
    expect(sends[0]?.call).toMatchObject({
      activity: { type: 'Update', object: { id, content: expect.stringContaining('Hello') } },
    })
  })

  test('stand at our own address at once, also where nobody could be told', async () => {
    const { id } = await posted('Helo')
    await scene.operate('posts.edit', { id, markdown: 'Hello' })
    expect(await noteAt(id)).toMatchObject({ content: expect.stringContaining('Hello'), attributedTo: demo })
  })

  test('are later than those before, and have a number of their own', async () => {
    const { id } = await posted('One')
    const first = await scene.operate('posts.edit', { id, markdown: 'Two' })
    const { updated } = await noteAt(id)
    const second = await scene.operate('posts.edit', { id, markdown: 'Three' })
    expect([first.deliveryId, second.deliveryId]).toEqual([`${id}#change-1`, `${id}#change-2`])
    expect(Date.parse(String((await noteAt(id))['updated']))).toBeGreaterThan(Date.parse(String(updated)))
  })

  test('that are the same, with the names it calls or without, change nothing', async () => {
    const { id } = await posted('Hello')
    for (const markdown of ['Hello', '@alice@social.example Hello'])
      expect(await scene.operate('posts.edit', { id, markdown })).toEqual({
        value: { id, told: 0, isChanged: false },
        sends: [],
        deliveryId: undefined,
      })
  })

  test('an older wording that waited does not come over a newer one', async () => {
    const { id } = await posted('One')
    const { sends } = await scene.operate('posts.edit', { id, markdown: 'Two' })
    await scene.operate('posts.edit', { id, markdown: 'Three' })
    await scene.deliver(sends[0]?.call as InboxCall)
    expect((await noteAt(id))['content']).toContain('Three')
  })

  test.each([
    ['', 'say what it shall say'],
    ['word '.repeat(200), 'of 500 characters at most'],
  ])('%# that cannot be one post are refused', async (markdown, why) => {
    const { id } = await posted('One')
    await expect(scene.operate('posts.edit', { id, markdown })).rejects.toMatchObject({
      code: 'bad_request',
      message: expect.stringContaining(why),
    })
  })

  test('of what is not ours are refused', async () => {
    for (const id of ['https://elsewhere.example/ap/demo/notes/1', 'nothing', `${demo}/notes/0`])
      await expect(scene.operate('posts.edit', { id, markdown: 'x' })).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('taking back', () => {
  test('is found by the end of the address, told to whoever was told, and out of every list', async () => {
    const { id, call } = await posted('Oh no')
    const waiting = await scene.operate('posts.edit', { id, markdown: 'Oh yes' })
    const { sends } = await scene.operate('posts.delete', { id: id.split('/').at(-1) ?? '' })
    expect(sends.map(({ call: each }) => (each as InboxCall).activity['type'])).toEqual(['Delete'])
    expect(await noteAt(id)).toMatchObject({ type: 'Tombstone' })
    expect(await listed()).toEqual({ posts: [], next: null })
    // What still waited does not bring it back.
    for (const late of [call, waiting.sends[0]?.call as InboxCall])
      expect(await scene.deliver(late)).toEqual({ kind: 'refused', reason: 'note_withdrawn' })
    await expect(scene.operate('posts.delete', { id })).rejects.toMatchObject({ code: 'not_found' })
  })

  test('of a direct one is told to those it was for alone', async () => {
    await scene.records.put('follower', `demo ${follower.actor}`, follower, { agent: 'demo' })
    const { id } = await posted('Between us', { visibility: 'direct' })
    const { sends } = await scene.operate('posts.delete', { id })
    expect(sends.map(({ call }) => (call as InboxCall).inbox)).toEqual([alice.inbox])
    expect((await listed()).posts).toEqual([])
  })
})
