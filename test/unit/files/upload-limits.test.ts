// What the desk does when too many come at once, when senders are slow, when stores fail, and when nobody needs a file any more.
import { afterEach, describe, expect, test } from 'vitest'
import type { BlobStore } from '../../../src/files/blob-store.ts'
import { GatewayError } from '../../../src/lib/errors.ts'
import { fileOf, openTestDesk, type TestDesk } from '../../doubles/attachment-service.ts'

/** A body that says nothing until it is let go. */
function heldBody() {
  const gate = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        asked.resolve()
        await gate.promise
        controller.enqueue(new TextEncoder().encode('late'))
        controller.close()
      },
    },
    { highWaterMark: 0 },
  )
  return { body, letGo: gate.resolve, asked: asked.promise }
}

function memoryStore(changes: Partial<BlobStore> = {}) {
  const objects = new Map<string, Uint8Array>()
  const store: BlobStore = {
    name: 'memory',
    bucket: 'agent-files',
    write: async (key, body) => void objects.set(key, new Uint8Array(await new Response(body as never).arrayBuffer())),
    read: async () => undefined,
    remove: async (key) => void objects.delete(key),
    ...changes,
  }
  return { store, objects }
}

describe('the attachment desk', () => {
  let scene: TestDesk
  afterEach(() => scene.close())

  test('lets a few uploads flow, a few wait, and sends the rest away to come again', async () => {
    scene = await openTestDesk({ options: { maxUploads: 2, maxWaitingUploads: 1 } })
    const held = [heldBody(), heldBody(), heldBody()]
    const outcomes = held.map(({ body }) => scene.desk.store(fileOf('', { body })))
    await Promise.all(held.slice(0, 2).map(({ asked }) => asked))
    await expect(scene.desk.store(fileOf('one too many'))).rejects.toMatchObject({
      code: 'storage_overloaded',
      retryable: true,
    })
    for (const { letGo } of held) letGo()
    expect((await Promise.all(outcomes)).map(({ kind }) => kind)).toEqual(['stored', 'stored', 'stored'])
    expect((await scene.desk.store(fileOf('afterwards'))).kind).toBe('stored')
  })

  test('gives a place back when an upload fails', async () => {
    scene = await openTestDesk({ options: { maxUploads: 1, maxWaitingUploads: 0 } })
    const broken = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new Error('gone')) })
    await expect(scene.desk.store(fileOf('', { body: broken }))).rejects.toMatchObject({ code: 'bad_request' })
    expect((await scene.desk.store(fileOf('next'))).kind).toBe('stored')
  })

  test('waits for no sender for ever', async () => {
    scene = await openTestDesk({ options: { idleMs: 5 } })
    await expect(scene.desk.store(fileOf('', { body: heldBody().body }))).rejects.toMatchObject({ code: 'bad_request' })
    expect(scene.rows.pending()).toEqual([])
  })

  test('has no patience for one byte at a time', async () => {
    scene = await openTestDesk({ options: { totalMs: 1000 } })
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          scene.clock.nowMs += 100
          controller.enqueue(new Uint8Array([65]))
        },
      },
      { highWaterMark: 0 },
    )
    await expect(scene.desk.store(fileOf('', { body }))).rejects.toMatchObject({ code: 'bad_request' })
  })

  test('keeps no row of an upload that its store did not take, and passes the reason on', async () => {
    const failing = memoryStore({
      write: async () => {
        throw new GatewayError('storage_unavailable', 'the store is away', { retryable: true })
      },
    })
    scene = await openTestDesk({ stores: [failing.store] })
    await expect(scene.desk.store(fileOf('x'))).rejects.toMatchObject({ code: 'storage_unavailable', retryable: true })
    expect(scene.rows.pending()).toEqual([])
  })

  test('leaves to the sweeper what it cannot remove now', async () => {
    let isAway = true
    const { store, objects } = memoryStore()
    const fragile: BlobStore = {
      ...store,
      remove: async (key) => {
        if (isAway) throw new GatewayError('storage_unavailable', 'the store is away')
        await store.remove(key)
      },
    }
    scene = await openTestDesk({ stores: [fragile] })
    await scene.desk.store(fileOf('same'))
    await scene.desk.store(fileOf('same'))
    expect(objects.size).toBe(2)
    expect(await scene.desk.sweep()).toBe(0)
    expect(scene.lines.join()).toContain('attachments_not_removed')
    isAway = false
    expect(await scene.desk.sweep()).toBe(1)
    expect([objects.size, scene.rows.pending()]).toEqual([1, []])
  })

  test('does not remove the object of a commit whose answer was lost', async () => {
    const { store, objects } = memoryStore()
    scene = await openTestDesk({ stores: [store] })
    const rows = scene.rows
    const lost = {
      ...rows,
      finish: async (upload: Parameters<typeof rows.finish>[0]) => {
        await rows.finish(upload)
        throw new GatewayError('storage_unavailable', 'connection lost', { retryable: true })
      },
    }
    await scene.close()
    scene = await openTestDesk({ stores: [store], attachments: lost })
    await expect(scene.desk.store(fileOf('kept'))).rejects.toMatchObject({ code: 'storage_unavailable' })
    const [descriptor] = await rows.list({ before: null, limit: 9 })
    expect([...objects.keys()]).toEqual([descriptor?.path])
  })

  test('tells the store what it would serve, not what a page calls itself', async () => {
    const types: string[] = []
    const { store } = memoryStore()
    scene = await openTestDesk({
      stores: [
        {
          ...store,
          write: (key, body, facts) => {
            types.push(facts.mimeType)
            return store.write(key, body, facts)
          },
        },
      ],
    })
    const outcome = await scene.desk.store(fileOf('<svg onload=x>'))
    expect(outcome).toMatchObject({ kind: 'stored', descriptor: { mimeType: 'image/svg+xml' } })
    expect(types).toEqual(['application/octet-stream'])
  })

  test('is not made of two stores that could be mistaken for each other', async () => {
    scene = await openTestDesk()
    const twin = memoryStore().store
    await expect(openTestDesk({ stores: [twin, { ...twin, name: 'other' }] })).rejects.toMatchObject({
      code: 'config_invalid',
    })
    await expect(openTestDesk({ stores: [twin, { ...twin, bucket: 'other' }] })).rejects.toMatchObject({
      code: 'config_invalid',
    })
  })
})
