// Taking files in and handing them out, on a real folder.
import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { StoreOutcome } from '../../../src/files/attachment.ts'
import { ann, bytesOf, fileOf, openTestDesk, type TestDesk } from '../../doubles/attachment-service.ts'

const png = Uint8Array.from(Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'))
const bob = { principal: 'person:bob', threadId: null } as const

function stored(outcome: StoreOutcome) {
  if (outcome.kind !== 'stored') throw new Error(`refused: ${outcome.code}`)
  return outcome.descriptor
}

/** A body in pieces of 64 KiB; counts what was asked for. */
function endless(
  limit: number,
  prefix = png,
): { readonly body: ReadableStream<Uint8Array>; readonly given: () => number } {
  let given = 0
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = new Uint8Array(Math.min(64 * 1024, limit - given)).fill(7)
      if (given === 0) chunk.set(prefix)
      given += chunk.byteLength
      if (chunk.byteLength === 0) controller.close()
      else controller.enqueue(chunk)
    },
  })
  return { body, given: () => given }
}

describe('the attachment desk', () => {
  let scene: TestDesk
  beforeEach(async () => {
    scene = await openTestDesk()
  })
  afterEach(() => scene.close())

  test('stores a file by what its bytes are, under a name of its own', async () => {
    const { desk } = scene
    const descriptor = stored(await desk.store(fileOf(png, { name: '../../etc/passwd', declaredMime: 'image/png' })))
    expect(descriptor).toMatchObject({
      store: 'folder',
      bucket: 'agent-files',
      mimeType: 'image/png',
      size: png.length,
      sha256: createHash('sha256').update(png).digest('hex'),
      name: 'passwd',
      owner: ann,
      status: 'ready',
    })
    expect(descriptor.path).toMatch(/^agent-inputs\/[0-9a-f-]{36}\.png$/)
    expect(await bytesOf(await desk.open(descriptor))).toEqual(png)
    expect(await bytesOf(await desk.open(descriptor, { start: 1, end: 3 }))).toEqual(png.slice(1, 4))
  })

  test('keeps a table a table, though its bytes show no more than text, and nothing that a browser might run', async () => {
    const { desk } = scene
    const typeOf = async (declaredMime: string) =>
      stored(await desk.store(fileOf('a,b\n1,2\n', { declaredMime }))).mimeType
    expect(await typeOf('text/csv; charset=utf-8')).toBe('text/csv')
    expect(await typeOf('text/html')).toBe('text/plain')
  })

  test('refuses an empty file, and one that is not what it is declared to be, before anything is written', async () => {
    const { desk, rows, objects } = scene
    expect(await desk.store(fileOf(''))).toMatchObject({ kind: 'refused', code: 'SU_EMPTY' })
    const html = fileOf('<!doctype html><script>alert(1)</script>', { declaredMime: 'image/png' })
    expect(await desk.store(html)).toMatchObject({ kind: 'refused', code: 'SU_MIME' })
    expect(await objects()).toEqual([])
    expect(await rows.list({ before: null, limit: 9 })).toEqual([])
    expect(rows.pending()).toEqual([])
  })

  test('stops reading a file that is too large, and keeps nothing of it', async () => {
    const { desk, rows, objects } = scene
    const { body, given } = endless(100 * 1024 * 1024)
    const outcome = await desk.store(fileOf('', { body }))
    expect(outcome).toEqual({ kind: 'refused', code: 'SU_TOO_LARGE', remedy: 'send a file of at most 25 MiB' })
    expect(given()).toBeLessThan(26 * 1024 * 1024)
    expect(await objects()).toEqual([])
    expect(rows.pending()).toEqual([])
  })

  test('takes a file of exactly the allowed size', async () => {
    const { desk } = scene
    const { body } = endless(desk.maxBytes)
    expect(stored(await desk.store(fileOf('', { body }))).size).toBe(25 * 1024 * 1024)
  })

  test('keeps the same bytes once, for two owners', async () => {
    const { desk, objects, rows } = scene
    const first = stored(await desk.store(fileOf(png)))
    const second = stored(await desk.store(fileOf(png, { owner: bob })))
    expect(second).toMatchObject({ path: first.path, owner: bob })
    expect(second.id).not.toBe(first.id)
    expect(await objects()).toHaveLength(1)
    expect(rows.pending()).toEqual([])
  })

  test('answers the second time with the first descriptor when the caller names the attachment', async () => {
    const { desk, objects } = scene
    const id = crypto.randomUUID()
    const first = stored(await desk.store(fileOf(png, { id })))
    expect(stored(await desk.store(fileOf('other bytes', { id })))).toEqual(first)
    expect(await objects()).toHaveLength(1)
  })

  test('keeps nothing of a body that breaks off', async () => {
    const { desk, objects, rows } = scene
    let pulls = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulls += 1
        if (pulls > 3) controller.error(new Error('socket hang up'))
        else controller.enqueue(new Uint8Array(64 * 1024).fill(65))
      },
    })
    await expect(desk.store(fileOf('', { body }))).rejects.toMatchObject({ code: 'bad_request', retryable: true })
    expect(await objects()).toEqual([])
    expect(rows.pending()).toEqual([])
  })
})
